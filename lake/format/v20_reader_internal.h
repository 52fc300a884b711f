#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "lake/base/context.h"
#include "lake/format/container.h"
#include "lake/format/file_reader.h"
#include "lake/format/metadata_cache.h"
#include "lake/format/read_call_internal.h"
#include "lake/format/v20_array_internal.h"
#include "lake/format/v20_column_internal.h"

namespace lake::format {

/// Reads the columns of a file of version 2.0, behind a FileReader. Keeps column metadata and
/// dictionaries. Thread-safe.
class V20Reader {
 public:
  /// `tail`, if not null, is the end of the file from `tail_start` on. Buffers of pages end before
  /// `data_end`.
  V20Reader(FileSource source, std::vector<ByteRange> column_table, uint64_t data_end,
            uint64_t num_rows, std::shared_ptr<arrow::Buffer> tail, uint64_t tail_start);

  /// As FileReader::Read. REQUIRES: `selection` ends within num_rows.
  Result<std::shared_ptr<arrow::RecordBatch>> Read(const Context& context,
                                                   std::span<const ColumnRequest> columns,
                                                   const RowSelection& selection);
  /// As FileReader::EstimateBytes.
  Result<uint64_t> EstimateBytes(const Context& context, std::span<const ColumnRequest> columns,
                                 uint64_t count);

 private:
  Result<std::vector<std::shared_ptr<const V20Column>>> LoadColumns(
      const Context& context, std::span<const uint32_t> columns);

  const FileSource source_;
  const std::vector<ByteRange> column_table_;
  const uint64_t data_end_;
  const uint64_t num_rows_;
  const std::shared_ptr<arrow::Buffer> tail_;
  const uint64_t tail_start_;
  FileCache<V20Column> metadata_;
  V20DictionaryCache dictionaries_;
};

}  // namespace lake::format
