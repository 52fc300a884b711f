#include "lake/format/packed_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include "lake/base/checked.h"
#include "lake/format/array_access.h"
#include "lake/format/page_builder.h"
#include "lake/format/row_check.h"

namespace lake::format {
namespace {

/// Copies the values of one field into rows.
class FieldSource {
 public:
  FieldSource(const PackedField& field, const std::shared_ptr<arrow::Array>& array)
      : field_(field), array_(StorageOf(array)) {
    std::shared_ptr<arrow::Array> items = array_;
    for (size_t i = 0; i < field.dimensions.size(); ++i) {
      items = StorageOf(static_cast<const arrow::FixedSizeListArray&>(*items).values());
      levels_.push_back(items);
    }
    if (field.length_bits == 0) values_ = items->data()->GetValues<uint8_t>(1, 0);
  }

  /// Of a value that is null, nothing.
  std::string_view Text(int64_t row) const {
    if (array_->IsNull(row)) return {};
    return field_.length_bits == 32
               ? static_cast<const arrow::BinaryArray&>(*array_).GetView(row)
               : static_cast<const arrow::LargeBinaryArray&>(*array_).GetView(row);
  }

  size_t SizeOf(int64_t row) const {
    return field_.length_bits == 0 ? field_.stored_width()
                                   : field_.length_bits / 8 + Text(row).size();
  }

  uint8_t* Put(int64_t row, uint8_t* out) const {
    if (field_.length_bits == 32) return PutText<uint32_t>(row, out);
    if (field_.length_bits == 64) return PutText<uint64_t>(row, out);
    // Position among the items of each list in turn.
    int64_t first = row;
    const arrow::Array* lists = array_.get();
    size_t count = 1;
    for (size_t i = 0; i < levels_.size(); ++i) {
      first = static_cast<const arrow::FixedSizeListArray&>(*lists).value_offset(first);
      count *= field_.dimensions[i];
      out = PutValidity(*levels_[i], first, count, out);
      lists = levels_[i].get();
    }
    if (values_ == nullptr) {
      std::memset(out, 0, field_.width);
    } else {
      const size_t item_width = field_.width / count;
      std::memcpy(out, values_ + (lists->offset() + first) * item_width, field_.width);
    }
    return out + field_.width;
  }

 private:
  template <typename Length>
  uint8_t* PutText(int64_t row, uint8_t* out) const {
    const std::string_view text = Text(row);
    const auto length = static_cast<Length>(text.size());
    std::memcpy(out, &length, sizeof(Length));
    if (!text.empty()) std::memcpy(out + sizeof(Length), text.data(), text.size());
    return out + sizeof(Length) + text.size();
  }

  static uint8_t* PutValidity(const arrow::Array& items, int64_t first, size_t count,
                              uint8_t* out) {
    const size_t bytes = (count + 7) / 8;
    const uint8_t* const bits = items.null_count() == 0 ? nullptr : items.null_bitmap_data();
    std::memset(out, 0, bytes);
    for (size_t i = 0; i < count; ++i) {
      const bool valid =
          bits == nullptr || BitIsSet(bits, items.offset() + first + static_cast<int64_t>(i));
      out[i / 8] |= static_cast<uint8_t>(valid << (i % 8));
    }
    return out + bytes;
  }

  const PackedField& field_;
  const std::shared_ptr<arrow::Array> array_;
  // The items of each list, from the outermost.
  std::vector<std::shared_ptr<arrow::Array>> levels_;
  const uint8_t* values_ = nullptr;
};

std::vector<FieldSource> SourcesOf(const std::vector<PackedField>& fields,
                                   const arrow::StructArray& structs) {
  std::vector<FieldSource> sources;
  for (size_t i = 0; i < fields.size(); ++i) {
    sources.emplace_back(fields[i], structs.field(static_cast<int>(i)));
  }
  return sources;
}

Status Refuse(const std::string& path, const std::string& why) {
  return Error(ErrorCode::kUnsupported, "a column is not written: '{}': a packed struct {}", path,
               why);
}

Result<PackedField> PackedFieldOf(const Field& field, const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(const auto arrow_field, ToArrow(field));
  const arrow::DataType* type = arrow_field->type().get();
  if (field.logical_type == "json" || HasChildFields(field.logical_type) ||
      type->id() == arrow::Type::DICTIONARY || field.is_blob_v1()) {
    return Refuse(path, fmt::format("with a field of type {}", field.logical_type));
  }
  const ValueShape shape = ValueShapeOf(*type);
  PackedField packed;
  if (shape.kind == ValueShape::Kind::kVariable) {
    packed.length_bits = shape.offset_bits;
    packed.is_text = shape.is_text;
    return packed;
  }
  if (shape.is_bool || shape.row_width() == 0) {
    return Refuse(path, fmt::format("with a field of type {}, which is not of whole bytes",
                                    field.logical_type));
  }
  packed.width = shape.row_width();
  packed.dimensions = shape.dimensions;
  return packed;
}

}  // namespace

Result<std::vector<PackedField>> PackedFieldsOf(const Field& field, const std::string& path) {
  std::vector<PackedField> fields;
  for (const Field& child : field.children) {
    ARROW_ASSIGN_OR_RAISE(fields.emplace_back(), PackedFieldOf(child, path + "." + child.name));
  }
  if (fields.empty()) return Refuse(path, "without fields");
  return fields;
}

ValueShape PackedShape(std::vector<PackedField> fields) {
  ValueShape shape;
  for (const PackedField& field : fields) {
    shape.width += field.width;
    // Lists may have null items, which makes their size one of the page.
    if (field.length_bits != 0 || !field.dimensions.empty()) {
      shape.kind = ValueShape::Kind::kVariable;
    }
  }
  if (shape.kind == ValueShape::Kind::kVariable) {
    shape.width = 0;
    shape.offset_bits = 64;
  }
  shape.packed = std::move(fields);
  return shape;
}

Result<std::shared_ptr<arrow::Array>> PackRows(const std::vector<PackedField>& fields,
                                               const arrow::StructArray& structs,
                                               arrow::MemoryPool* pool) {
  const ValueShape shape = PackedShape(fields);
  const std::vector<FieldSource> sources = SourcesOf(fields, structs);
  const int64_t count = structs.length();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> validity, ValidityFromBit0(structs, pool));
  const bool has_offsets = shape.kind == ValueShape::Kind::kVariable;
  std::shared_ptr<arrow::Buffer> offsets;
  uint64_t size = shape.width * static_cast<uint64_t>(count);
  if (has_offsets) {
    ARROW_ASSIGN_OR_RAISE(
        offsets, arrow::AllocateBuffer((count + 1) * static_cast<int64_t>(sizeof(int64_t)), pool));
    auto* const ends = reinterpret_cast<int64_t*>(offsets->mutable_data());
    size = 0;
    ends[0] = 0;
    for (int64_t row = 0; row < count; ++row) {
      for (const FieldSource& source : sources) {
        if (structs.IsValid(row)) size += source.SizeOf(row);
      }
      ends[row + 1] = static_cast<int64_t>(size);
    }
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                        arrow::AllocateBuffer(static_cast<int64_t>(size), pool));
  uint8_t* out = bytes->mutable_data();
  for (int64_t row = 0; row < count; ++row) {
    if (structs.IsNull(row)) {
      if (shape.width != 0) std::memset(out, 0, shape.width);
      out += shape.width;
      continue;
    }
    for (const FieldSource& source : sources) out = source.Put(row, out);
  }
  if (has_offsets) {
    return std::make_shared<arrow::LargeBinaryArray>(count, std::move(offsets), std::move(bytes),
                                                     std::move(validity), structs.null_count());
  }
  return std::make_shared<arrow::FixedSizeBinaryArray>(
      arrow::fixed_size_binary(static_cast<int32_t>(shape.width)), count, std::move(bytes),
      std::move(validity), structs.null_count());
}

Status CheckPackedRows(const LeafPath& path, const LeafRows& rows, uint64_t first_row) {
  const auto& structs = static_cast<const arrow::StructArray&>(rows.leaf());
  arrow::ArrayVector with_nulls;
  for (int i = 0; i < structs.num_fields(); ++i) {
    with_nulls.push_back(structs.field(i)->null_count() == 0 ? nullptr : structs.field(i));
  }
  if (std::all_of(with_nulls.begin(), with_nulls.end(), [](const auto& a) { return !a; })) {
    return Status::OK();
  }
  const RowLevels levels = rows.Build(0, rows.num_rows());
  size_t value = 0;
  for (const RowLevels::Range& range : levels.ranges) {
    for (int64_t slot = range.start; slot < range.start + range.count; ++slot, ++value) {
      if (!levels.states.empty() && levels.states[value] != PageData::kValid) continue;
      for (size_t i = 0; i < with_nulls.size(); ++i) {
        if (with_nulls[i] == nullptr || with_nulls[i]->IsValid(slot)) continue;
        return Error(ErrorCode::kInvalidArgument,
                     "a null in a field of a packed struct, which cannot hold one: column '{}.{}', "
                     "row {}",
                     path.path, path.field->children[i].name, first_row + RowOf(rows, slot));
      }
    }
  }
  return Status::OK();
}

}  // namespace lake::format
