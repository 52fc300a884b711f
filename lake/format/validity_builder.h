#pragma once

#include <cstdint>
#include <memory>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

#include "lake/base/error.h"

namespace lake::format {

/// A validity bitmap that exists only once there is something to say: until the first null it is a
/// count. Not thread-safe.
class ValidityBuilder {
 public:
  ValidityBuilder() = default;
  /// For `capacity` bits at most.
  ValidityBuilder(uint64_t capacity, arrow::MemoryPool* pool) : capacity_(capacity), pool_(pool) {}
  /// For any number of bits.
  static ValidityBuilder Growing(arrow::MemoryPool* pool);

  Status AppendValid(uint64_t count);
  Status AppendNulls(uint64_t count);
  /// Bit i is valid if levels[i] < threshold.
  Status AppendLevels(const uint16_t* levels, uint64_t count, uint16_t threshold);
  /// `count` bits from bit `offset` of `bits`, 1 = valid.
  Status AppendBits(const uint8_t* bits, uint64_t offset, uint64_t count);

  /// Makes sure that there is a bitmap with room for `count` more bits, for Push.
  Status PrepareToPush(uint64_t count);
  /// Appends one bit. REQUIRES: PrepareToPush.
  void Push(bool valid) {
    bits_[size_ / 8] |= static_cast<uint8_t>(valid << size_ % 8);
    ++size_;
  }

  uint64_t size() const { return size_; }
  /// Null if every bit is valid.
  std::shared_ptr<arrow::Buffer> buffer() const { return buffer_; }

 private:
  // Makes the bitmap, or more room in it.
  Status Materialize(uint64_t more);

  bool grows_ = false;
  uint64_t capacity_ = 0;
  uint64_t size_ = 0;
  arrow::MemoryPool* pool_ = nullptr;
  std::shared_ptr<arrow::ResizableBuffer> buffer_;
  // Its bytes.
  uint8_t* bits_ = nullptr;
};

}  // namespace lake::format
