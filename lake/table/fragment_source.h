#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <arrow/type_fwd.h>

#include "lake/base/context.h"
#include "lake/base/mutex.h"
#include "lake/format/file_reader.h"
#include "lake/format/lru_cache.h"
#include "lake/format/row_selection.h"
#include "lake/format/schema.h"
#include "lake/storage/object_store.h"
#include "lake/table/base_stores.h"
#include "lake/table/deletion_vector.h"
#include "lake/table/manifest.h"

namespace lake::table {

struct FragmentRowIds;

/// What to read from one file of a fragment, and where its columns go in the output.
struct FileColumnsRequest {
  std::vector<format::ColumnRequest> columns;
  std::vector<size_t> outputs;
};

/// Rows of a fragment whose bytes were read and are not decoded yet. Used by one thread at a time.
class FetchedFragment {
 public:
  /// The bytes that were read, about.
  uint64_t bytes() const;
  /// What FragmentSource::Read gives. Once.
  Result<std::shared_ptr<arrow::RecordBatch>> Decode(const Context& context);

 private:
  friend class FragmentSource;

  /// The part that one of the fragment's files holds.
  struct Part {
    std::unique_ptr<format::FetchedRows> rows;
    FileColumnsRequest request;
    format::FileVersion version;
  };

  std::vector<const format::Field*> fields_;
  uint64_t num_rows_ = 0;
  std::vector<Part> parts_;
};

/// Reads the rows of a version's fragments, in whichever of a fragment's files the columns lie.
/// Files and deletion files are opened at first use and kept, files up to a bound; files that this
/// process has opened for another version before come from TableCache. Thread-safe.
class FragmentSource {
 public:
  FragmentSource(std::shared_ptr<BaseStores> bases, std::shared_ptr<const Manifest> manifest);

  const Manifest& manifest() const { return *manifest_; }

  /// Rows of a fragment, deleted ones included. From the manifest, or from a file where it is
  /// silent.
  Result<uint64_t> PhysicalRows(const Context& context, const Fragment& fragment);

  /// About the bytes that a row of `fields` takes in memory (row_bytes.h). From the manifest, or
  /// from the files where it does not say how large they are. `physical_rows`: as PhysicalRows
  /// gives.
  Result<uint64_t> RowBytes(const Context& context, const Fragment& fragment,
                            uint64_t physical_rows, const arrow::FieldVector& fields);

  /// True if a file of the fragment holds some of a top-level field; else the field is null in all
  /// of its rows.
  static bool HasField(const Fragment& fragment, const format::Field& field);

  /// Deleted rows of a fragment; empty if it has no deletion file. `fragment` is one of manifest().
  Result<std::shared_ptr<const DeletionVector>> Deletions(const Context& context,
                                                          const Fragment& fragment);

  /// The stable row ids and versions of a fragment's rows; those of the fragments that were asked
  /// for last are kept. As FragmentRowIds::Of.
  Result<std::shared_ptr<const FragmentRowIds>> RowIds(const Context& context,
                                                       const Fragment& fragment);

  /// Rows `rows` (physical, deleted or not) of top-level fields of the manifest's schema. A column
  /// that no file of the fragment holds is null. With no fields the batch has only a row count.
  Result<std::shared_ptr<arrow::RecordBatch>> Read(const Context& context, const Fragment& fragment,
                                                   std::span<const format::Field* const> fields,
                                                   const format::RowSelection& rows);

  /// The part of Read that waits for storage. With `keep_dictionaries` columns of text and bytes
  /// may come as dictionary arrays (format::ColumnRequest). `fields` outlive what is returned.
  Result<std::unique_ptr<FetchedFragment>> Fetch(const Context& context, const Fragment& fragment,
                                                 std::span<const format::Field* const> fields,
                                                 const format::RowSelection& rows,
                                                 bool keep_dictionaries = false);

 private:
  struct OpenFile {
    Mutex mutex;
    std::shared_ptr<format::FileReader> reader LAKE_GUARDED_BY(mutex);
  };
  struct CachedFile {
    std::shared_ptr<OpenFile> file;
    std::list<std::string>::iterator recency;
  };
  struct LoadedDeletions {
    Mutex mutex;
    std::shared_ptr<const DeletionVector> vector LAKE_GUARDED_BY(mutex);
  };

  Result<std::shared_ptr<format::FileReader>> Open(const Context& context, const DataFile& file);
  std::shared_ptr<OpenFile> Slot(const std::string& key) LAKE_EXCLUDES(files_mutex_);
  Result<std::shared_ptr<const DeletionVector>> LoadDeletions(const Context& context,
                                                              const Fragment& fragment);

  const std::shared_ptr<BaseStores> bases_;
  const std::shared_ptr<const Manifest> manifest_;
  /// One per fragment, in the manifest's order.
  std::vector<LoadedDeletions> deletions_;
  /// By fragment id.
  format::LruCache<uint64_t, const FragmentRowIds> row_ids_;

  Mutex files_mutex_;
  std::unordered_map<std::string, CachedFile> files_ LAKE_GUARDED_BY(files_mutex_);
  /// Keys of files_, the one used last in front.
  std::list<std::string> recency_ LAKE_GUARDED_BY(files_mutex_);
};

}  // namespace lake::table
