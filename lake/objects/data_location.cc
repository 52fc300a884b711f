#include "lake/objects/data_location.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace lake::objects {
namespace {

constexpr size_t kSha256Digits = 64;
constexpr size_t kMaxContentTypeBytes = 255;

enum Child { kUri, kContentType, kSizeBytes, kSha256, kNumChildren };

const std::array<std::shared_ptr<arrow::Field>, kNumChildren>& Children() {
  static const std::array<std::shared_ptr<arrow::Field>, kNumChildren> children = {
      arrow::field("uri", arrow::utf8(), false),
      arrow::field("content_type", arrow::utf8(), false),
      arrow::field("size_bytes", arrow::uint64(), false),
      arrow::field("sha256", arrow::utf8(), false),
  };
  return children;
}

// The types directly inside `type`.
void AppendInnerTypes(const arrow::DataType& type, std::vector<const arrow::DataType*>* out) {
  for (const auto& field : type.fields()) out->push_back(field->type().get());
  if (type.id() == arrow::Type::DICTIONARY) {
    out->push_back(static_cast<const arrow::DictionaryType&>(type).value_type().get());
  } else if (type.id() == arrow::Type::EXTENSION) {
    out->push_back(static_cast<const arrow::ExtensionType&>(type).storage_type().get());
  }
}

}  // namespace

const std::shared_ptr<arrow::DataType>& DataLocationType() {
  static const std::shared_ptr<arrow::DataType> type =
      arrow::struct_({Children().begin(), Children().end()});
  return type;
}

bool IsFileType(const arrow::DataType& type) {
  if (type.id() != arrow::Type::STRUCT || type.num_fields() != kNumChildren) return false;
  for (int i = 0; i < kNumChildren; ++i) {
    const arrow::Field& expected = *Children()[i];
    const arrow::Field& actual = *type.field(i);
    if (actual.name() != expected.name() || !actual.type()->Equals(*expected.type())) return false;
  }
  return true;
}

bool ContainsNestedFile(const arrow::DataType& type) {
  // A stack of our own: types that came over the wire may be nested deeply.
  std::vector<const arrow::DataType*> open;
  AppendInnerTypes(type, &open);
  while (!open.empty()) {
    const arrow::DataType* inner = open.back();
    open.pop_back();
    if (IsFileType(*inner)) return true;
    AppendInnerTypes(*inner, &open);
  }
  return false;
}

Result<DataLocation> ReadDataLocation(const arrow::RecordBatch& batch, const std::string& column,
                                      int64_t row) {
  int index = batch.schema()->GetFieldIndex(column);
  if (index < 0) {
    return Error(ErrorCode::kInvalidArgument,
                 "no column of this name, or several, to read a FILE value from: '{}'", column);
  }
  std::shared_ptr<arrow::Array> values = batch.column(index);
  if (!IsFileType(*values->type())) {
    return Error(ErrorCode::kInvalidArgument, "not a FILE column but {}: '{}'",
                 values->type()->ToString(), column);
  }
  Result<DataLocation> location =
      ReadDataLocation(static_cast<const arrow::StructArray&>(*values), row);
  if (!location.ok()) {
    return WithContext(location.status(), fmt::format("cannot read FILE column '{}'", column));
  }
  return location;
}

Result<DataLocation> ReadDataLocation(const arrow::StructArray& column, int64_t row) {
  if (!IsFileType(*column.type())) {
    return Error(ErrorCode::kInvalidArgument, "not a FILE column but {}",
                 column.type()->ToString());
  }
  if (row < 0 || row >= column.length()) {
    return Error(ErrorCode::kInvalidArgument, "row out of bounds: {} of {}", row, column.length());
  }
  if (column.IsNull(row)) {
    return Error(ErrorCode::kNotFound, "the FILE value is NULL in row {}", row);
  }
  std::array<std::shared_ptr<arrow::Array>, kNumChildren> children;
  for (int i = 0; i < kNumChildren; ++i) {
    children[i] = column.field(i);
    if (children[i]->IsNull(row)) {
      return Error(ErrorCode::kInvalidArgument, "the FILE value has no {} in row {}",
                   Children()[i]->name(), row);
    }
  }
  auto text = [&](Child child) {
    return static_cast<const arrow::StringArray&>(*children[child]).GetString(row);
  };
  return DataLocation{
      .uri = text(kUri),
      .content_type = text(kContentType),
      .size_bytes = static_cast<const arrow::UInt64Array&>(*children[kSizeBytes]).Value(row),
      .sha256 = text(kSha256),
  };
}

Status CheckSha256(const std::string& sha256) {
  bool valid = sha256.size() == kSha256Digits && std::ranges::all_of(sha256, [](char c) {
                 return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
               });
  if (valid) return Status::OK();
  return Error(
      ErrorCode::kInvalidArgument,
      "not a SHA-256 digest (64 lower-case hexadecimal digits are expected): {} characters",
      sha256.size());
}

Status CheckContentType(const std::string& content_type) {
  std::string_view essence = std::string_view(content_type).substr(0, content_type.find(';'));
  while (essence.ends_with(' ')) essence.remove_suffix(1);
  size_t slash = essence.find('/');
  // RFC 9110 §5.6.2: what a token may hold.
  auto is_token = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    });
  };
  bool valid = content_type.size() <= kMaxContentTypeBytes && slash != std::string_view::npos &&
               is_token(essence.substr(0, slash)) && is_token(essence.substr(slash + 1)) &&
               std::ranges::all_of(content_type, [](char c) { return c >= 0x20 && c < 0x7F; });
  if (valid) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "not a content type (such as 'video/mp4' is expected): {} bytes",
               content_type.size());
}

}  // namespace lake::objects
