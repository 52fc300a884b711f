#pragma once

#include <cstddef>
#include <string_view>

#include <sys/stat.h>
#include <sys/types.h>

#include "lake/base/error.h"

namespace lake::objects {

/// The system calls of the local stage, each as its manual page says (result, errno). The base
/// class makes the real calls; tests put faults in (lake/objects/testing/faulty_posix_calls.h). One
/// call moves a block of a file, so that being virtual costs nothing. Thread-safe.
class PosixCalls {
 public:
  virtual ~PosixCalls() = default;

  virtual int OpenAt(int folder, const char* name, int flags, mode_t mode);
  virtual int FStat(int fd, struct stat* out);
  virtual int LStatAt(int folder, const char* name, struct stat* out);
  virtual ssize_t Read(int fd, void* out, size_t size);
  virtual ssize_t PRead(int fd, void* out, size_t size, off_t offset);
  virtual ssize_t Write(int fd, const void* bytes, size_t size);
  virtual int FChmod(int fd, mode_t mode);
  virtual int SyncFile(int fd);
  virtual int SyncFolder(int fd);
  /// renameat2 with RENAME_NOREPLACE.
  virtual int RenameNoReplace(int from_folder, const char* from, int to_folder, const char* to);
  virtual int LinkAt(int from_folder, const char* from, int to_folder, const char* to);
  virtual int UnlinkAt(int folder, const char* name);

  /// The machine's own. Lives as long as the process.
  static PosixCalls* Real();
};

}  // namespace lake::objects
