#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/compute/expression.h>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"
#include "lake/table/base_stores.h"
#include "lake/table/manifest.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace lake::table {

class Scanner;

struct OpenOptions {
  /// Open this version; kNotFound if it does not exist.
  std::optional<uint64_t> version;
  /// Open, walking down from the newest, the first retained version with a manifest time at or
  /// before this (nanoseconds since 1970 UTC); kNotFound names the oldest.
  std::optional<int64_t> as_of_nanos;
  /// Open the version, of the main line or of a branch, that the tag names. Only one of version,
  /// time and tag may be set, and no branch beside a tag.
  std::optional<std::string> tag;
  /// Open the newest version of this branch, or the one that version or time asks for.
  std::optional<std::string> branch;
  /// Opens folders outside of the table's own that its files lie in: those of a shallow clone.
  /// Without it they are refused by name.
  BaseOpener open_base;
};

struct VersionInfo {
  uint64_t version = 0;
  int64_t timestamp_nanos = 0;
  uint64_t num_rows = 0;
  std::string operation;  ///< "append", "overwrite", ... or "unknown"
};

/// The address of a row: fragment id in the high 32 bits, physical row in the low ones.
using RowAddress = uint64_t;

enum class Prefetch {
  kAuto,  ///< Where reads turn out to wait for storage.
  kAlways,
  kNever,
};

/// What a scan reads. Column names are top-level names, compared byte for byte.
struct ScanOptions {
  /// Output columns in this order; nothing means all. Besides the table's own: `_rowid`, `_rowaddr`
  /// and, in tables with stable row ids, `_row_created_at_version` and
  /// `_row_last_updated_at_version`.
  std::optional<std::vector<std::string>> columns;
  /// Rows to keep: a boolean expression over top-level columns, those that are not the table's own
  /// among them, by Arrow's semantics (null drops the row). Its columns need not be in `columns`.
  std::optional<arrow::compute::Expression> filter;
  /// At most this many rows over all morsels. A bound on work, not an order.
  std::optional<uint64_t> limit;
  /// Adds a uint64 column `_rowaddr` behind the others.
  bool with_row_address = false;
  /// Rows of a morsel at most; a morsel never spans fragments.
  uint64_t morsel_rows = 128 * 1024;
  /// Columns of text and bytes that are not in the filter may come as dictionary arrays, where the
  /// file has a dictionary: their batches' schemas say so. Indices are uint32; batches with the
  /// same values share them.
  bool keep_dictionaries = false;
  /// If the bytes of the next morsels are read while one is decoded.
  Prefetch prefetch = Prefetch::kAuto;
};

/// One version of a Lance table in a folder of a store. Immutable and thread-safe.
/// Does not know names or catalogs: that is lake/catalog and lake/commit.
class Dataset {
 public:
  /// Opens the newest version, or the one that `options` asks for. The newest version is what a
  /// listing of
  /// `_versions/` says; a folder without one is kNotFound. Tables with unknown reader flags are
  /// kUnsupported. `store` is rooted at the table's folder.
  static Result<std::shared_ptr<Dataset>> Open(const Context& context,
                                               std::shared_ptr<storage::ObjectStore> store,
                                               const OpenOptions& options = {});
  virtual ~Dataset() = default;

  /// The newest version of the same line (main or branch), or `version` of it, with the same ways
  /// to folders outside of the table's own.
  virtual Result<std::shared_ptr<Dataset>> Reopen(const Context& context,
                                                  std::optional<uint64_t> version = {}) const = 0;

  virtual const Manifest& manifest() const = 0;
  virtual std::shared_ptr<const Manifest> shared_manifest() const = 0;
  /// Rooted at the folder of this line of versions: where its commits go.
  virtual const std::shared_ptr<storage::ObjectStore>& store() const = 0;
  /// Rooted at the table's folder: where tags and branches lie. The same but for a branch.
  virtual const std::shared_ptr<storage::ObjectStore>& root_store() const = 0;
  /// Nothing: the main line.
  virtual const std::optional<std::string>& branch() const = 0;
  /// Where the files of this version lie.
  virtual const std::shared_ptr<BaseStores>& bases() const = 0;
  virtual ManifestNaming naming() const = 0;
  virtual const std::shared_ptr<arrow::Schema>& arrow_schema() const = 0;

  /// Rows that are not deleted; from the manifest alone where it says so.
  virtual Result<uint64_t> CountRows(const Context& context) const = 0;

  /// All retained versions, oldest first.
  virtual Result<std::vector<VersionInfo>> Versions(const Context& context) const = 0;

  virtual Result<std::shared_ptr<Scanner>> Scan(const Context& context,
                                                ScanOptions options) const = 0;

  /// Rows by address, in the order of `addresses`, repetitions allowed. An address that is out of
  /// range or deleted is kNotFound. `columns` as those of a scan.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Take(
      const Context& context, std::span<const RowAddress> addresses,
      const std::vector<std::string>& columns) const = 0;
};

/// A planned scan: morsels that any number of threads read, each on its own. Thread-safe.
class Scanner {
 public:
  virtual ~Scanner() = default;

  /// The schema of all batches.
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual size_t num_morsels() const = 0;
  /// Physical rows of a morsel before the filter.
  virtual uint64_t morsel_rows(size_t morsel) const = 0;
  /// About the bytes that a batch takes.
  virtual uint64_t morsel_bytes() const = 0;

  /// Reads, filters and projects morsel number `morsel`. Returns no batch (null) when the limit was
  /// reached by others. Rows are in physical order. The filter's columns are read first, the other
  /// columns only for surviving rows. Morsels are best read in ascending order: what comes next may
  /// be read ahead, a bounded number of bytes of it.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Read(const Context& context,
                                                           size_t morsel) = 0;
};

}  // namespace lake::table
