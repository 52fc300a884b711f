#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/logical_type.h"
#include "lake/format/version.h"

namespace arrow {
class DataType;
class Field;
class Schema;
}  // namespace arrow

namespace lake::format {

/// Keys of Field::metadata that mean something to the format.
inline constexpr char kExtensionNameKey[] = "ARROW:extension:name";
inline constexpr char kExtensionMetadataKey[] = "ARROW:extension:metadata";
inline constexpr char kPackedKey[] = "lance-encoding:packed";
inline constexpr char kBlobKey[] = "lance-encoding:blob";

/// A field of a Lance schema, with its children. Format facts: docs/format/schema.md.
struct Field {
  /// Unique in its table for the life of the table; -1 where not assigned.
  int32_t id = -1;
  std::string name;
  /// Lance's name of the type, such as "int64", "timestamp:us:UTC", "fixed_size_list:float:16",
  /// "list.struct".
  std::string logical_type;
  bool nullable = true;
  /// Arrow field metadata, extension types included; kept byte for byte.
  std::map<std::string, std::string> metadata;
  /// Of a struct its fields; of a list, and of a fixed-size list of structs, the item; of a map the
  /// struct of key and value. A fixed-size list of anything else has none.
  std::vector<Field> children;
  bool unenforced_primary_key = false;

  /// True for a struct whose fields are stored together in one column.
  bool is_packed() const;
  /// True for bytes that lie outside of the column's pages: `large_binary` with metadata (v1).
  bool is_blob_v1() const;
  /// True for a blob column of file version 2.2 and later, as a table ("data", "uri") or as a file
  /// ("kind", "position", "size", "blob_id", "blob_uri") declares it.
  bool is_blob_v2() const;
  /// True if the field owns a column of a 2.1+ file and its children, if any, own none.
  bool is_leaf() const;
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

  /// Ids of the fields at and below `field` that own a column of a file of `version`, in column
  /// order: in 2.0 every field does, from 2.1 on the leaves.
  static std::vector<int32_t> ColumnIds(const Field& field, const FileVersion& version);
};

/// Converts a schema for writing: ids are given in pre-order from `first_id`. Views become plain
/// strings and binary; JSON (extension arrow.json) becomes "json"; bytes with the metadata of a
/// blob become a blob of version 2. kUnsupported, naming the column, for a type that Lance does not
/// have or that is nested deeper than kMaxTypeDepth, and for ids of 2^31 and more; kInvalidArgument
/// for a blob (extension lance.blob.v2) of another shape than docs/format/blobs.md gives.
Result<Schema> SchemaFromArrow(const arrow::Schema& schema, int64_t first_id = 0);

/// The Arrow field that rows of `field` have when they are read. Where that is not what was
/// written: JSON is a string with the metadata of extension arrow.json; a blob is the struct that
/// tells where its bytes lie (v1: position, size; v2: kind, position, size, blob_id, blob_uri).
/// kUnsupported (by name) or kCorrupt for a logical type that is not read.
Result<std::shared_ptr<arrow::Field>> ToArrow(const Field& field);
Result<std::shared_ptr<arrow::Schema>> ToArrow(const Schema& schema);

}  // namespace lake::format
