#include "lake/format/container.h"

#include <bit>

#include "lake/base/checked.h"
#include "lake/format/version.h"

namespace lake::format {

static_assert(std::endian::native == std::endian::little, "Lance files are little endian");

Result<FileFooter> FileFooter::DecodeFrom(std::string_view bytes, uint64_t file_size,
                                          const std::string& file) {
  if (bytes.size() != kFooterSize || file_size < kFooterSize) {
    return Error(ErrorCode::kCorrupt,
                 "not a Lance file: it has {} bytes, a footer alone has {}: {}", file_size,
                 kFooterSize, file);
  }
  if (bytes.substr(kFooterSize - kFileMagic.size()) != kFileMagic) {
    return Error(ErrorCode::kCorrupt, "not a Lance file: it does not end in 'LANC': {}", file);
  }
  const char* p = bytes.data();
  FileFooter footer;
  footer.column_metadata_start = LoadLittle<uint64_t>(p);
  footer.column_table_start = LoadLittle<uint64_t>(p + 8);
  footer.global_table_start = LoadLittle<uint64_t>(p + 16);
  footer.num_global_buffers = LoadLittle<uint32_t>(p + 24);
  footer.num_columns = LoadLittle<uint32_t>(p + 28);
  footer.major = LoadLittle<uint16_t>(p + 32);
  footer.minor = LoadLittle<uint16_t>(p + 34);
  ARROW_RETURN_NOT_OK(CheckReadable(FileVersion::FromFooter(footer.major, footer.minor), file));

  const uint64_t limit = file_size - kFooterSize;
  if (footer.column_metadata_start > limit) {
    return Error(
        ErrorCode::kCorrupt,
        "footer of a Lance file is damaged: column metadata starts at {}, the footer at {}: {}",
        footer.column_metadata_start, limit, file);
  }
  const struct {
    const char* what;
    ByteRange range;
  } tables[] = {{"column metadata table", footer.column_table()},
                {"global buffer table", footer.global_table()}};
  for (const auto& table : tables) {
    if (!RangeFits(table.range.offset, table.range.length, limit)) {
      return Error(
          ErrorCode::kCorrupt,
          "footer of a Lance file is damaged: {} of {} bytes at {} passes the footer at {}: {}",
          table.what, table.range.length, table.range.offset, limit, file);
    }
  }
  if (footer.num_global_buffers == 0) {
    return Error(ErrorCode::kCorrupt,
                 "footer of a Lance file is damaged: no global buffer, so no schema: {}", file);
  }
  return footer;
}

void FileFooter::EncodeTo(std::string* out) const {
  AppendLittle(column_metadata_start, out);
  AppendLittle(column_table_start, out);
  AppendLittle(global_table_start, out);
  AppendLittle(num_global_buffers, out);
  AppendLittle(num_columns, out);
  AppendLittle(major, out);
  AppendLittle(minor, out);
  out->append(kFileMagic);
}

Result<std::vector<ByteRange>> DecodeOffsetTable(std::string_view bytes, uint64_t limit,
                                                 std::string_view what, const std::string& file) {
  constexpr size_t kEntrySize = 16;
  if (bytes.size() % kEntrySize != 0) {
    return Error(ErrorCode::kCorrupt, "{} of a Lance file has {} bytes, not whole entries: {}",
                 what, bytes.size(), file);
  }
  std::vector<ByteRange> entries(bytes.size() / kEntrySize);
  for (size_t i = 0; i < entries.size(); ++i) {
    const char* entry = bytes.data() + i * kEntrySize;
    entries[i] = {LoadLittle<uint64_t>(entry), LoadLittle<uint64_t>(entry + 8)};
    if (!RangeFits(entries[i].offset, entries[i].length, limit)) {
      return Error(
          ErrorCode::kCorrupt,
          "{} of a Lance file is damaged: entry {} has {} bytes at {}, the end is at {}: {}", what,
          i, entries[i].length, entries[i].offset, limit, file);
    }
  }
  return entries;
}

void EncodeOffsetTable(const std::vector<ByteRange>& entries, std::string* out) {
  for (const ByteRange& entry : entries) {
    AppendLittle(entry.offset, out);
    AppendLittle(entry.length, out);
  }
}

}  // namespace lake::format
