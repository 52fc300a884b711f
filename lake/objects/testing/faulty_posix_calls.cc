#include "lake/objects/testing/faulty_posix_calls.h"

#include <algorithm>
#include <cerrno>
#include <numeric>

#include <unistd.h>

namespace lake::objects {

void FaultyPosixCalls::Fail(PosixCall call, int skip, int error, FaultKind kind) {
  faults_.push_back({.call = call, .skip = skip, .error = error, .kind = kind});
}

void FaultyPosixCalls::FailAlways(PosixCall call, int error) {
  faults_.push_back({.call = call, .error = error, .always = true});
}

void FaultyPosixCalls::FailAny(int skip, int error, FaultKind kind) {
  faults_.push_back({.skip = skip, .error = error, .kind = kind});
}

void FaultyPosixCalls::Before(PosixCall call, int skip, std::function<void()> action) {
  faults_.push_back({.call = call, .skip = skip, .action = std::move(action)});
}

void FaultyPosixCalls::ResetCounts() { counts_ = {}; }

uint64_t FaultyPosixCalls::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
}

std::optional<FaultyPosixCalls::Fault> FaultyPosixCalls::Due(PosixCall call) {
  ++counts_[static_cast<size_t>(call)];
  std::optional<Fault> due;
  for (auto fault = faults_.begin(); fault != faults_.end();) {
    bool matches = !fault->call || *fault->call == call;
    if (!matches || fault->skip-- > 0 || due) {
      ++fault;
      continue;
    }
    due = *fault;
    fault->skip = 0;
    fault = fault->always ? std::next(fault) : faults_.erase(fault);
  }
  return due;
}

template <typename Effect>
auto FaultyPosixCalls::Run(PosixCall call, Effect effect) -> decltype(effect()) {
  std::optional<Fault> fault = Due(call);
  if (!fault) return effect();
  if (fault->action) {
    fault->action();
    return effect();
  }
  if (fault->kind == FaultKind::kEffectThenError) {
    auto result = effect();
    // A descriptor that the caller never sees would leak.
    if (call == PosixCall::kOpenAt && result >= 0) ::close(static_cast<int>(result));
  }
  last_failed_ = call;
  errno = fault->error;
  return -1;
}

int FaultyPosixCalls::OpenAt(int folder, const char* name, int flags, mode_t mode) {
  return Run(PosixCall::kOpenAt, [&] { return PosixCalls::OpenAt(folder, name, flags, mode); });
}

int FaultyPosixCalls::FStat(int fd, struct stat* out) {
  return Run(PosixCall::kFStat, [&] { return PosixCalls::FStat(fd, out); });
}

int FaultyPosixCalls::LStatAt(int folder, const char* name, struct stat* out) {
  return Run(PosixCall::kLStatAt, [&] { return PosixCalls::LStatAt(folder, name, out); });
}

ssize_t FaultyPosixCalls::Read(int fd, void* out, size_t size) {
  size = std::min(size, max_transfer_);
  return Run(PosixCall::kRead, [&] { return PosixCalls::Read(fd, out, size); });
}

ssize_t FaultyPosixCalls::PRead(int fd, void* out, size_t size, off_t offset) {
  size = std::min(size, max_transfer_);
  return Run(PosixCall::kPRead, [&] { return PosixCalls::PRead(fd, out, size, offset); });
}

ssize_t FaultyPosixCalls::Write(int fd, const void* bytes, size_t size) {
  size = std::min(size, max_transfer_);
  return Run(PosixCall::kWrite, [&] { return PosixCalls::Write(fd, bytes, size); });
}

int FaultyPosixCalls::FChmod(int fd, mode_t mode) {
  return Run(PosixCall::kFChmod, [&] { return PosixCalls::FChmod(fd, mode); });
}

int FaultyPosixCalls::SyncFile(int fd) {
  return Run(PosixCall::kSyncFile, [&] { return PosixCalls::SyncFile(fd); });
}

int FaultyPosixCalls::SyncFolder(int fd) {
  return Run(PosixCall::kSyncFolder, [&] { return PosixCalls::SyncFolder(fd); });
}

int FaultyPosixCalls::RenameNoReplace(int from_folder, const char* from, int to_folder,
                                      const char* to) {
  return Run(PosixCall::kRename,
             [&] { return PosixCalls::RenameNoReplace(from_folder, from, to_folder, to); });
}

int FaultyPosixCalls::LinkAt(int from_folder, const char* from, int to_folder, const char* to) {
  return Run(PosixCall::kLink,
             [&] { return PosixCalls::LinkAt(from_folder, from, to_folder, to); });
}

int FaultyPosixCalls::UnlinkAt(int folder, const char* name) {
  return Run(PosixCall::kUnlink, [&] { return PosixCalls::UnlinkAt(folder, name); });
}

}  // namespace lake::objects
