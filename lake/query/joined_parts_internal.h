#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <duckdb.hpp>
#include <duckdb/execution/expression_executor.hpp>
#include <duckdb/execution/join_hashtable.hpp>
#include <duckdb/execution/operator/join/physical_hash_join.hpp>

#include "lake/query/spilled_rows_internal.h"

namespace lake::query {

// The pieces of a hash join of DuckDB's, put together anew. All of them throw DuckDB exceptions;
// none is thread-safe. A join is a description here and is never executed; it outlives them.

/// What a join may hold in memory.
struct JoinMemory {
  bool Fits(const duckdb::JoinHashTable& table, uint64_t num_rows, uint64_t num_bytes) const {
    return num_bytes + table.PointerTableSize(num_rows) <= table_bytes;
  }

  /// The rows of the right side and the pointers by which they are found.
  uint64_t table_bytes = 0;
  /// Rows on their way to disk.
  uint64_t buffer_bytes = 0;
};

enum class JoinSide { kLeft, kRight };

/// Evaluates the keys of rows of one side.
class JoinKeys {
 public:
  JoinKeys(duckdb::ClientContext& context, const duckdb::PhysicalHashJoin& join, JoinSide side);

  duckdb::DataChunk& Of(duckdb::DataChunk& rows);
  /// Those of the last rows that were given to Of.
  duckdb::DataChunk& last() { return keys_; }

 private:
  duckdb::ExpressionExecutor executor_;
  duckdb::DataChunk keys_;
};

/// Makes a table that all rows of the right side are in ready for a JoinProbe.
void FinishTable(duckdb::JoinHashTable* table);

/// Asks a table for the partners of rows of the left side.
class JoinProbe {
 public:
  /// `table` stays the caller's.
  JoinProbe(duckdb::ClientContext& context, const duckdb::PhysicalHashJoin& join,
            duckdb::JoinHashTable& table);

  /// The next joined rows for `input`; true if there may be more for the same input.
  bool Next(duckdb::DataChunk& input, duckdb::DataChunk* out);

 private:
  const duckdb::PhysicalHashJoin& join_;
  duckdb::JoinHashTable& table_;
  JoinKeys keys_;
  duckdb::DataChunk left_;
  duckdb::TupleDataChunkState key_state_;
  duckdb::JoinHashTable::ProbeState state_;
  duckdb::JoinHashTable::ScanStructure scan_;
};

/// The rows of a table that found no partner, with nulls on the left side, after all probes.
class RowsWithoutPartner {
 public:
  /// `table` stays the caller's and has rows.
  explicit RowsWithoutPartner(duckdb::JoinHashTable& table)
      : table_(table),
        scan_(table.GetDataCollection(), 0, table.GetDataCollection().ChunkCount()) {}

  /// None at the end.
  void Next(duckdb::DataChunk* out) { table_.ScanFullOuter(scan_, addresses_, *out); }

 private:
  duckdb::JoinHashTable& table_;
  duckdb::JoinHTScanState scan_;
  duckdb::Vector addresses_{duckdb::LogicalType::POINTER};
};

/// A join whose right side does not fit in memory: both sides are distributed over parts on disk,
/// rows with equal keys into the same, and joined part by part. Parts that do not fit are split
/// again.
class JoinedParts {
 public:
  /// Files without a name are made in `folder`, which exists.
  JoinedParts(duckdb::ClientContext& context, const duckdb::PhysicalHashJoin& join,
              std::string folder, JoinMemory memory);

  /// First all rows of the right side: keys and the other columns.
  void AppendRight(duckdb::DataChunk& keys, duckdb::DataChunk& payload);
  /// The same as one chunk.
  void AppendRight(duckdb::DataChunk& rows);
  void FinishRight();
  /// Then all of the left side.
  void AppendLeft(JoinKeys* keys, duckdb::DataChunk& rows);
  /// Then the joined rows; none at the end. kOutOfMemory if those of one key do not fit.
  void Next(duckdb::DataChunk* out);

  /// Of keys and the other columns.
  const duckdb::vector<duckdb::LogicalType>& right_types() const { return right_types_; }
  /// How much has been joined, from 0 to 1. Thread-safe.
  double progress() const { return progress_; }

 private:
  struct Part {
    SpilledRows right;
    SpilledRows left;
    /// Of the partitioners that would split it; kLevels: it cannot be split.
    int level;
  };

  std::unique_ptr<RowPartitioner> MakePartitioner(JoinSide side, int level) const;
  duckdb::Vector HashesOf(duckdb::DataChunk& keys) const;
  void Append(duckdb::DataChunk& rows, duckdb::DataChunk& keys, RowPartitioner* to) const;
  /// True if a table of spilled rows fits; `num_bytes`: on disk.
  bool Fits(uint64_t num_rows, uint64_t num_bytes) const;
  /// Adds the partitions of both sides, neighbours as one part if they fit together.
  void AddParts(std::vector<SpilledRows> right, std::vector<SpilledRows> left, int level);
  /// Adds a part that does not fit as several.
  void Split(Part part);
  /// Takes the next part that can give rows. False at the end.
  bool NextPart();
  void BuildTable(SpilledRows rows);

  duckdb::ClientContext& context_;
  const duckdb::PhysicalHashJoin& join_;
  const std::string folder_;
  const JoinMemory memory_;
  duckdb::vector<duckdb::LogicalType> right_types_;
  /// A table that stays empty, for its sizes.
  const duckdb::unique_ptr<duckdb::JoinHashTable> shape_;
  std::unique_ptr<RowPartitioner> right_;
  std::unique_ptr<RowPartitioner> left_;
  std::vector<SpilledRows> right_rows_;

  /// The next one is the last.
  std::vector<Part> parts_;
  /// Before any was split; 0 before there are any.
  size_t num_parts_ = 0;
  std::atomic<double> progress_{0};

  /// The part that is being joined, if there is a table.
  duckdb::unique_ptr<duckdb::JoinHashTable> table_;
  std::optional<SpilledRowsReader> reader_;
  std::optional<JoinProbe> probe_;
  duckdb::DataChunk left_chunk_;
  bool in_chunk_ = false;
  std::optional<RowsWithoutPartner> without_partner_;
};

}  // namespace lake::query
