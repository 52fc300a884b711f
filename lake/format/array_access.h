#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/util/bitmap_ops.h>

#include "lake/base/error.h"

namespace lake::format {

/// `array` without extension types around it.
inline std::shared_ptr<arrow::Array> StorageOf(std::shared_ptr<arrow::Array> array) {
  while (array->type_id() == arrow::Type::EXTENSION) {
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  }
  return array;
}

/// The bits of `array`, from bit array.offset() on; null if nothing is null or there are none.
inline const uint8_t* Validity(const arrow::Array& array) {
  return array.null_count() == 0 ? nullptr : array.null_bitmap_data();
}

/// The same from bit 0 on, in a buffer; null if nothing is null.
inline Result<std::shared_ptr<arrow::Buffer>> ValidityFromBit0(const arrow::Array& array,
                                                               arrow::MemoryPool* pool) {
  if (array.null_count() == 0) return std::shared_ptr<arrow::Buffer>();
  if (array.offset() == 0) return array.data()->buffers[0];
  return arrow::internal::CopyBitmap(pool, array.null_bitmap_data(), array.offset(),
                                     array.length());
}

inline bool BitIsSet(const uint8_t* bits, int64_t index) {
  return (bits[index >> 3] >> (index & 7)) & 1;
}

}  // namespace lake::format
