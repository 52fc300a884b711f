#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "lake/base/error.h"
#include "lake/base/unique_fd.h"

namespace lake::query {

/// Bytes that wait on disk until the statement that wrote them reads them again. The file has no
/// name, so it is gone with the object, or with the process. Not thread-safe.
class SpillFile {
 public:
  struct Extent {
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  /// In `folder`, which exists. Errors as PosixError.
  static Result<std::shared_ptr<SpillFile>> Make(const std::string& folder);

  /// kOutOfSpace if the device is full.
  Result<Extent> Append(std::span<const uint8_t> bytes);
  /// Fills `out`. REQUIRES: `extent` is one that Append gave, `out` is of its size.
  Status Read(const Extent& extent, std::span<uint8_t> out) const;

 private:
  SpillFile(std::string folder, UniqueFd fd) : folder_(std::move(folder)), fd_(std::move(fd)) {}

  /// For errors.
  const std::string folder_;
  const UniqueFd fd_;
  uint64_t size_ = 0;
};

}  // namespace lake::query
