#pragma once

#include <memory>
#include <string>

#include "lake/base/error.h"

namespace arrow {
class DataType;
}

namespace lake::format {

/// Deepest nesting of types and of fields that is read or written.
inline constexpr int kMaxTypeDepth = 64;

/// Lance's name of an Arrow type (docs/format/schema.md); an extension type has that of its
/// storage. kUnsupported, naming `path` and the type, for a type that Lance does not have.
Result<std::string> LogicalType(const arrow::DataType& type, const std::string& path);

/// The Arrow type of a logical type that needs no child fields: numbers, texts, fixed-size lists of
/// such, dictionaries. kUnsupported, by name, for one that is not known or has child fields;
/// kCorrupt for one whose parts are wrong.
Result<std::shared_ptr<arrow::DataType>> TypeOfLogicalType(const std::string& logical,
                                                           const std::string& path);

/// True if fields of this logical type have children.
bool HasChildFields(const std::string& logical);

}  // namespace lake::format
