#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/array_encodings.pb.h"
#include "lake/format/container.h"

namespace lake::format {

/// One page of a column of a 2.0 file: where its buffers lie and how they are encoded.
struct V20Page {
  /// Positions in the file; the encoding says by number which of them it means.
  std::vector<ByteRange> buffers;
  /// Values in the page; below a list these are items, not rows of the table.
  uint64_t num_values = 0;
  /// Number of the page's first value in its column.
  uint64_t first_value = 0;
  pb::ArrayEncoding encoding;
};

/// A column's metadata block in a 2.0 file. Layout: docs/format/v20.md.
struct V20Column {
  std::vector<V20Page> pages;
  /// Buffers of the column as a whole.
  std::vector<ByteRange> buffers;
  /// Values in all pages.
  uint64_t num_values = 0;
  /// True where the values are positions and sizes of bytes elsewhere in the file.
  bool is_blob = false;

  /// Decodes a metadata block. `limit` is where the file's data ends: buffers must lie before it.
  /// kCorrupt where it is not well-formed; kUnsupported, by name, for another page message than
  /// 2.0 has. Texts say which page; the caller adds file and column.
  static Result<V20Column> DecodeFrom(std::string_view bytes, uint64_t limit);

  /// Bytes that this object takes in memory, about.
  size_t MemoryUse() const;
};

}  // namespace lake::format
