#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/leaf_encoding.h"
#include "lake/format/page_data.h"
#include "lake/format/schema.h"

namespace lake::format {

/// One field on the way from a column of a batch down to a leaf.
struct PathStep {
  enum class Kind { kStruct, kList, kFixedSizeList };
  Kind kind = Kind::kStruct;
  bool nullable = true;
  /// Of a struct, the position of the field to go to.
  int child = 0;
  /// Of a fixed-size list.
  int64_t dimension = 1;
  std::string path;
};

/// A column of a 2.1+ file: a leaf of the schema with the way that leads to it.
struct LeafPath {
  size_t top_level = 0;
  /// From the outermost.
  std::vector<PathStep> steps;
  /// Borrowed from the schema.
  const Field* field = nullptr;
  std::string path;
  ValueShape shape;
  LevelShape levels;
  /// Slots of a row: more than one below fixed-size lists of structs.
  int64_t slots_per_row = 1;
  LeafEncoding encoding;
};

/// The columns of a file of `schema` and `version`, in order. kUnsupported, by column, for what is
/// not written; kInvalidArgument for metadata that asks for an unknown encoding. `schema` outlives
/// them.
Result<std::vector<LeafPath>> LeafPathsOf(const Schema& schema, const FileVersion& version);

}  // namespace lake::format
