#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/column_metadata_internal.h"
#include "lake/format/leaf_builder.h"
#include "lake/format/leaf_type.h"
#include "lake/format/level_scheme_internal.h"
#include "lake/format/row_selection.h"
#include "lake/storage/object_store.h"

namespace arrow {
class Array;
}

namespace lake::format {

/// Byte ranges of one file, gathered from many pages so that one request reads them all.
class RangeReads {
 public:
  /// Asks for `range`; Get with the returned number gives its bytes after Fetch.
  size_t Add(ByteRange range);
  /// Reads everything that was added.
  Status Fetch(const Context& context, storage::ObjectStore* store, const std::string& key);
  /// REQUIRES: Fetch succeeded after Add.
  std::string_view Get(size_t number) const;
  /// The same, to be kept beyond this object.
  const std::shared_ptr<arrow::Buffer>& GetBuffer(size_t number) const { return buffers_[number]; }
  /// Of all that was added.
  uint64_t num_bytes() const { return num_bytes_; }

 private:
  std::vector<ByteRange> ranges_;
  uint64_t num_bytes_ = 0;
  std::vector<std::shared_ptr<arrow::Buffer>> buffers_;
};

/// What a page needs in memory before rows can be found in it, kept between reads: tables of
/// chunks, dictionaries, symbol tables. Immutable.
class PageState {
 public:
  explicit PageState(LeafType type) : type_(std::move(type)) {}
  virtual ~PageState() = default;

  /// What the page was decoded for: a state serves only reads of the same type.
  const LeafType& type() const { return type_; }
  /// Bytes that it takes, about.
  virtual size_t MemoryUse() const = 0;

 private:
  const LeafType type_;
};

/// Memory that decoding one column uses over and over.
struct DecodeScratch {
  std::vector<uint16_t> levels;
  std::vector<uint16_t> repetition;
  std::vector<uint16_t> visible;
  std::vector<uint32_t> indices;
  std::vector<uint32_t> ends;
  std::vector<uint8_t> words;
  std::vector<uint8_t> decompressed;
  std::vector<RowRange> ranges;
  std::vector<RowRange> entries;
};

/// One page, and the rows that are wanted of it.
struct PageTask {
  /// Keeps `page` alive.
  std::shared_ptr<const ColumnMetadata> column;
  const PageMetadata* page = nullptr;
  LeafType type;
  LevelScheme levels;
  /// Numbered from the page's first row; not empty.
  RowSelection rows;
  arrow::MemoryPool* pool = nullptr;

  bool whole_page() const { return rows.num_rows() == page->num_rows; }
};

/// Decodes one page within one call of FileReader::Read. Steps: PlanState, fetch, PlanData, fetch,
/// Decode. Every method gives kCorrupt or kUnsupported with the reason; the caller adds file,
/// column and page. Used by one thread.
class PageDecoder {
 public:
  virtual ~PageDecoder() = default;

  /// Asks for what must be known before the wanted rows can be located. `cached` is what state()
  /// gave in an earlier read of this page, or null.
  virtual Status PlanState(std::shared_ptr<const PageState> cached, RangeReads* reads) = 0;
  /// Asks for the bytes that hold the wanted rows.
  virtual Status PlanData(const RangeReads& state, RangeReads* reads) = 0;
  /// Appends the wanted rows, values and validity, to `builder`.
  virtual Status Decode(const RangeReads& state, const RangeReads& data, DecodeScratch* scratch,
                        LeafBuilder* builder) = 0;
  /// What is worth keeping for later reads, after PlanData; null if nothing is.
  virtual std::shared_ptr<const PageState> state() const { return nullptr; }
  /// The values of a page of text or bytes with a dictionary, after PlanData, if Decode can append
  /// indices into it to a builder that takes them; else null. The same array for each read of the
  /// page while its state is kept.
  virtual std::shared_ptr<arrow::Array> dictionary() const { return nullptr; }
};

/// Makes the decoder for the layout of `task.page`; kUnsupported, by name, for a layout that is not
/// read. Fills in `task.levels`; `nesting` is what is around the leaf.
Result<std::unique_ptr<PageDecoder>> MakePageDecoder(PageTask task, const Nesting& nesting);

Result<std::unique_ptr<PageDecoder>> MakeMiniBlockDecoder(PageTask task);
Result<std::unique_ptr<PageDecoder>> MakeFullZipDecoder(PageTask task);
Result<std::unique_ptr<PageDecoder>> MakeConstantDecoder(PageTask task);
Result<std::unique_ptr<PageDecoder>> MakeBlobDecoder(PageTask task);

}  // namespace lake::format
