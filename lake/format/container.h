#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/error.h"
#include "lake/storage/object_store.h"

namespace lake::format {

using storage::ByteRange;

/// The footer is this many bytes at the very end of a file.
inline constexpr uint64_t kFooterSize = 40;
inline constexpr std::string_view kFileMagic = "LANC";
/// Buffers start at multiples of this; the gap is filled with kPadByte. Readers do not rely on it.
inline constexpr uint64_t kBufferAlignment = 64;
inline constexpr char kPadByte = 'H';
/// The Any type of a page's layout, and of a column's encoding.
inline constexpr std::string_view kPageLayoutType = "/lance.encodings21.PageLayout";
/// Pages of 2.3 files by pylance 14.
inline constexpr std::string_view kPlanarLayoutType = "/lance.encodings23.PlanarLayout";
inline constexpr std::string_view kColumnEncodingType = "/lance.encodings.ColumnEncoding";

/// The last 40 bytes of a Lance file. Layout: docs/format/file.md.
struct FileFooter {
  /// Where the first column's metadata begins.
  uint64_t column_metadata_start = 0;
  /// Where the table of (position, size) of the columns' metadata lies, one entry per column.
  uint64_t column_table_start = 0;
  /// The same for the global buffers; entry 0 is the FileDescriptor.
  uint64_t global_table_start = 0;
  uint32_t num_global_buffers = 0;
  uint32_t num_columns = 0;
  uint16_t major = 0;
  uint16_t minor = 0;

  /// Decodes `bytes`, the last kFooterSize bytes of a file of `file_size` bytes. kCorrupt if they
  /// are not a Lance footer, or if a table does not fit between the start of the file and the
  /// footer. kUnsupported for a version that is not read, before anything but the magic is
  /// looked at. `file` is for texts.
  static Result<FileFooter> DecodeFrom(std::string_view bytes, uint64_t file_size,
                                       const std::string& file);
  /// Appends the kFooterSize bytes.
  void EncodeTo(std::string* out) const;

  ByteRange column_table() const { return {column_table_start, uint64_t{num_columns} * 16}; }
  ByteRange global_table() const { return {global_table_start, uint64_t{num_global_buffers} * 16}; }
};

/// Decodes a table of (u64 position, u64 size) pairs; kCorrupt if `bytes` is not a whole number of
/// them or an entry does not lie in [0, limit). `what` names the table in texts.
Result<std::vector<ByteRange>> DecodeOffsetTable(std::string_view bytes, uint64_t limit,
                                                 std::string_view what, const std::string& file);

void EncodeOffsetTable(const std::vector<ByteRange>& entries, std::string* out);

/// Little-endian integers at any alignment. REQUIRES: sizeof(T) bytes at `bytes`.
template <typename T>
T LoadLittle(const void* bytes) {
  T value;
  __builtin_memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
void AppendLittle(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace lake::format
