#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <duckdb.hpp>
#include <duckdb/common/serializer/memory_stream.hpp>
#include <duckdb/common/types/column/column_data_collection.hpp>

#include "lake/query/spill_file.h"

namespace lake::query {

/// Rows that wait on disk.
struct SpilledRows {
  /// REQUIRES: of the same file.
  void Add(const SpilledRows& other) {
    extents.insert(extents.end(), other.extents.begin(), other.extents.end());
    num_rows += other.num_rows;
    num_bytes += other.num_bytes;
  }

  std::shared_ptr<SpillFile> file;
  std::vector<SpillFile::Extent> extents;
  uint64_t num_rows = 0;
  uint64_t num_bytes = 0;
};

/// Distributes rows over partitions on disk, by a hash. DuckDB's own partitions each keep
/// blocks of 256 KiB in memory; these share one buffer, however many they are. Throws DuckDB
/// exceptions. Not thread-safe.
class RowPartitioner {
 public:
  static constexpr size_t kPartitions = 128;
  /// Levels that look at different bits of the hash: 0 .. kLevels - 1.
  static constexpr int kLevels = 4;

  /// `buffer_bytes` bounds the rows that wait in memory, but for one chunk.
  RowPartitioner(duckdb::ClientContext& context, duckdb::vector<duckdb::LogicalType> types,
                 const std::string& folder, int level, uint64_t buffer_bytes);

  /// `hashes`: one for each row.
  void Append(duckdb::DataChunk& rows, duckdb::Vector& hashes);
  /// The rows of each partition. Once.
  std::vector<SpilledRows> Finish();

 private:
  void Flush();
  void Write(duckdb::DataChunk& rows, SpilledRows* to);

  duckdb::Allocator& allocator_;
  const duckdb::vector<duckdb::LogicalType> types_;
  const int level_;
  const uint64_t buffer_bytes_;
  std::vector<SpilledRows> partitions_;
  std::optional<duckdb::ColumnDataCollection> buffer_;
  /// By row of the buffer.
  std::vector<uint8_t> partition_of_;
  duckdb::MemoryStream stream_;
};

/// Reads rows back, in the order in which they were written. Throws DuckDB exceptions.
class SpilledRowsReader {
 public:
  explicit SpilledRowsReader(SpilledRows rows) : rows_(std::move(rows)) {}

  /// False at the end. `chunk` has been initialized with the types of the rows.
  bool Next(duckdb::DataChunk* chunk);

 private:
  const SpilledRows rows_;
  size_t next_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace lake::query
