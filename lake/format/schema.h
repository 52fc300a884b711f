#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/error.h"

namespace arrow {
class DataType;
class Field;
class Schema;
}  // namespace arrow

namespace lake::format {

/// A field of a Lance schema, with its children. Format facts: docs/format/schema.md.
struct Field {
  /// Unique in its table for the life of the table; -1 where not assigned.
  int32_t id = -1;
  std::string name;
  /// Lance's name of the type, such as "int64", "timestamp:us:UTC", "fixed_size_list:float:16",
  /// "struct".
  std::string logical_type;
  bool nullable = true;
  /// Arrow field metadata, extension types included; kept byte for byte.
  std::map<std::string, std::string> metadata;
  /// Only a struct has children here; a fixed-size list of numbers has none.
  std::vector<Field> children;

  bool is_leaf() const { return children.empty() && logical_type != "struct"; }
};

/// A Lance schema: the fields of a table or file, in order.
struct Schema {
  std::vector<Field> fields;
  std::map<std::string, std::string> metadata;

  /// The top-level field called `name` (compared byte for byte), or null. Borrowed from this
  /// schema.
  const Field* Find(const std::string& name) const;

  /// The largest field id, -1 if there is none.
  int32_t MaxFieldId() const;

  /// Ids of the leaves below `field` in pre-order: one per column of a 2.1+ file.
  static std::vector<int32_t> LeafIds(const Field& field);
};

/// Converts an Arrow type to its logical type string. kUnsupported, naming `path` and the type, for
/// a type that this version neither reads nor writes.
Result<std::string> LogicalType(const arrow::DataType& type, const std::string& path);

/// Converts a schema for writing: ids are given in pre-order from `first_id`. kUnsupported as
/// above.
Result<Schema> SchemaFromArrow(const arrow::Schema& schema, int32_t first_id = 0);

/// The Arrow field of `field`. kUnsupported (by name) or kCorrupt for a logical type that is not
/// read.
Result<std::shared_ptr<arrow::Field>> ToArrow(const Field& field);
Result<std::shared_ptr<arrow::Schema>> ToArrow(const Schema& schema);

}  // namespace lake::format
