#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "lake/objects/posix_calls.h"

namespace lake::objects {

enum class PosixCall {
  kOpenAt,
  kFStat,
  kLStatAt,
  kRead,
  kPRead,
  kWrite,
  kFChmod,
  kSyncFile,
  kSyncFolder,
  kRename,
  kLink,
  kUnlink,
  kNumCalls,
};

enum class FaultKind {
  kError,            ///< The call fails and has no effect.
  kEffectThenError,  ///< The call has its effect, and fails.
};

/// System calls that count, fail or do something first, as a test asks. Not thread-safe.
class FaultyPosixCalls : public PosixCalls {
 public:
  /// Lets the call number `skip` from now (0: the next) of kind `call` fail once with `error`.
  void Fail(PosixCall call, int skip, int error, FaultKind kind = FaultKind::kError);
  /// Lets every call of kind `call` fail with `error`.
  void FailAlways(PosixCall call, int error);
  /// Lets the call number `skip` from now, of any kind, fail once with `error`.
  void FailAny(int skip, int error, FaultKind kind = FaultKind::kError);
  /// Runs `action` before the call number `skip` from now of kind `call`.
  void Before(PosixCall call, int skip, std::function<void()> action);
  /// Lets reads and writes move at most `bytes` at a time.
  void set_max_transfer(size_t bytes) { max_transfer_ = bytes; }

  void ResetCounts();
  uint64_t count(PosixCall call) const { return counts_[static_cast<size_t>(call)]; }
  uint64_t total() const;
  /// What the call that failed last was.
  std::optional<PosixCall> last_failed() const { return last_failed_; }

  int OpenAt(int folder, const char* name, int flags, mode_t mode) override;
  int FStat(int fd, struct stat* out) override;
  int LStatAt(int folder, const char* name, struct stat* out) override;
  ssize_t Read(int fd, void* out, size_t size) override;
  ssize_t PRead(int fd, void* out, size_t size, off_t offset) override;
  ssize_t Write(int fd, const void* bytes, size_t size) override;
  int FChmod(int fd, mode_t mode) override;
  int SyncFile(int fd) override;
  int SyncFolder(int fd) override;
  int RenameNoReplace(int from_folder, const char* from, int to_folder, const char* to) override;
  int LinkAt(int from_folder, const char* from, int to_folder, const char* to) override;
  int UnlinkAt(int folder, const char* name) override;

 private:
  struct Fault {
    std::optional<PosixCall> call = {};  // nothing: any
    int skip = 0;
    int error = 0;
    FaultKind kind = FaultKind::kError;
    bool always = false;
    std::function<void()> action = {};  // instead of an error
  };

  template <typename Effect>
  auto Run(PosixCall call, Effect effect) -> decltype(effect());
  std::optional<Fault> Due(PosixCall call);

  std::array<uint64_t, static_cast<size_t>(PosixCall::kNumCalls)> counts_{};
  std::vector<Fault> faults_;
  std::optional<PosixCall> last_failed_;
  size_t max_transfer_ = SIZE_MAX;
};

}  // namespace lake::objects
