#include "lake/table/merge_keys.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include <arrow/array.h>
#include <arrow/type.h>

namespace lake::table {

namespace {

/// Bytes of a value of a fixed-width type; 0 for others.
int FixedWidth(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::INT8:
    case arrow::Type::UINT8:
    case arrow::Type::INT16:
    case arrow::Type::UINT16:
    case arrow::Type::INT32:
    case arrow::Type::UINT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT64:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
    case arrow::Type::FIXED_SIZE_BINARY:
      return static_cast<const arrow::FixedWidthType&>(type).bit_width() / 8;
    default:
      return 0;
  }
}

bool IsVariable(const arrow::DataType& type) { return arrow::is_base_binary_like(type.id()); }

/// Zero has one sign in a key, as in every comparison.
template <typename T>
void DropSignOfZero(char* value) {
  T number;
  std::memcpy(&number, value, sizeof(T));
  if (number == T{0}) number = T{0};
  std::memcpy(value, &number, sizeof(T));
}

void Normalize(const arrow::DataType& type, char* value) {
  if (type.id() == arrow::Type::DOUBLE) DropSignOfZero<double>(value);
  if (type.id() == arrow::Type::FLOAT) DropSignOfZero<float>(value);
}

// The compiler makes a move of a copy whose size it knows.
template <int kWidth>
void Widen(const uint8_t* values, std::vector<uint64_t>* numbers) {
  for (size_t i = 0; i < numbers->size(); ++i) {
    std::memcpy(&(*numbers)[i], values + i * kWidth, kWidth);
  }
}

/// The bits of values of at most 8 bytes.
std::vector<uint64_t> NumbersOf(const arrow::Array& column, int width) {
  std::vector<uint64_t> numbers(column.length());
  if (numbers.empty()) return numbers;
  const uint8_t* const values = column.data()->buffers[1]->data() + column.offset() * width;
  switch (width) {
    case 1:
      Widen<1>(values, &numbers);
      break;
    case 2:
      Widen<2>(values, &numbers);
      break;
    case 4:
      Widen<4>(values, &numbers);
      break;
    case 8:
      Widen<8>(values, &numbers);
      break;
    default:
      for (size_t i = 0; i < numbers.size(); ++i) {
        std::memcpy(&numbers[i], values + i * width, width);
      }
  }
  return numbers;
}

std::string_view VariableValue(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).GetView(row);
    default:
      return static_cast<const arrow::BinaryArray&>(array).GetView(row);
  }
}

void AppendKeyPart(const arrow::Array& array, int64_t row, std::string* arena) {
  const arrow::DataType& type = *array.type();
  if (type.id() == arrow::Type::BOOL) {
    arena->push_back(static_cast<const arrow::BooleanArray&>(array).Value(row) ? 1 : 0);
    return;
  }
  if (IsVariable(type)) {
    const std::string_view value = VariableValue(array, row);
    const uint64_t length = value.size();
    arena->append(reinterpret_cast<const char*>(&length), sizeof(length));
    arena->append(value);
    return;
  }
  const int width = FixedWidth(type);
  const uint8_t* values = array.data()->buffers[1]->data();
  arena->append(reinterpret_cast<const char*>(values) + (array.offset() + row) * width, width);
  Normalize(type, arena->data() + arena->size() - width);
}

}  // namespace

Status MergeKeys::CheckType(const arrow::DataType& type, const std::string& name) {
  if (type.id() == arrow::Type::BOOL || FixedWidth(type) > 0 || IsVariable(type)) {
    return Status::OK();
  }
  return Error(ErrorCode::kUnsupported, "a column of this type cannot be a key: \"{}\": {}", name,
               type.ToString());
}

Result<MergeKeys> MergeKeys::Of(const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  MergeKeys keys;
  const int64_t rows = columns[0]->length();
  keys.is_null_.assign(rows, 0);
  for (const std::shared_ptr<arrow::Array>& column : columns) {
    if (column->null_count() == 0) continue;
    for (int64_t row = 0; row < rows; ++row) keys.is_null_[row] |= column->IsNull(row) ? 1 : 0;
  }
  const int width = columns.size() == 1 ? FixedWidth(*columns[0]->type()) : 0;
  keys.is_number_ = width > 0 && width <= 8;
  if (keys.is_number_) {
    const arrow::Array& column = *columns[0];
    keys.numbers_ = NumbersOf(column, width);
    if (arrow::is_floating(column.type_id())) {
      for (uint64_t& number : keys.numbers_) {
        Normalize(*column.type(), reinterpret_cast<char*>(&number));
      }
    }
    return keys;
  }
  keys.ends_.reserve(rows);
  for (int64_t row = 0; row < rows; ++row) {
    if (!keys.IsNull(row)) {
      for (const std::shared_ptr<arrow::Array>& column : columns) {
        AppendKeyPart(*column, row, &keys.arena_);
      }
    }
    keys.ends_.push_back(keys.arena_.size());
  }
  return keys;
}

uint64_t MergeKeys::HashOfBytes(size_t row) const {
  return std::hash<std::string_view>()(Bytes(row));
}

MergeTable::MergeTable(MergeKeys keys) : keys_(std::move(keys)) {
  slots_.assign(std::bit_ceil(2 * keys_.size() + 1), 0);
  const uint64_t filter_bits = std::max<uint64_t>(std::bit_ceil(16 * keys_.size() + 1), 64);
  filter_.assign(filter_bits / 64, 0);
  filter_shift_ = 64 - std::countr_zero(filter_bits);
  ambiguous_.assign(keys_.size(), 0);
  const uint64_t mask = slots_.size() - 1;
  for (size_t row = 0; row < keys_.size(); ++row) {
    if (keys_.IsNull(row)) continue;
    const uint64_t hash = keys_.Hash(row);
    const uint64_t bit = hash >> filter_shift_;
    filter_[bit / 64] |= uint64_t{1} << (bit % 64);
    uint64_t slot = hash & mask;
    while (slots_[slot] != 0 && !keys_.Equals(row, keys_, slots_[slot] - 1)) {
      slot = (slot + 1) & mask;
    }
    if (slots_[slot] != 0) {
      ambiguous_[slots_[slot] - 1] = 1;
      ambiguous_[row] = 1;
    }
    slots_[slot] = static_cast<uint32_t>(row) + 1;
  }
}

uint32_t MergeTable::FindSlot(const MergeKeys& keys, size_t row, uint64_t hash) const {
  const uint64_t mask = slots_.size() - 1;
  for (uint64_t slot = hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if (keys_.Equals(slots_[slot] - 1, keys, row)) return slots_[slot] - 1;
  }
  return kNone;
}

void MergeTable::SpreadMarks(std::vector<uint8_t>* marks) const {
  for (size_t row = 0; row < keys_.size(); ++row) {
    if (ambiguous_[row] == 0) continue;
    if ((*marks)[Find(keys_, row)] != 0) (*marks)[row] = 1;
  }
}

}  // namespace lake::table
