#pragma once

#include <memory>
#include <string>

#include "lake/base/error.h"

namespace arrow {
class Array;
class DataType;
class Field;
}  // namespace arrow

namespace lake::query {

/// The Arrow field that DuckDB is handed for a stored one: types that it does not take become ones
/// that it takes without loss (float16 and bfloat16 a float, decimal256 a decimal128, dictionaries
/// their values), at any depth. Of metadata only what makes a UUID or JSON stays. kUnsupported,
/// naming column and type, for the others.
Result<std::shared_ptr<arrow::Field>> ShownField(const std::string& column,
                                                 const arrow::Field& stored);

/// True if values must be changed to be shown: else a stored array is handed on as it is.
bool ShowsAsStored(const arrow::Field& stored, const arrow::Field& shown);

/// Stored values in their shown form. kUnsupported, naming the column, for a value that has none.
Result<std::shared_ptr<arrow::Array>> ShowArray(const std::string& column,
                                                const arrow::Field& stored,
                                                const arrow::Field& shown,
                                                const std::shared_ptr<arrow::Array>& array);

/// Values that DuckDB wrote, in the type of `stored`. kInvalidArgument, naming the column, for a
/// value that cannot be stored exactly.
Result<std::shared_ptr<arrow::Array>> StoreArray(const std::string& column,
                                                 const arrow::Field& stored,
                                                 const std::shared_ptr<arrow::Array>& array);

/// Marks of the extension types that SQL knows.
bool IsUuidField(const arrow::Field& field);
bool IsJsonField(const arrow::Field& field);
std::shared_ptr<arrow::Field> UuidField(const std::string& name, bool nullable);
std::shared_ptr<arrow::Field> JsonField(const std::string& name, bool nullable);

}  // namespace lake::query
