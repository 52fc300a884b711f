#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/schema.h"
#include "lake/format/version.h"

namespace arrow {
class Buffer;
}

namespace lake::table {

/// A data file of a fragment, as the manifest lists it.
struct DataFile {
  /// Relative to the data folder.
  std::string path;
  /// Field ids; a negative id means that the column is dead.
  std::vector<int32_t> field_ids;
  /// The column that holds each field; -1 for parents (older writers list them). Empty in files of
  /// before version 2.0, else as many as field_ids.
  std::vector<int32_t> column_indices;
  format::FileVersion version;
  /// 0 where unknown.
  uint64_t size_bytes = 0;
  /// Set if the file lies in another base folder: kUnsupported to read for now.
  std::optional<uint32_t> base_id;
  /// What the message holds that lake does not know, serialized.
  std::string unknown_fields;
};

/// Rows of a fragment that are deleted. Path: `_deletions/<fragment>-<read
/// version>-<id>.(arrow|bin)`.
struct DeletionFile {
  enum class Kind { kArrow, kBitmap };
  Kind kind = Kind::kArrow;
  uint64_t read_version = 0;
  uint64_t id = 0;
  /// 0 where unknown.
  uint64_t num_deleted_rows = 0;
  std::optional<uint32_t> base_id;
  std::string unknown_fields;
};

struct Fragment {
  uint64_t id = 0;
  std::vector<DataFile> files;
  std::optional<DeletionFile> deletion_file;
  /// Rows including deleted ones. 0 in very old tables: then the data file says it.
  uint64_t physical_rows = 0;
  /// Only with stable row ids: sequences as docs/format/row_ids.md has them, undecoded. Null where
  /// the manifest does not hold them inline.
  std::shared_ptr<const std::string> row_ids;
  std::shared_ptr<const std::string> created_at_versions;
  std::shared_ptr<const std::string> last_updated_at_versions;
  std::string unknown_fields;
};

/// Another folder that files of a table may lie in.
struct BasePath {
  uint32_t id = 0;
  std::optional<std::string> name;
  /// Files lie under `data/`, `_deletions/` and `_indices/` of `path`; else directly in it.
  bool is_dataset_root = false;
  std::string path;
};

/// Feature flags of a manifest. Facts: docs/format/manifest.md.
inline constexpr uint64_t kFlagDeletionFiles = 1;
inline constexpr uint64_t kFlagStableRowIds = 2;
inline constexpr uint64_t kFlagUseV2Format = 4;
inline constexpr uint64_t kFlagTableConfig = 8;
inline constexpr uint64_t kFlagBasePaths = 16;
inline constexpr uint64_t kFlagMixedFileVersions = 256;

/// How the manifests of a table are named.
enum class ManifestNaming {
  kV1,  ///< `<version>.manifest`
  kV2,  ///< `<2^64 - 1 - version, 20 digits>.manifest`
};

/// One version of a table: an immutable view of a manifest. Unknown fields of the message survive
/// into manifests that are built from this one. Thread-safe.
class Manifest {
 public:
  /// Decodes the bytes of a manifest file. kCorrupt names `key` and the reason. Does not look at
  /// the feature flags: see CheckReadable.
  static Result<std::shared_ptr<const Manifest>> Decode(const arrow::Buffer& bytes,
                                                        const std::string& key);
  virtual ~Manifest() = default;

  virtual uint64_t version() const = 0;
  /// Nanoseconds since 1970 UTC; versions need not be in the order of their times.
  virtual int64_t timestamp_nanos() const = 0;
  virtual const format::Schema& schema() const = 0;
  /// Ascending by id.
  virtual const std::vector<Fragment>& fragments() const = 0;
  virtual uint64_t reader_flags() const = 0;
  virtual uint64_t writer_flags() const = 0;
  /// Highest fragment id ever used; nothing if no fragment ever was.
  virtual std::optional<uint32_t> max_fragment_id() const = 0;
  /// File version of new data files.
  virtual format::FileVersion file_version() const = 0;
  virtual const std::map<std::string, std::string>& config() const = 0;
  virtual const std::map<std::string, std::string>& table_metadata() const = 0;
  virtual std::vector<BasePath> base_paths() const = 0;
  /// The first stable row id that was never given; 0 without stable row ids.
  virtual uint64_t next_row_id() const = 0;
  bool has_stable_row_ids() const { return (reader_flags() & kFlagStableRowIds) != 0; }
  /// Name under `_transactions/`; empty if there is none.
  virtual const std::string& transaction_file() const = 0;
  /// Who wrote it, such as "lance 14.0.2"; for `inspect`.
  virtual std::string writer() const = 0;
};

/// The highest number that a version can have: those above are detached, no part of the history.
inline constexpr uint64_t kLastVersion = (1ull << 63) - 1;

/// The fragment of that id; null if the version has none. Borrowed from the manifest.
const Fragment* FindFragment(const Manifest& manifest, uint64_t id);

/// True if the files hold the same columns of the same rows.
bool SameFile(const DataFile& a, const DataFile& b);
bool SameFiles(const Fragment& a, const Fragment& b);
/// True if the same deletion file stands beside both, or none.
bool SameDeletions(const Fragment& a, const Fragment& b);

/// The file name of a version's manifest.
std::string ManifestName(uint64_t version, ManifestNaming naming);

/// The version that `name` stands for, if it parses exactly as a manifest name of either naming.
struct ParsedManifestName {
  uint64_t version;
  ManifestNaming naming;
};
std::optional<ParsedManifestName> ParseManifestName(std::string_view name);

/// The names of the flags that are set, such as "deletion files"; one that lake does not know is
/// "unknown to lake (512)".
std::vector<std::string> FlagNames(uint64_t flags);

/// Rows of a version that are not deleted, as far as its manifest tells.
uint64_t KnownRows(const Manifest& manifest);

/// OK if this lake can read the version; else kUnsupported naming the flag.
Status CheckReadable(const Manifest& manifest, const std::string& table);
/// OK if this lake can commit on top of the version; else kUnsupported naming the flag.
Status CheckWritable(const Manifest& manifest, const std::string& table);
/// The version of data files that are added to the table: its own, if lake writes such; 2.2 where
/// files of several versions are allowed; else kUnsupported, naming its version and the ways out.
/// Errors of CheckWritable.
Result<format::FileVersion> VersionOfNewFiles(const Manifest& manifest, const std::string& table);

/// The config key by which a table's owner lets it hold files of several versions. The first of
/// another version sets flag 256, which Lance knows from version 12 on.
inline constexpr char kMixedFileVersionsConfig[] = "lake.mixed_file_versions";
bool MayMixFileVersions(const Manifest& manifest);

}  // namespace lake::table
