#include "lake/format/packed_row_decoder_internal.h"

#include <cstring>
#include <utility>

#include <arrow/type.h>

#include "lake/format/block_decoder_internal.h"
#include "lake/format/container.h"

namespace lake::format {

Result<PackedRowDecoder::Part> PackedRowDecoder::PartFrom(
    const pb::VariablePackedStruct::FieldEncoding& field, const LeafType& type) {
  Part part;
  if (type.kind == LeafType::Kind::kVariable) {
    const uint64_t bits = field.bits_per_length();
    if (!field.has_bits_per_length() || (bits != 32 && bits != 64)) {
      return Error(ErrorCode::kCorrupt, "a string of a packed struct has lengths of {} bits", bits);
    }
    part.length_width = bits / 8;
    ARROW_ASSIGN_OR_RAISE(part.codec, StringCodec::From(field.value(), bits));
    return part;
  }
  ARROW_ASSIGN_OR_RAISE(part.items, ListItems::From(field.value(), type, "packed struct"));
  part.width = part.items.validity_width() + (part.items.all_null ? 0 : type.value_bits() / 8);
  if (!field.has_bits_per_value() || field.bits_per_value() != part.width * 8) {
    return Error(ErrorCode::kCorrupt, "a field of a packed struct has {} bits, not {}",
                 field.bits_per_value(), part.width * 8);
  }
  return part;
}

Status PackedRowDecoder::AppendFixed(const Part& part, std::string_view value, LeafBuilder* out) {
  for (size_t i = 0; i < part.items.levels.size(); ++i) {
    const ListItems::Level& level = part.items.levels[i];
    if (!level.has_validity) {
      ARROW_RETURN_NOT_OK(out->item_validity(i).AppendValid(level.count));
      continue;
    }
    ARROW_RETURN_NOT_OK(out->item_validity(i).AppendBits(
        reinterpret_cast<const uint8_t*>(value.data()), 0, level.count));
    value.remove_prefix(level.validity_width());
  }
  if (part.items.all_null) {
    out->AppendZeros(1);
  } else {
    std::memcpy(out->AppendFixed(1), value.data(), value.size());
  }
  return Status::OK();
}

Result<PackedRowDecoder> PackedRowDecoder::From(const pb::CompressiveEncoding& encoding,
                                                const LeafType& type) {
  if (!encoding.has_variable_packed_struct()) {
    return Error(ErrorCode::kUnsupported, "full-zip encoding {} of packed structs is not read",
                 EncodingName(encoding));
  }
  const pb::VariablePackedStruct& packed = encoding.variable_packed_struct();
  if (packed.fields_size() != static_cast<int>(type.parts.size())) {
    return Error(ErrorCode::kCorrupt, "packed struct of {} fields, not {}", packed.fields_size(),
                 type.parts.size());
  }
  PackedRowDecoder decoder;
  for (int i = 0; i < packed.fields_size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(Part part, PartFrom(packed.fields(i), type.parts[i]));
    decoder.parts_.push_back(std::move(part));
  }
  return decoder;
}

Status PackedRowDecoder::Append(std::string_view row, LeafBuilder* builder) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    LeafBuilder& out = builder->parts()[i];
    uint64_t size = part.width;
    if (part.length_width != 0) {
      if (row.size() < part.length_width) {
        return Error(ErrorCode::kCorrupt, "a row of a packed struct ends within field {}", i);
      }
      size = part.length_width == 4 ? LoadLittle<uint32_t>(row.data())
                                    : LoadLittle<uint64_t>(row.data());
      row.remove_prefix(part.length_width);
    }
    if (size > row.size()) {
      return Error(ErrorCode::kCorrupt, "field {} of a packed struct has {} bytes, {} are left", i,
                   size, row.size());
    }
    if (part.length_width == 0) {
      ARROW_RETURN_NOT_OK(AppendFixed(part, row.substr(0, size), &out));
    } else {
      ARROW_ASSIGN_OR_RAISE(const uint64_t made, part.codec.Append(row.substr(0, size), 0, &out));
      const uint64_t end = out.variable_size() + made;
      if (out.type().offset_bits == 32) {
        *out.NextEnds<int32_t>() = static_cast<int32_t>(end);
      } else {
        *out.NextEnds<int64_t>() = static_cast<int64_t>(end);
      }
      out.CommitVariable(1, end);
    }
    ARROW_RETURN_NOT_OK(out.validity().AppendValid(1));
    row.remove_prefix(size);
  }
  if (!row.empty()) {
    return Error(ErrorCode::kCorrupt, "a row of a packed struct has {} bytes too many", row.size());
  }
  return Status::OK();
}

}  // namespace lake::format
