#include "lake/format/v20_column_internal.h"

#include "lake/base/checked.h"
#include "lake/format/column_metadata_internal.h"
#include "lake/format/file.pb.h"
#include "lake/format/parse_message_internal.h"

namespace lake::format {
namespace {

constexpr std::string_view kArrayEncodingType = "/lance.encodings.ArrayEncoding";
constexpr int kMaxWrappings = 8;

Status DecodePage(const pb::ColumnMetadata::Page& message, uint64_t limit, V20Page* page) {
  ARROW_RETURN_NOT_OK(
      DecodeBuffers(message.buffer_offsets(), message.buffer_sizes(), limit, &page->buffers));
  page->num_values = message.length();
  google::protobuf::Any any;
  ARROW_RETURN_NOT_OK(DecodeAny(message.encoding(), "page encoding", &any));
  if (TypeName(any) != kArrayEncodingType) {
    return Error(ErrorCode::kUnsupported, "page encoding of type '{}' is not read",
                 TypeName(any).substr(0, 100));
  }
  return ParseMessage(any.value(), "page encoding", &page->encoding);
}

// Zone maps are for pruning, which goes by the table's own statistics.
Status DecodeColumnEncoding(const pb::Encoding& encoding, bool* is_blob) {
  google::protobuf::Any any;
  ARROW_RETURN_NOT_OK(DecodeAny(encoding, "column encoding", &any));
  if (TypeName(any) != kColumnEncodingType) {
    return Error(ErrorCode::kUnsupported, "column encoding of type '{}' is not read",
                 TypeName(any).substr(0, 100));
  }
  pb::ArrayColumnEncoding outer;
  ARROW_RETURN_NOT_OK(ParseMessage(any.value(), "column encoding", &outer));
  const pb::ArrayColumnEncoding* inner = &outer;
  for (int i = 0; i < kMaxWrappings; ++i) {
    if (inner->has_values()) return Status::OK();
    if (inner->has_blob()) {
      *is_blob = true;
      inner = &inner->blob().inner();
    } else if (inner->has_zone_index()) {
      inner = &inner->zone_index().inner();
    } else {
      break;
    }
  }
  return Error(ErrorCode::kUnsupported, "column encoding other than values is not read");
}

}  // namespace

Result<V20Column> V20Column::DecodeFrom(std::string_view bytes, uint64_t limit) {
  pb::ColumnMetadata message;
  ARROW_RETURN_NOT_OK(ParseMessage(bytes, "column metadata", &message));
  V20Column column;
  ARROW_RETURN_NOT_OK(DecodeColumnEncoding(message.encoding(), &column.is_blob));
  ARROW_RETURN_NOT_OK(
      DecodeBuffers(message.buffer_offsets(), message.buffer_sizes(), limit, &column.buffers));
  column.pages.resize(message.pages_size());
  for (int i = 0; i < message.pages_size(); ++i) {
    V20Page& page = column.pages[i];
    ARROW_RETURN_NOT_OK(
        WithContext(DecodePage(message.pages(i), limit, &page), fmt::format("page {}", i)));
    page.first_value = column.num_values;
    const auto sum = CheckedAdd(column.num_values, page.num_values);
    if (!sum || *sum > uint64_t{1} << 62) {
      return Error(ErrorCode::kCorrupt, "page {}: it has {} values", i, page.num_values);
    }
    column.num_values = *sum;
  }
  return column;
}

size_t V20Column::MemoryUse() const {
  size_t bytes = sizeof(*this) + buffers.capacity() * sizeof(ByteRange);
  for (const V20Page& page : pages) {
    bytes +=
        sizeof(page) + page.buffers.capacity() * sizeof(ByteRange) + page.encoding.SpaceUsedLong();
  }
  return bytes;
}

}  // namespace lake::format
