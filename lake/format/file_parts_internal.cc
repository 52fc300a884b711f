#include "lake/format/file_parts_internal.h"

#include "lake/format/blob.h"
#include "lake/format/column_metadata_internal.h"
#include "lake/format/schema_internal.h"

namespace lake::format {

Result<ByteRange> WriteBuffer(storage::ObjectWriter* object, std::string_view bytes) {
  static constexpr std::string_view kPadding =
      "HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH";
  static_assert(kPadding.size() == kBufferAlignment && kPadding[0] == kPadByte);
  const uint64_t excess = object->position() % kBufferAlignment;
  if (excess != 0) {
    ARROW_RETURN_NOT_OK(object->Write(kPadding.substr(0, kBufferAlignment - excess)));
  }
  const ByteRange range{object->position(), bytes.size()};
  ARROW_RETURN_NOT_OK(object->Write(bytes));
  return range;
}

Status WriteFileEnd(storage::ObjectWriter* object, const Schema& schema, uint64_t num_rows,
                    FileVersion version, const std::vector<std::string_view>& encoded_pages,
                    const std::string& file) {
  pb::FileDescriptor descriptor;
  SchemaToMessage(StoredSchema(schema), descriptor.mutable_schema());
  descriptor.set_length(num_rows);
  std::string bytes;
  if (!descriptor.AppendToString(&bytes)) {
    return Error(ErrorCode::kInvalidArgument,
                 "the schema cannot be serialized: is a name not UTF-8?, file '{}'", file);
  }
  std::vector<ByteRange> global_buffers(1);
  ARROW_ASSIGN_OR_RAISE(global_buffers[0], WriteBuffer(object, bytes));

  FileFooter footer;
  footer.column_metadata_start = object->position();
  std::vector<ByteRange> columns;
  for (const std::string_view pages : encoded_pages) {
    bytes.clear();
    ARROW_RETURN_NOT_OK(ColumnMetadata::EncodeTo(pages, {}, &bytes));
    columns.push_back({object->position(), bytes.size()});
    ARROW_RETURN_NOT_OK(object->Write(bytes));
  }
  bytes.clear();
  footer.column_table_start = object->position();
  EncodeOffsetTable(columns, &bytes);
  footer.global_table_start = object->position() + bytes.size();
  EncodeOffsetTable(global_buffers, &bytes);
  footer.num_global_buffers = static_cast<uint32_t>(global_buffers.size());
  footer.num_columns = static_cast<uint32_t>(columns.size());
  footer.major = version.major;
  footer.minor = version.minor;
  footer.EncodeTo(&bytes);
  return object->Write(bytes);
}

}  // namespace lake::format
