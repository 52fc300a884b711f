#include "lake/objects/posix_calls.h"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace lake::objects {

int PosixCalls::OpenAt(int folder, const char* name, int flags, mode_t mode) {
  return ::openat(folder, name, flags, mode);
}

int PosixCalls::FStat(int fd, struct stat* out) { return ::fstat(fd, out); }

int PosixCalls::LStatAt(int folder, const char* name, struct stat* out) {
  return ::fstatat(folder, name, out, AT_SYMLINK_NOFOLLOW);
}

ssize_t PosixCalls::Read(int fd, void* out, size_t size) { return ::read(fd, out, size); }

ssize_t PosixCalls::PRead(int fd, void* out, size_t size, off_t offset) {
  return ::pread(fd, out, size, offset);
}

ssize_t PosixCalls::Write(int fd, const void* bytes, size_t size) {
  return ::write(fd, bytes, size);
}

int PosixCalls::FChmod(int fd, mode_t mode) { return ::fchmod(fd, mode); }

int PosixCalls::SyncFile(int fd) { return ::fsync(fd); }

int PosixCalls::SyncFolder(int fd) { return ::fsync(fd); }

int PosixCalls::RenameNoReplace(int from_folder, const char* from, int to_folder, const char* to) {
  return ::renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE);
}

int PosixCalls::LinkAt(int from_folder, const char* from, int to_folder, const char* to) {
  return ::linkat(from_folder, from, to_folder, to, 0);
}

int PosixCalls::UnlinkAt(int folder, const char* name) { return ::unlinkat(folder, name, 0); }

PosixCalls* PosixCalls::Real() {
  static PosixCalls calls;
  return &calls;
}

}  // namespace lake::objects
