#include "lake/format/packed_row_encoder_internal.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "lake/format/text_encoder_internal.h"

namespace lake::format {
namespace {

// Lengths of rows, as upstream writes them.
constexpr unsigned kRowLengthBits = 32;

/// What a page holds of one field.
struct Column {
  const PackedField* field = nullptr;
  // Of strings and binary.
  ByteBuffer offsets;
  ByteBuffer bytes;
  size_t longest = 0;
  EncodedText encoded;
  // Of a list, for each dimension whether a valid row has a null item.
  std::vector<bool> has_nulls;
};

size_t LoadLength(const PackedField& field, const uint8_t* at) {
  uint64_t length = 0;
  std::memcpy(&length, at, field.length_bits / 8);
  return length;
}

// Whether one of `count` bits is 0.
bool HasZero(const uint8_t* bits, size_t count) {
  for (size_t i = 0; i < count / 8; ++i) {
    if (bits[i] != 0xff) return true;
  }
  const size_t rest = count % 8;
  return rest != 0 && bits[count / 8] != (1u << rest) - 1;
}

/// Takes the rows of a page apart and puts them together again.
class PackedRows {
 public:
  PackedRows(const std::vector<PackedField>& fields, const PageData& page) : page_(page) {
    for (const PackedField& field : fields) {
      Column& column = columns_.emplace_back();
      column.field = &field;
      if (field.length_bits != 0) column.offsets.AppendValue<uint32_t>(0);
      column.has_nulls.resize(field.dimensions.size());
    }
  }

  Status Encode(const std::vector<LeafEncoding>& options) {
    Collect();
    for (size_t i = 0; i < columns_.size(); ++i) {
      Column& column = columns_[i];
      if (column.field->length_bits == 0) continue;
      const PlainText text{column.offsets.as<uint32_t>(), column.bytes.as<uint8_t>(),
                           column.longest, column.field->is_text};
      ARROW_ASSIGN_OR_RAISE(column.encoded,
                            EncodeEachText(text, column.field->length_bits, options[i]));
    }
    return Status::OK();
  }

  // Rows as the file holds them; `stored` outlives nothing that it was made from.
  StoredText Store(ByteBuffer* offsets, ByteBuffer* bytes) const;
  void Describe(pb::VariablePackedStruct* packed) const;

 private:
  void Collect();
  void CollectValidity(Column* column, const uint8_t* bits) const;
  void PutFixed(const Column& column, const uint8_t* value, ByteBuffer* out) const;
  bool is_changed() const;

  const PageData& page_;
  std::vector<Column> columns_;
};

void PackedRows::CollectValidity(Column* column, const uint8_t* bits) const {
  size_t items = 1;
  for (size_t i = 0; i < column->has_nulls.size(); ++i) {
    items *= column->field->dimensions[i];
    if (HasZero(bits, items)) column->has_nulls[i] = true;
    bits += (items + 7) / 8;
  }
}

void PackedRows::Collect() {
  for (size_t value = 0; value < page_.num_values; ++value) {
    if (!page_.IsValid(value)) continue;
    const std::string_view row = page_.Value(value);
    const auto* at = reinterpret_cast<const uint8_t*>(row.data());
    for (Column& column : columns_) {
      const PackedField& field = *column.field;
      if (field.length_bits == 0) {
        CollectValidity(&column, at);
        at += field.stored_width();
        continue;
      }
      const size_t length = LoadLength(field, at);
      at += field.length_bits / 8;
      column.bytes.Append(at, length);
      column.offsets.AppendValue(static_cast<uint32_t>(column.bytes.size()));
      column.longest = std::max(column.longest, length);
      at += length;
    }
  }
}

bool PackedRows::is_changed() const {
  return std::any_of(columns_.begin(), columns_.end(), [](const Column& column) {
    return column.field->length_bits != 0
               ? !column.encoded.is_plain()
               : std::count(column.has_nulls.begin(), column.has_nulls.end(), false) != 0;
  });
}

void PackedRows::PutFixed(const Column& column, const uint8_t* value, ByteBuffer* out) const {
  size_t items = 1;
  for (size_t i = 0; i < column.has_nulls.size(); ++i) {
    items *= column.field->dimensions[i];
    const size_t width = (items + 7) / 8;
    if (column.has_nulls[i]) out->Append(value, width);
    value += width;
  }
  out->Append(value, column.field->width);
}

StoredText PackedRows::Store(ByteBuffer* offsets, ByteBuffer* bytes) const {
  if (!is_changed()) return {page_.offsets.as<uint32_t>(), page_.values.as<uint8_t>()};
  offsets->Reserve(page_.offsets.size());
  bytes->Reserve(page_.values.size());
  offsets->AppendValue<uint32_t>(0);
  size_t text = 0;
  for (size_t value = 0; value < page_.num_values; ++value) {
    if (page_.IsValid(value)) {
      const auto* at = reinterpret_cast<const uint8_t*>(page_.Value(value).data());
      for (const Column& column : columns_) {
        const PackedField& field = *column.field;
        if (field.length_bits == 0) {
          PutFixed(column, at, bytes);
          at += field.stored_width();
          continue;
        }
        at += field.length_bits / 8 + LoadLength(field, at);
        const StoredText& stored = column.encoded.stored;
        const uint64_t length = stored.offsets[text + 1] - stored.offsets[text];
        bytes->Append(&length, field.length_bits / 8);
        bytes->Append(stored.bytes.data() + stored.offsets[text], length);
      }
      ++text;
    }
    offsets->AppendValue(static_cast<uint32_t>(bytes->size()));
  }
  return {std::as_const(*offsets).as<uint32_t>(), std::as_const(*bytes).as<uint8_t>()};
}

void PackedRows::Describe(pb::VariablePackedStruct* packed) const {
  for (const Column& column : columns_) {
    pb::VariablePackedStruct::FieldEncoding* const out = packed->add_fields();
    const PackedField& field = *column.field;
    if (field.length_bits != 0) {
      *out->mutable_value() = column.encoded.encoding;
      out->set_bits_per_length(field.length_bits);
      continue;
    }
    pb::CompressiveEncoding* values = out->mutable_value();
    size_t items = 1;
    size_t bytes = field.width;
    for (size_t i = 0; i < column.has_nulls.size(); ++i) {
      items *= field.dimensions[i];
      if (column.has_nulls[i]) bytes += (items + 7) / 8;
      pb::FixedSizeList* const list = values->mutable_fixed_size_list();
      list->set_items_per_value(field.dimensions[i]);
      list->set_has_validity(column.has_nulls[i]);
      values = list->mutable_values();
    }
    values->mutable_flat()->set_bits_per_value(field.width / items * 8);
    out->set_bits_per_value(bytes * 8);
  }
}

}  // namespace

Result<FullZipPage> EncodePackedRows(const std::vector<PackedField>& fields,
                                     const std::vector<LeafEncoding>& options, const PageData& page,
                                     const PageLevels& levels) {
  PackedRows rows(fields, page);
  ARROW_RETURN_NOT_OK(rows.Encode(options));
  ByteBuffer offsets;
  ByteBuffer bytes;
  const StoredText stored = rows.Store(&offsets, &bytes);
  FullZipPage result = EncodeFullZipVariable(kRowLengthBits, stored, page, levels);
  rows.Describe(result.layout.mutable_value_compression()->mutable_variable_packed_struct());
  return result;
}

}  // namespace lake::format
