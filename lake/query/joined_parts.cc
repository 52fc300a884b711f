#include <algorithm>
#include <utility>

#include <duckdb/storage/buffer_manager.hpp>

#include "lake/query/duckdb_error_internal.h"
#include "lake/query/joined_parts_internal.h"

namespace lake::query {
namespace {

/// True for a condition that a hash table finds rows by. Those stand before all others.
bool IsEquality(const duckdb::JoinCondition& condition) {
  return condition.comparison == duckdb::ExpressionType::COMPARE_EQUAL ||
         condition.comparison == duckdb::ExpressionType::COMPARE_NOT_DISTINCT_FROM;
}

}  // namespace

JoinKeys::JoinKeys(duckdb::ClientContext& context, const duckdb::PhysicalHashJoin& join,
                   JoinSide side)
    : executor_(context) {
  for (const auto& condition : join.conditions) {
    executor_.AddExpression(side == JoinSide::kLeft ? *condition.left : *condition.right);
  }
  keys_.Initialize(duckdb::BufferAllocator::Get(context), join.condition_types);
}

duckdb::DataChunk& JoinKeys::Of(duckdb::DataChunk& rows) {
  keys_.Reset();
  executor_.Execute(rows, keys_);
  return keys_;
}

void FinishTable(duckdb::JoinHashTable* table) {
  table->Unpartition();
  if (table->Count() > 0) {
    table->AllocatePointerTable();
    table->InitializePointerTable(0, table->capacity);
    table->Finalize(0, table->GetDataCollection().ChunkCount(), /*parallel=*/false);
  }
  table->finalized = true;
}

JoinProbe::JoinProbe(duckdb::ClientContext& context, const duckdb::PhysicalHashJoin& join,
                     duckdb::JoinHashTable& table)
    : join_(join), table_(table), keys_(context, join, JoinSide::kLeft), scan_(table, key_state_) {
  if (!join.lhs_output_columns.col_types.empty()) {
    left_.Initialize(duckdb::BufferAllocator::Get(context), join.lhs_output_columns.col_types);
  }
  duckdb::TupleDataCollection::InitializeChunkState(key_state_, join.condition_types);
}

bool JoinProbe::Next(duckdb::DataChunk& input, duckdb::DataChunk* out) {
  left_.ReferenceColumns(input, join_.lhs_output_columns.col_idxs);
  if (table_.Count() == 0) {
    duckdb::PhysicalComparisonJoin::ConstructEmptyJoinResult(join_.join_type, table_.has_null,
                                                             left_, *out);
    return false;
  }
  if (scan_.is_null) table_.Probe(scan_, keys_.Of(input), key_state_, state_);
  scan_.Next(keys_.last(), left_, *out);
  if (!scan_.PointersExhausted() || out->size() > 0) return true;
  scan_.is_null = true;
  return false;
}

JoinedParts::JoinedParts(duckdb::ClientContext& context, const duckdb::PhysicalHashJoin& join,
                         std::string folder, JoinMemory memory)
    : context_(context),
      join_(join),
      folder_(std::move(folder)),
      memory_(memory),
      right_types_(join.condition_types),
      shape_(join.InitializeHashTable(context)) {
  const auto& others = join.payload_columns.col_types;
  right_types_.insert(right_types_.end(), others.begin(), others.end());
  right_ = MakePartitioner(JoinSide::kRight, 0);
}

std::unique_ptr<RowPartitioner> JoinedParts::MakePartitioner(JoinSide side, int level) const {
  const auto& types = side == JoinSide::kRight ? right_types_ : join_.children[0].get().GetTypes();
  return std::make_unique<RowPartitioner>(context_, types, folder_, level, memory_.buffer_bytes);
}

/// The hashes of rows by those keys that must be equal. Rows that have a null there, which equals
/// nothing, may be anywhere, and should not all be in one place.
duckdb::Vector JoinedParts::HashesOf(duckdb::DataChunk& keys) const {
  duckdb::Vector hashes(duckdb::LogicalType::HASH);
  duckdb::VectorOperations::Hash(keys.data[0], hashes, keys.size());
  for (size_t i = 1; i < join_.conditions.size() && IsEquality(join_.conditions[i]); ++i) {
    duckdb::VectorOperations::CombineHash(hashes, keys.data[i], keys.size());
  }
  hashes.Flatten(keys.size());
  auto* values = duckdb::FlatVector::GetData<duckdb::hash_t>(hashes);
  for (size_t i = 0; i < join_.conditions.size(); ++i) {
    if (join_.conditions[i].comparison != duckdb::ExpressionType::COMPARE_EQUAL) continue;
    duckdb::UnifiedVectorFormat format;
    keys.data[i].ToUnifiedFormat(keys.size(), format);
    if (format.validity.AllValid()) continue;
    for (duckdb::idx_t row = 0; row < keys.size(); ++row) {
      const bool valid = format.validity.RowIsValid(format.sel->get_index(row));
      if (!valid) values[row] = duckdb::Hash<uint64_t>(row);
    }
  }
  return hashes;
}

void JoinedParts::Append(duckdb::DataChunk& rows, duckdb::DataChunk& keys,
                         RowPartitioner* to) const {
  auto hashes = HashesOf(keys);
  to->Append(rows, hashes);
}

void JoinedParts::AppendRight(duckdb::DataChunk& keys, duckdb::DataChunk& payload) {
  duckdb::DataChunk rows;
  rows.InitializeEmpty(right_types_);
  for (size_t i = 0; i < right_types_.size(); ++i) {
    const size_t num_keys = keys.ColumnCount();
    rows.data[i].Reference(i < num_keys ? keys.data[i] : payload.data[i - num_keys]);
  }
  rows.SetCardinality(keys.size());
  AppendRight(rows);
}

// The keys stand in front.
void JoinedParts::AppendRight(duckdb::DataChunk& rows) { Append(rows, rows, right_.get()); }

void JoinedParts::FinishRight() {
  right_rows_ = right_->Finish();
  right_.reset();
  left_ = MakePartitioner(JoinSide::kLeft, 0);
}

void JoinedParts::AppendLeft(JoinKeys* keys, duckdb::DataChunk& rows) {
  Append(rows, keys->Of(rows), left_.get());
}

bool JoinedParts::Fits(uint64_t num_rows, uint64_t num_bytes) const {
  const uint64_t row_bytes = shape_->layout_ptr->GetRowWidth();
  return memory_.Fits(*shape_, num_rows, num_bytes + num_rows * row_bytes);
}

void JoinedParts::AddParts(std::vector<SpilledRows> right, std::vector<SpilledRows> left,
                           int level) {
  const size_t first = parts_.size();
  for (size_t i = 0; i < right.size(); ++i) {
    if (parts_.size() > first) {
      Part& last = parts_.back();
      if (Fits(last.right.num_rows + right[i].num_rows,
               last.right.num_bytes + right[i].num_bytes)) {
        last.right.Add(right[i]);
        last.left.Add(left[i]);
        continue;
      }
    }
    parts_.push_back({std::move(right[i]), std::move(left[i]), level});
  }
}

void JoinedParts::Split(Part part) {
  const uint64_t num_rows = part.right.num_rows;
  duckdb::DataChunk rows;
  rows.Initialize(duckdb::BufferAllocator::Get(context_), right_types_);
  auto to = MakePartitioner(JoinSide::kRight, part.level);
  SpilledRowsReader right(std::move(part.right));
  while (right.Next(&rows)) Append(rows, rows, to.get());
  std::vector<SpilledRows> right_rows = to->Finish();

  JoinKeys keys(context_, join_, JoinSide::kLeft);
  to = MakePartitioner(JoinSide::kLeft, part.level);
  SpilledRowsReader left(std::move(part.left));
  while (left.Next(&left_chunk_)) Append(left_chunk_, keys.Of(left_chunk_), to.get());

  // Rows that all stay together may be those of one key.
  const bool split = std::none_of(right_rows.begin(), right_rows.end(),
                                  [&](const auto& some) { return some.num_rows == num_rows; });
  AddParts(std::move(right_rows), to->Finish(), split ? part.level + 1 : RowPartitioner::kLevels);
}

void JoinedParts::BuildTable(SpilledRows spilled) {
  table_ = join_.InitializeHashTable(context_);
  duckdb::PartitionedTupleDataAppendState append;
  table_->GetSinkCollection().InitializeAppendState(append);
  duckdb::DataChunk rows;
  rows.Initialize(duckdb::BufferAllocator::Get(context_), right_types_);
  SpilledRowsReader reader(std::move(spilled));
  while (reader.Next(&rows)) {
    duckdb::DataChunk keys;
    duckdb::DataChunk payload;
    keys.InitializeEmpty(join_.condition_types);
    payload.InitializeEmpty(join_.payload_columns.col_types);
    for (size_t i = 0; i < right_types_.size(); ++i) {
      const size_t num_keys = keys.ColumnCount();
      (i < num_keys ? keys.data[i] : payload.data[i - num_keys]).Reference(rows.data[i]);
    }
    keys.SetCardinality(rows.size());
    payload.SetCardinality(rows.size());
    table_->Build(append, keys, payload);
  }
  table_->GetSinkCollection().FlushAppendState(append);
  FinishTable(table_.get());
}

bool JoinedParts::NextPart() {
  without_partner_.reset();
  probe_.reset();
  table_.reset();
  while (!parts_.empty()) {
    if (context_.interrupted) throw duckdb::InterruptException();
    const double left = static_cast<double>(parts_.size()) / static_cast<double>(num_parts_);
    progress_ = std::max(progress_.load(), 1 - left);
    Part part = std::move(parts_.back());
    parts_.pop_back();
    if (part.right.num_rows == 0 && join_.EmptyResultIfRHSIsEmpty()) continue;
    if (part.left.num_rows == 0 && !duckdb::PropagatesBuildSide(join_.join_type)) continue;
    const bool fits = Fits(part.right.num_rows, part.right.num_bytes);
    if (!fits && part.level < RowPartitioner::kLevels) {
      Split(std::move(part));
      continue;
    }
    try {
      BuildTable(std::move(part.right));
    } catch (const duckdb::OutOfMemoryException&) {
      if (fits) throw;
      ThrowStatus(Error(ErrorCode::kOutOfMemory,
                        "out of memory: the rows of one key of a join do not fit; raise "
                        "memory_limit"));
    }
    reader_.emplace(std::move(part.left));
    probe_.emplace(context_, join_, *table_);
    in_chunk_ = false;
    return true;
  }
  progress_ = 1;
  return false;
}

void JoinedParts::Next(duckdb::DataChunk* out) {
  if (left_) {
    AddParts(std::move(right_rows_), left_->Finish(), 1);
    left_.reset();
    num_parts_ = parts_.size();
    left_chunk_.Initialize(duckdb::BufferAllocator::Get(context_),
                           join_.children[0].get().GetTypes());
  }
  while (out->size() == 0) {
    if (without_partner_) {
      without_partner_->Next(out);
      if (out->size() == 0) without_partner_.reset();
    } else if (in_chunk_ || (reader_ && reader_->Next(&left_chunk_))) {
      in_chunk_ = probe_->Next(left_chunk_, out);
    } else if (reader_ && table_->Count() > 0 && duckdb::PropagatesBuildSide(join_.join_type)) {
      reader_.reset();
      without_partner_.emplace(*table_);
    } else {
      reader_.reset();
      if (!NextPart()) return;
    }
  }
}

}  // namespace lake::query
