#include "lake/format/column_metadata_internal.h"

#include "lake/base/checked.h"
#include "lake/format/parse_message_internal.h"
#include "lake/format/planar_layout_internal.h"

namespace lake::format {
namespace {

constexpr size_t kMaxPageBuffers = 64;

Status DecodePage(const pb::ColumnMetadata::Page& message, uint64_t limit, PageMetadata* page) {
  if (static_cast<size_t>(message.buffer_offsets_size()) > kMaxPageBuffers) {
    return Error(ErrorCode::kCorrupt, "{} buffers in one page", message.buffer_offsets_size());
  }
  ARROW_RETURN_NOT_OK(
      DecodeBuffers(message.buffer_offsets(), message.buffer_sizes(), limit, &page->buffers));
  page->num_rows = message.length();
  google::protobuf::Any any;
  ARROW_RETURN_NOT_OK(DecodeAny(message.encoding(), "page encoding", &any));
  if (TypeName(any) == kPlanarLayoutType) {
    pb::PlanarLayout planar;
    ARROW_RETURN_NOT_OK(ParseMessage(any.value(), "page layout", &planar));
    ARROW_ASSIGN_OR_RAISE(page->layout, FromPlanar(planar));
    page->is_planar = true;
    return Status::OK();
  }
  if (TypeName(any) != kPageLayoutType) {
    return Error(ErrorCode::kUnsupported, "page encoding of type '{}' is not read",
                 TypeName(any).substr(0, 100));
  }
  return ParseMessage(any.value(), "page layout", &page->layout);
}

Status CheckColumnEncoding(const pb::Encoding& encoding) {
  google::protobuf::Any any;
  ARROW_RETURN_NOT_OK(DecodeAny(encoding, "column encoding", &any));
  if (TypeName(any) != kColumnEncodingType) {
    return Error(ErrorCode::kUnsupported, "column encoding of type '{}' is not read",
                 TypeName(any).substr(0, 100));
  }
  pb::ColumnEncoding column_encoding;
  ARROW_RETURN_NOT_OK(ParseMessage(any.value(), "column encoding", &column_encoding));
  if (!column_encoding.has_values()) {
    return Error(ErrorCode::kUnsupported,
                 "column encoding other than plain values (blob, zone index) is not read");
  }
  return Status::OK();
}

void EncodeAny(std::string_view type, const google::protobuf::MessageLite& message,
               pb::Encoding* out) {
  google::protobuf::Any any;
  any.set_type_url(std::string(type));
  any.set_value(message.SerializeAsString());
  out->mutable_direct()->set_encoding(any.SerializeAsString());
}

Status Append(const pb::ColumnMetadata& message, std::string* out) {
  if (message.AppendToString(out)) return Status::OK();
  return Error(ErrorCode::kInternal, "column metadata could not be serialized");
}

}  // namespace

Status DecodeAny(const pb::Encoding& encoding, std::string_view what, google::protobuf::Any* any) {
  switch (encoding.location_case()) {
    case pb::Encoding::kDirect:
      return ParseMessage(encoding.direct().encoding(), what, any);
    case pb::Encoding::kIndirect:
      return Error(ErrorCode::kUnsupported, "{} is stored apart from its column", what);
    case pb::Encoding::kNone:
    case pb::Encoding::LOCATION_NOT_SET:
      break;
  }
  return Error(ErrorCode::kCorrupt, "{} is missing", what);
}

std::string_view TypeName(const google::protobuf::Any& any) {
  const std::string_view url = any.type_url();
  const size_t slash = url.rfind('/');
  return slash == url.npos ? url : url.substr(slash);
}

Status DecodeBuffers(const google::protobuf::RepeatedField<uint64_t>& offsets,
                     const google::protobuf::RepeatedField<uint64_t>& sizes, uint64_t limit,
                     std::vector<ByteRange>* buffers) {
  if (offsets.size() != sizes.size()) {
    return Error(ErrorCode::kCorrupt, "{} buffer positions but {} buffer sizes", offsets.size(),
                 sizes.size());
  }
  buffers->reserve(offsets.size());
  for (int i = 0; i < offsets.size(); ++i) {
    if (!RangeFits(offsets[i], sizes[i], limit)) {
      return Error(ErrorCode::kCorrupt, "buffer {} has {} bytes at {}, but data ends at {}", i,
                   sizes[i], offsets[i], limit);
    }
    buffers->push_back({offsets[i], sizes[i]});
  }
  return Status::OK();
}

Result<ColumnMetadata> ColumnMetadata::DecodeFrom(std::string_view bytes, uint64_t limit,
                                                  uint64_t num_rows) {
  pb::ColumnMetadata message;
  ARROW_RETURN_NOT_OK(ParseMessage(bytes, "column metadata", &message));
  ColumnMetadata column;
  ARROW_RETURN_NOT_OK(CheckColumnEncoding(message.encoding()));
  ARROW_RETURN_NOT_OK(
      DecodeBuffers(message.buffer_offsets(), message.buffer_sizes(), limit, &column.buffers));
  column.pages.resize(message.pages_size());
  uint64_t rows = 0;
  for (int i = 0; i < message.pages_size(); ++i) {
    PageMetadata& page = column.pages[i];
    ARROW_RETURN_NOT_OK(
        WithContext(DecodePage(message.pages(i), limit, &page), fmt::format("page {}", i)));
    page.first_row = rows;
    const auto sum = CheckedAdd(rows, page.num_rows);
    if (!sum) return Error(ErrorCode::kCorrupt, "page {}: it has {} rows", i, page.num_rows);
    rows = *sum;
  }
  if (num_rows == 0 ? rows != 0 : rows == 0 || rows % num_rows != 0) {
    return Error(ErrorCode::kCorrupt, "its pages have {} rows, the file has {}", rows, num_rows);
  }
  if (num_rows != 0) column.slots_per_row = rows / num_rows;
  return column;
}

// Protobuf messages written one behind the other are one message, so pages can be encoded one by
// one.
Status PageMetadata::EncodeTo(std::string* out) const {
  pb::ColumnMetadata message;
  pb::ColumnMetadata::Page* const page = message.add_pages();
  for (const ByteRange& buffer : buffers) {
    page->add_buffer_offsets(buffer.offset);
    page->add_buffer_sizes(buffer.length);
  }
  page->set_length(num_rows);
  page->set_priority(first_row);
  EncodeAny(kPageLayoutType, layout, page->mutable_encoding());
  return Append(message, out);
}

Status ColumnMetadata::EncodeTo(std::string* out) const {
  std::string encoded_pages;
  for (const PageMetadata& page : pages) ARROW_RETURN_NOT_OK(page.EncodeTo(&encoded_pages));
  return EncodeTo(encoded_pages, buffers, out);
}

Status ColumnMetadata::EncodeTo(std::string_view encoded_pages, std::span<const ByteRange> buffers,
                                std::string* out) {
  pb::ColumnMetadata message;
  pb::ColumnEncoding column_encoding;
  column_encoding.mutable_values();
  EncodeAny(kColumnEncodingType, column_encoding, message.mutable_encoding());
  for (const ByteRange& buffer : buffers) {
    message.add_buffer_offsets(buffer.offset);
    message.add_buffer_sizes(buffer.length);
  }
  ARROW_RETURN_NOT_OK(Append(message, out));
  out->append(encoded_pages);
  return Status::OK();
}

size_t ColumnMetadata::MemoryUse() const {
  size_t bytes = sizeof(*this) + buffers.capacity() * sizeof(ByteRange);
  for (const PageMetadata& page : pages) {
    bytes +=
        sizeof(page) + page.buffers.capacity() * sizeof(ByteRange) + page.layout.SpaceUsedLong();
  }
  return bytes;
}

}  // namespace lake::format
