#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/any.pb.h>

#include "lake/base/error.h"
#include "lake/format/container.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/file.pb.h"

namespace lake::format {

/// One page of a column: where its buffers lie and how they are encoded.
struct PageMetadata {
  /// Positions in the file, in the order that the layout gives them a meaning.
  std::vector<ByteRange> buffers;
  /// Rows, or slots inside fixed-size lists of structs: ColumnMetadata::slots_per_row for each row.
  uint64_t num_rows = 0;
  /// Number of the page's first row (slot) in the file.
  uint64_t first_row = 0;
  pb::PageLayout layout;
  /// The layout was described in the words of version 2.3.
  bool is_planar = false;

  /// Appends what stands for this page in its column's block.
  Status EncodeTo(std::string* out) const;
};

/// A column's metadata block. Layout: docs/format/file.md.
struct ColumnMetadata {
  std::vector<PageMetadata> pages;
  /// Buffers of the column as a whole; version 2.1 and 2.2 have none.
  std::vector<ByteRange> buffers;
  /// How many slots a row of the file has in this column: 1, or the product of the sizes of the
  /// fixed-size lists of structs around it.
  uint64_t slots_per_row = 1;

  /// Decodes a metadata block. `limit` is where the file's data ends: buffers must lie before it.
  /// kCorrupt where a page is not well-formed or the pages together do not have a multiple of
  /// `num_rows` slots;
  /// kUnsupported, by name, for another page message or column encoding than 2.1 to 2.3 have.
  /// Texts say which page; the caller adds file and column.
  static Result<ColumnMetadata> DecodeFrom(std::string_view bytes, uint64_t limit,
                                           uint64_t num_rows);
  /// Appends the block.
  Status EncodeTo(std::string* out) const;
  /// Appends the block of a column whose pages are encoded already.
  static Status EncodeTo(std::string_view encoded_pages, std::span<const ByteRange> buffers,
                         std::string* out);

  /// Bytes that this object takes in memory, about.
  size_t MemoryUse() const;
};

/// Takes the message out of `encoding`, which `what` names in texts.
Status DecodeAny(const pb::Encoding& encoding, std::string_view what, google::protobuf::Any* any);

/// The type of `any` from its last slash on. Borrowed from `any`.
std::string_view TypeName(const google::protobuf::Any& any);

/// Appends the ranges to `buffers`; kCorrupt unless all end before `limit`.
Status DecodeBuffers(const google::protobuf::RepeatedField<uint64_t>& offsets,
                     const google::protobuf::RepeatedField<uint64_t>& sizes, uint64_t limit,
                     std::vector<ByteRange>* buffers);

}  // namespace lake::format
