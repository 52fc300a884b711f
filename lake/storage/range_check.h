#pragma once

#include <string>

#include "lake/base/checked.h"
#include "lake/storage/object_store.h"

namespace lake::storage {

/// kInvalidArgument, naming the key, unless `range` lies inside an object of `size` bytes.
inline Status CheckRange(const std::string& key, ByteRange range, uint64_t size) {
  if (RangeFits(range.offset, range.length, size)) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "cannot read outside the object: {} bytes at {} of {} bytes: '{}'", range.length,
               range.offset, size, key);
}

/// kInvalidArgument, naming the key, if an object of `size` bytes is larger than the caller
/// expects.
inline Status CheckMaxSize(const std::string& key, uint64_t size, uint64_t max_size) {
  if (size <= max_size) return Status::OK();
  return Error(
      ErrorCode::kInvalidArgument,
      "the object is too large to be read at once: {} bytes, at most {} are expected: '{}'", size,
      max_size, key);
}

}  // namespace lake::storage
