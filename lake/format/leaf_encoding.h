#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/schema.h"
#include "lake/format/version.h"

namespace lake::format {

/// What the writer of a leaf is told by the file's version and by field metadata
/// (docs/format/writing.md lists the keys).
struct LeafEncoding {
  enum class Compression { kDefault, kNone, kFsst, kLz4, kZstd };
  enum class Switch { kAuto, kOn, kOff };
  enum class Layout { kDefault, kMiniBlock, kFullZip };

  FileVersion version = kFileVersion22;
  Compression compression = Compression::kDefault;
  std::optional<int> compression_level;
  Switch byte_stream_split = Switch::kAuto;
  /// Runs per value below which runs are written, if given; else by size.
  std::optional<double> run_threshold;
  Layout layout = Layout::kDefault;
  /// At most one distinct value per so many.
  double dictionary_divisor = 2;
  /// What a dictionary may leave of the size. It costs a look-up per value when read, so it must
  /// save something.
  double dictionary_ratio = 0.9;
  Compression dictionary_compression = Compression::kDefault;
  std::optional<int> dictionary_compression_level;
  /// Of a packed struct: those of its fields, whose own metadata alone counts.
  std::vector<LeafEncoding> fields;

  bool has_general_compression() const {
    return compression == Compression::kLz4 || compression == Compression::kZstd;
  }

  /// Reads the metadata of a leaf, below that of its column: the leaf's own wins.
  /// kInvalidArgument, naming `path`, key and value, for a value that a key does not have.
  static Result<LeafEncoding> From(const std::map<std::string, std::string>& column_metadata,
                                   const std::map<std::string, std::string>& leaf_metadata,
                                   const std::string& path, const FileVersion& version);
};

}  // namespace lake::format
