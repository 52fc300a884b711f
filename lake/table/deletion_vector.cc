#include "lake/table/deletion_vector.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>

namespace lake::table {

void DeletionVector::Append(uint32_t first, uint32_t last) {
  num_deleted_ += uint64_t{last} - first + 1;
  if (!runs_.empty() && uint64_t{runs_.back().last} + 1 == first) {
    runs_.back().last = last;
  } else {
    runs_.push_back({first, last});
  }
}

std::vector<DeletionVector::Run>::const_iterator DeletionVector::FindRun(uint64_t row) const {
  return std::lower_bound(runs_.begin(), runs_.end(), row,
                          [](const Run& run, uint64_t row) { return run.last < row; });
}

bool DeletionVector::Contains(uint64_t row) const {
  auto run = FindRun(row);
  return run != runs_.end() && run->first <= row;
}

format::RowSelection DeletionVector::Survivors(uint64_t start, uint64_t count) const {
  format::RowSelection survivors;
  const uint64_t end = start + count;
  uint64_t next = start;
  for (auto run = FindRun(start); run != runs_.end() && run->first < end; ++run) {
    if (run->first > next) survivors.Append(next, run->first - next);
    next = uint64_t{run->last} + 1;
  }
  if (next < end) survivors.Append(next, end - next);
  return survivors;
}

Result<DeletionVector> DeletionVector::FromArrowFile(const Context& context, std::string_view bytes,
                                                     uint64_t physical_rows,
                                                     const std::string& key) {
  auto corrupt = [&](std::string_view reason) {
    return Error(ErrorCode::kCorrupt, "deletion file cannot be read: {}: {}", key, reason);
  };
  // The file says how large its decompressed body is: hold it to what the rows can need.
  constexpr int64_t kSlack = 1 << 20;
  arrow::ProxyMemoryPool own(context.pool());  // the cap counts this file's bytes alone
  arrow::CappedMemoryPool pool(
      &own, static_cast<int64_t>(2 * bytes.size() + 2 * sizeof(uint32_t) * physical_rows) + kSlack);
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = &pool;
  options.use_threads = false;
  arrow::io::BufferReader source(std::make_shared<arrow::Buffer>(bytes));
  auto opened = arrow::ipc::RecordBatchFileReader::Open(&source, options);
  if (!opened.ok()) return corrupt(opened.status().message());
  arrow::ipc::RecordBatchFileReader& reader = **opened;

  std::vector<uint32_t> rows;
  for (int i = 0; i < reader.num_record_batches(); ++i) {
    auto read = reader.ReadRecordBatch(i);
    if (!read.ok()) return corrupt(read.status().message());
    const arrow::RecordBatch& batch = **read;
    if (batch.num_columns() != 1 || batch.column(0)->type_id() != arrow::Type::UINT32) {
      return corrupt("it has not one column of 32-bit row numbers");
    }
    Status valid = batch.ValidateFull();
    if (!valid.ok()) return corrupt(valid.message());
    const auto& column = static_cast<const arrow::UInt32Array&>(*batch.column(0));
    if (column.null_count() != 0) return corrupt("a row number is null");
    if (rows.size() + column.length() > physical_rows) {
      return corrupt("it has more rows than the fragment");
    }
    rows.insert(rows.end(), column.raw_values(), column.raw_values() + column.length());
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  if (!rows.empty() && rows.back() >= physical_rows) {
    return corrupt(fmt::format("row {} is none of the fragment's {}", rows.back(), physical_rows));
  }
  DeletionVector vector;
  for (uint32_t row : rows) vector.Append(row, row);
  return vector;
}

}  // namespace lake::table
