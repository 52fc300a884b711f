#include "lake/table/row_bytes.h"

#include <algorithm>

#include <arrow/type.h>

#include "lake/base/checked.h"

namespace lake::table {

namespace {

constexpr int64_t kBudgetShare = 16;
// More than any row can have: types are as wide as a manifest claims.
constexpr uint64_t kMostRowBytes = uint64_t{1} << 50;

uint64_t Add(uint64_t a, uint64_t b) { return std::min(a + b, kMostRowBytes); }

/// Bytes of a value without what lies in buffers of variable width, if it has any. At most
/// kMostRowBytes.
uint64_t FixedBytes(const arrow::DataType& type, bool* has_variable_width) {
  if (type.id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
    const uint64_t item = FixedBytes(*list.value_type(), has_variable_width);
    return std::min(
        CheckedMul<uint64_t>(static_cast<uint64_t>(list.list_size()), item).value_or(kMostRowBytes),
        kMostRowBytes);
  }
  if (type.id() == arrow::Type::STRUCT) {
    uint64_t bytes = 1;
    for (const std::shared_ptr<arrow::Field>& child : type.fields()) {
      bytes = Add(bytes, FixedBytes(*child->type(), has_variable_width));
    }
    return bytes;
  }
  if (type.id() == arrow::Type::FIXED_SIZE_BINARY) {
    // Its width in bits need not fit into an int.
    const auto& binary = static_cast<const arrow::FixedSizeBinaryType&>(type);
    return static_cast<uint64_t>(std::max(binary.byte_width(), 0));
  }
  if (const auto* fixed = dynamic_cast<const arrow::FixedWidthType*>(&type)) {
    return (fixed->bit_width() + 7) / 8;
  }
  *has_variable_width = true;
  return 2 * sizeof(int64_t);
}

}  // namespace

uint64_t BytesPerRead(const Context& context, uint64_t most, size_t threads) {
  const auto share = static_cast<uint64_t>(std::max<int64_t>(context.memory->limit(), 0)) /
                     kBudgetShare / std::max<size_t>(threads, 1);
  return std::clamp<uint64_t>(share, 1, most);
}

uint64_t RowsPerRead(uint64_t bytes, uint64_t row_bytes, uint64_t most) {
  return std::clamp<uint64_t>(bytes / std::max<uint64_t>(row_bytes, 1), 1, most);
}

uint64_t RowBytes(const arrow::FieldVector& fields, uint64_t file_bytes, uint64_t rows) {
  uint64_t bytes = 1;
  bool has_variable_width = false;
  for (const std::shared_ptr<arrow::Field>& field : fields) {
    bytes = Add(bytes, FixedBytes(*field->type(), &has_variable_width));
  }
  // Text and binary compress little compared with the slack of such a bound, so what the files
  // hold for a row stands for what it takes in memory.
  if (has_variable_width && rows > 0) {
    bytes = Add(bytes, 2 * (std::min(file_bytes, kMostRowBytes) / rows));
  }
  return bytes;
}

bool HasVariableWidth(const arrow::FieldVector& fields) {
  bool has_variable_width = false;
  for (const std::shared_ptr<arrow::Field>& field : fields) {
    FixedBytes(*field->type(), &has_variable_width);
  }
  return has_variable_width;
}

}  // namespace lake::table
