#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/leaf_builder.h"
#include "lake/format/list_items_internal.h"
#include "lake/format/string_codec_internal.h"

namespace lake::format {

/// Decodes the rows of a packed struct whose fields may have any length: the fields of a row in
/// order, those of fixed width as they are, the others behind their length. Immutable.
class PackedRowDecoder {
 public:
  /// kUnsupported, by name, for a field's encoding that is not read; kCorrupt where it contradicts
  /// `type`, a packed struct.
  static Result<PackedRowDecoder> From(const pb::CompressiveEncoding& encoding,
                                       const LeafType& type);

  /// Appends one row to the parts of `builder`. kCorrupt unless `row` is used up.
  Status Append(std::string_view row, LeafBuilder* builder) const;

 private:
  struct Part {
    // Bytes of the value if that is fixed, else 0 and the width of its length.
    uint64_t width = 0;
    uint64_t length_width = 0;
    StringCodec codec;
    // Of lists. `width` counts their validity.
    ListItems items;
  };

  static Status AppendFixed(const Part& part, std::string_view value, LeafBuilder* out);
  static Result<Part> PartFrom(const pb::VariablePackedStruct::FieldEncoding& field,
                               const LeafType& type);

  std::vector<Part> parts_;
};

}  // namespace lake::format
