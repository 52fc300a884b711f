#include "lake/format/file_directory.h"

#include <limits>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>

#include "lake/format/file.pb.h"
#include "lake/format/parse_message_internal.h"
#include "lake/format/schema_internal.h"

namespace lake::format {

Result<FileDirectory> FileDirectory::Load(
    uint64_t file_size, const std::string& key,
    const std::function<Result<std::shared_ptr<arrow::Buffer>>(ByteRange)>& get) {
  if (file_size < kFooterSize) {
    return Error(ErrorCode::kCorrupt, "not a Lance file, it has only {} bytes: '{}'", file_size,
                 key);
  }
  FileDirectory directory;
  directory.data_end = file_size - kFooterSize;
  ARROW_ASSIGN_OR_RAISE(const auto footer, get({directory.data_end, kFooterSize}));
  ARROW_ASSIGN_OR_RAISE(directory.footer,
                        FileFooter::DecodeFrom(std::string_view(*footer), file_size, key));
  directory.version = FileVersion::FromFooter(directory.footer.major, directory.footer.minor);
  if (directory.footer.num_columns > static_cast<uint32_t>(std::numeric_limits<int32_t>::max())) {
    return Error(ErrorCode::kCorrupt, "a Lance file has {} columns: '{}'",
                 directory.footer.num_columns, key);
  }
  ARROW_ASSIGN_OR_RAISE(const auto globals, get(directory.footer.global_table()));
  ARROW_ASSIGN_OR_RAISE(directory.global_buffers,
                        DecodeOffsetTable(std::string_view(*globals), directory.data_end,
                                          "global buffer table", key));
  ARROW_ASSIGN_OR_RAISE(const auto bytes, get(directory.global_buffers[0]));
  pb::FileDescriptor descriptor;
  const Status parsed =
      ParseMessage(std::string_view(*bytes), "descriptor of a Lance file", &descriptor);
  if (!parsed.ok()) return WithContext(parsed, fmt::format("file '{}'", key));
  directory.num_rows = descriptor.length();
  if (directory.num_rows > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Error(ErrorCode::kCorrupt, "a Lance file has {} rows: '{}'", directory.num_rows, key);
  }
  ARROW_ASSIGN_OR_RAISE(directory.schema, SchemaFromMessage(descriptor.schema(), key));
  ARROW_ASSIGN_OR_RAISE(const auto columns, get(directory.footer.column_table()));
  ARROW_ASSIGN_OR_RAISE(directory.columns,
                        DecodeOffsetTable(std::string_view(*columns), directory.data_end,
                                          "column metadata table", key));
  return directory;
}

}  // namespace lake::format
