#include "lake/format/v20_reader_internal.h"

#include <algorithm>
#include <string_view>

#include <arrow/buffer.h>
#include <arrow/record_batch.h>

#include "lake/base/checked.h"
#include "lake/format/load_columns_internal.h"
#include "lake/format/v20_read_call_internal.h"

namespace lake::format {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 60;

// How much larger values are in memory than in their buffers.
uint64_t Growth(const pb::ArrayEncoding& encoding) {
  const pb::ArrayEncoding& inner = WithoutNoNulls(encoding);
  if (inner.has_fsst()) return 3;
  if (inner.has_bitpacked() || inner.has_bitpacked_for_non_neg() || inner.has_dictionary()) {
    return 8;
  }
  if (inner.has_binary() && WithoutNoNulls(inner.binary().bytes()).flat().has_compression()) {
    return 4;
  }
  return 1;
}

// Bytes that a column takes in memory for each row of the file, in 1/256.
uint64_t EstimateRowSize(const V20Column& column, uint64_t num_rows) {
  uint64_t total = 0;
  for (const V20Page& page : column.pages) {
    uint64_t bytes = 0;
    for (const ByteRange& buffer : page.buffers) bytes += std::min(buffer.length, kMostBytes >> 8);
    // A page without buffers is all null: its values take memory all the same.
    bytes = std::max(bytes * Growth(page.encoding), std::min(page.num_values, kMostBytes >> 8));
    total = std::min(total + bytes, kMostBytes >> 8);
  }
  return total * 256 / std::max<uint64_t>(num_rows, 1);
}

}  // namespace

V20Reader::V20Reader(FileSource source, std::vector<ByteRange> column_table, uint64_t data_end,
                     uint64_t num_rows, std::shared_ptr<arrow::Buffer> tail, uint64_t tail_start)
    : source_(std::move(source)),
      column_table_(std::move(column_table)),
      data_end_(data_end),
      num_rows_(num_rows),
      tail_(std::move(tail)),
      tail_start_(tail_start) {}

Result<std::vector<std::shared_ptr<const V20Column>>> V20Reader::LoadColumns(
    const Context& context, std::span<const uint32_t> columns) {
  return format::LoadColumns(
      context, source_, column_table_, {tail_, tail_start_}, columns, &metadata_,
      [this](std::string_view bytes) { return V20Column::DecodeFrom(bytes, data_end_); });
}

Result<std::shared_ptr<arrow::RecordBatch>> V20Reader::Read(const Context& context,
                                                            std::span<const ColumnRequest> columns,
                                                            const RowSelection& selection) {
  V20ReadCall call(context, source_, &dictionaries_, num_rows_, selection);
  for (const ColumnRequest& request : columns) ARROW_RETURN_NOT_OK(call.AddField(request));
  ARROW_ASSIGN_OR_RAISE(const auto metadata, LoadColumns(context, call.Columns()));
  ARROW_RETURN_NOT_OK(call.Fetch(metadata));
  return call.Decode();
}

Result<uint64_t> V20Reader::EstimateBytes(const Context& context,
                                          std::span<const ColumnRequest> columns, uint64_t count) {
  const RowSelection none;
  V20ReadCall call(context, source_, &dictionaries_, num_rows_, none);
  for (const ColumnRequest& request : columns) ARROW_RETURN_NOT_OK(call.AddField(request));
  ARROW_ASSIGN_OR_RAISE(const auto metadata, LoadColumns(context, call.Columns()));
  uint64_t total = 0;
  for (const auto& column : metadata) {
    total += CheckedMul(EstimateRowSize(*column, num_rows_), count).value_or(kMostBytes) / 256;
    total = std::min(total, kMostBytes);
  }
  return total;
}

}  // namespace lake::format
