#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "lake/base/context.h"
#include "lake/format/container.h"
#include "lake/format/reading_floor.h"
#include "lake/format/schema.h"
#include "lake/format/version.h"
#include "lake/storage/object_store.h"

namespace lake::format {

/// A buffer of a page with what it is for, such as "chunks" or "dictionary".
struct BufferDescription {
  std::string role;
  ByteRange range;
};

struct PageDescription {
  uint64_t first_row = 0;
  uint64_t num_rows = 0;
  /// "mini-block", "constant", "full-zip", "sparse", or "blob: " and the layout of the page inside;
  /// "array" in a file of version 2.0.
  std::string layout;
  /// How the values are encoded, from the outside in, such as "fsst(variable(flat(32)))".
  std::string encoding;
  /// The same for the dictionary and the levels; empty where there are none.
  std::string dictionary;
  std::string repetition;
  std::string definition;
  /// Layers of nesting from the leaf outwards, such as "nullable item".
  std::vector<std::string> layers;
  /// Of a mini-block page, else 0.
  uint64_t num_chunks = 0;
  uint64_t num_dictionary_items = 0;
  std::vector<BufferDescription> buffers;

  uint64_t num_bytes() const;
};

struct ColumnDescription {
  /// Path of the field that owns the column, such as "point.x"; empty if no field does.
  std::string field;
  int32_t field_id = -1;
  std::string logical_type;
  bool nullable = true;
  std::vector<PageDescription> pages;
  /// Why the pages could not be described: an encoding of another version.
  std::string problem;

  uint64_t num_bytes() const;
};

/// All that a Lance file says about itself, without its values.
struct FileDescription {
  std::string key;
  FileVersion version;
  uint64_t file_size = 0;
  uint64_t num_rows = 0;
  Schema schema;
  std::vector<ColumnDescription> columns;
  std::vector<ByteRange> global_buffers;
};

/// The oldest Lance that reads the file, by its version, types and encodings.
ReadingFloor FloorOf(const FileDescription& file);

/// Describes `key` in `store`. Reads metadata only, memory is bounded by the file's size. kCorrupt
/// and kUnsupported as FileReader::Open; field types that are not read are described all the same.
Result<FileDescription> InspectFile(const Context& context, storage::ObjectStore* store,
                                    const std::string& key);

/// For people: several lines, each with a line end.
std::string ToText(const FileDescription& file);

/// {"lance": "3.0" (null: no release is known), "reasons": [...]}
boost::json::object ToJson(const ReadingFloor& floor);

/// For programs: {"kind": "file", ...} with the members above under their names. A metadata value
/// that is not UTF-8 is written as "hex:" and its digits.
boost::json::object ToJson(const FileDescription& file);

}  // namespace lake::format
