#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lake/format/block_cache.h"

namespace lake::format {

/// Bytes that grow at the end, for building pages. Grown bytes are not cleared, and the memory of
/// large buffers is used again by the next (BlockCache), neither of which std::vector can do.
/// kSlack bytes behind the end may be read, so that kernels can load whole words. Throws
/// std::bad_alloc. Movable, not copyable.
class ByteBuffer {
 public:
  static constexpr size_t kSlack = 8;

  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept { swap(other); }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    ByteBuffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~ByteBuffer() { BlockCache::Free(data_, capacity_); }

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Bytes taken from the heap.
  size_t capacity() const { return capacity_; }

  /// Grows by `count` bytes with undefined content and returns the first of them.
  uint8_t* Extend(size_t count) {
    Reserve(size_ + count);
    uint8_t* const start = data_ + size_;
    size_ += count;
    return start;
  }

  void Append(const void* bytes, size_t count) {
    if (count != 0) std::memcpy(Extend(count), bytes, count);
  }

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void AppendValue(T value) {
    std::memcpy(Extend(sizeof(T)), &value, sizeof(T));
  }

  void AppendFill(size_t count, uint8_t byte) {
    if (count != 0) std::memset(Extend(count), byte, count);
  }

  /// Fills with `byte` up to a multiple of `alignment`.
  void PadTo(size_t alignment, uint8_t byte) {
    const size_t rest = size_ % alignment;
    if (rest != 0) AppendFill(alignment - rest, byte);
  }

  /// REQUIRES: size <= size().
  void Truncate(size_t size) { size_ = size; }

  void Reserve(size_t size) {
    if (size + kSlack > capacity_) Grow(size + kSlack);
  }

  /// The bytes as values of T; a rest smaller than a T is left out.
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), size_ / sizeof(T)};
  }

  std::string_view view() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  void Grow(size_t least) {
    size_t wanted = std::max({least, capacity_ + capacity_ / 2, size_t{64}});
    void* grown;
    if (wanted < BlockCache::kSmallestBlock) {
      grown = std::realloc(data_, wanted);
      if (grown == nullptr) throw std::bad_alloc();
    } else {
      grown = BlockCache::Allocate(&wanted);
      if (grown == nullptr) throw std::bad_alloc();
      if (size_ != 0) std::memcpy(grown, data_, size_);
      BlockCache::Free(data_, capacity_);
    }
    data_ = static_cast<uint8_t*>(grown);
    capacity_ = wanted;
  }

  void swap(ByteBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace lake::format
