#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lake/base/error.h"

namespace arrow {
class DataType;
class Field;
class RecordBatch;
class StructArray;
}  // namespace arrow

namespace lake::objects {

/// The immutable identity of a managed object: what a FILE value holds in a table. A plain value.
struct DataLocation {
  /// `file:` or `s3:` URI under the tenant's stage; never signed, never with credentials.
  std::string uri;
  std::string content_type;
  uint64_t size_bytes = 0;
  /// SHA-256 of the bytes, 64 lower-case hexadecimal digits.
  std::string sha256;

  bool operator==(const DataLocation&) const = default;
};

/// The Arrow form of FILE: struct<uri: string, content_type: string, size_bytes: uint64, sha256:
/// string>, in that order, every child not null, no metadata.
const std::shared_ptr<arrow::DataType>& DataLocationType();

/// True if `type` is a struct of exactly these names and types in this order (nullability of the
/// children is not looked at): the test that makes a column a FILE column.
bool IsFileType(const arrow::DataType& type);

/// True if a FILE type is nested somewhere inside `type` (list, struct), where references would not
/// be seen: such columns are refused.
bool ContainsNestedFile(const arrow::DataType& type);

/// Reads one value of a FILE column. kInvalidArgument if the column is missing, is not FILE, the
/// row is out of bounds, or a child is null; kNotFound if the value itself is null.
Result<DataLocation> ReadDataLocation(const arrow::RecordBatch& batch, const std::string& column,
                                      int64_t row);
Result<DataLocation> ReadDataLocation(const arrow::StructArray& column, int64_t row);

/// kInvalidArgument unless `sha256` is 64 lower-case hexadecimal digits.
Status CheckSha256(const std::string& sha256);

/// kInvalidArgument unless `content_type` is a media type as HTTP writes it: `type/subtype`,
/// perhaps with parameters, printable ASCII, at most 255 bytes.
Status CheckContentType(const std::string& content_type);

}  // namespace lake::objects
