#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/column_metadata_internal.h"
#include "lake/format/column_tree_internal.h"
#include "lake/format/file_reader.h"
#include "lake/format/metadata_cache.h"
#include "lake/format/page_decoder_internal.h"
#include "lake/storage/object_store.h"

namespace lake::format {

/// Where the bytes of one file come from. A plain value.
struct FileSource {
  std::shared_ptr<storage::ObjectStore> store;
  std::string key;
  FileVersion version;
};

/// What the pages of a file have in memory between reads, by column and page.
using PageStateCache = FileCache<PageState>;

/// One call of FileReader::Read or Fetch: the wanted fields, their leaves, and the pages these are
/// read from. All pages share two rounds of requests: what must be known to locate the rows, then
/// the rows. Used by one thread at a time, once.
class ReadCall {
 public:
  ReadCall(const Context& context, const FileSource& source, PageStateCache* states,
           RowSelection selection)
      : context_(context), source_(source), states_(states), selection_(std::move(selection)) {}

  /// Adds a field of the output. kInvalidArgument if the request does not have one column for each
  /// leaf; kUnsupported, by name, for a type that is not read.
  Status AddField(const ColumnRequest& request);

  /// The columns that the fields need, without those that are missing in the file.
  std::vector<uint32_t> Columns() const;

  /// The leaves in Columns().
  std::vector<const LeafColumn*> PresentLeaves() const;

  /// Reads what the rows of all fields lie in. `metadata` goes with Columns().
  Status Fetch(std::span<const std::shared_ptr<const ColumnMetadata>> metadata);
  /// The bytes that Fetch read.
  uint64_t fetched_bytes() const { return state_reads_.num_bytes() + data_reads_.num_bytes(); }
  /// Decodes the rows of all fields. REQUIRES: Fetch succeeded.
  Result<std::shared_ptr<arrow::RecordBatch>> Decode();

 private:
  struct PageEntry {
    uint64_t state_key;
    size_t index;
    std::unique_ptr<PageDecoder> read;
    std::shared_ptr<const PageState> cached;
  };
  Status PlanLeaf(const std::shared_ptr<const ColumnMetadata>& metadata, size_t leaf);
  Result<DecodedLeaf> DecodeLeaf(size_t leaf);
  /// Runs `step` on every page, with the page's place in its errors.
  template <typename Step>
  Status ForEachPage(size_t leaf, Step step);
  std::string Place(const LeafColumn& leaf, size_t page) const;

  const Context context_;
  const FileSource& source_;
  PageStateCache* const states_;
  const RowSelection selection_;
  std::vector<ColumnTree> outputs_;
  std::vector<LeafColumn> leaves_;
  // The wanted pages of each leaf.
  std::vector<std::vector<PageEntry>> pages_;
  RangeReads state_reads_;
  RangeReads data_reads_;
};

}  // namespace lake::format
