// DuckDB's hash join keeps blocks of 256 KiB in memory for each of its partitions, of which it
// makes more the less memory there is: below some size it does not work at all, however small its
// parts. This one is built from the same hash table, but its partitions wait in one file, by way of
// one buffer.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <duckdb/main/client_config.hpp>
#include <duckdb/planner/operator/logical_dummy_scan.hpp>
#include <duckdb/storage/buffer_manager.hpp>

#include "lake/query/joined_parts_internal.h"
#include "lake/query/spilling_join_internal.h"

namespace lake::query {
namespace {

/// With less for DuckDB, the right side is read by one thread: each holds a morsel of its own.
constexpr uint64_t kLeastParallelBytes = 96 << 20;

JoinMemory MemoryFor(duckdb::ClientContext& context, size_t num_joins) {
  // What the setting is for is to see few rows handled in parts. Pointers alone take 128 KiB.
  if (duckdb::ClientConfig::GetConfig(context).force_external) return {160 << 10, 64 << 10};
  const uint64_t limit =
      duckdb::BufferManager::GetBufferManager(context).GetMaxMemory() / num_joins;
  // Tables have partitions of their own, in which up to 8 MiB are unused.
  return {limit / 8 * 3, std::clamp<uint64_t>(limit / 8, 1 << 20, 32 << 20)};
}

struct JoinSinkState : public duckdb::GlobalSinkState {
  JoinMemory memory;
  /// All rows of the right side; null if they are in parts.
  duckdb::unique_ptr<duckdb::JoinHashTable> table;
  duckdb::PartitionedTupleDataAppendState append;
  std::unique_ptr<JoinedParts> parts;
};

struct JoinSinkLocalState : public duckdb::LocalSinkState {
  JoinSinkLocalState(duckdb::ClientContext& context, const duckdb::PhysicalHashJoin& join)
      : keys(context, join, JoinSide::kRight) {}

  JoinKeys keys;
  duckdb::DataChunk payload;
};

struct JoinOperatorState : public duckdb::CachingOperatorState {
  /// One of them.
  std::optional<JoinProbe> probe;
  std::optional<JoinKeys> keys;
};

struct JoinSourceState : public duckdb::GlobalSourceState {
  std::optional<RowsWithoutPartner> without_partner;
};

class LakeJoin : public duckdb::PhysicalJoin {
 public:
  /// `outputs` has the types of `join`, which stays as the description of what is to be done.
  LakeJoin(duckdb::PhysicalPlan& plan, duckdb::LogicalOperator& outputs,
           const duckdb::PhysicalHashJoin& join, std::string folder, size_t num_joins,
           bool parallel)
      : duckdb::PhysicalJoin(plan, outputs, duckdb::PhysicalOperatorType::EXTENSION, join.join_type,
                             join.estimated_cardinality),
        join_(join),
        folder_(std::move(folder)),
        num_joins_(num_joins),
        parallel_(parallel) {
    for (const auto& child : join.children) children.push_back(child);
  }

  duckdb::string GetName() const override { return "LAKE_JOIN"; }
  duckdb::InsertionOrderPreservingMap<duckdb::string> ParamsToString() const override {
    return join_.ParamsToString();
  }

  bool IsSink() const override { return true; }
  bool ParallelSink() const override { return parallel_; }
  duckdb::unique_ptr<duckdb::GlobalSinkState> GetGlobalSinkState(
      duckdb::ClientContext& context) const override;
  duckdb::unique_ptr<duckdb::LocalSinkState> GetLocalSinkState(
      duckdb::ExecutionContext& context) const override;
  duckdb::SinkResultType Sink(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                              duckdb::OperatorSinkInput& input) const override;
  duckdb::SinkFinalizeType Finalize(duckdb::Pipeline&, duckdb::Event&, duckdb::ClientContext&,
                                    duckdb::OperatorSinkFinalizeInput& input) const override;

  bool ParallelOperator() const override { return true; }
  duckdb::unique_ptr<duckdb::OperatorState> GetOperatorState(
      duckdb::ExecutionContext& context) const override;

  bool IsSource() const override { return true; }
  duckdb::unique_ptr<duckdb::GlobalSourceState> GetGlobalSourceState(
      duckdb::ClientContext&) const override {
    return duckdb::make_uniq<JoinSourceState>();
  }
  duckdb::SourceResultType GetData(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                                   duckdb::OperatorSourceInput& input) const override;
  duckdb::ProgressData GetProgress(duckdb::ClientContext&,
                                   duckdb::GlobalSourceState&) const override;

 protected:
  duckdb::OperatorResultType ExecuteInternal(duckdb::ExecutionContext&, duckdb::DataChunk& input,
                                             duckdb::DataChunk& chunk, duckdb::GlobalOperatorState&,
                                             duckdb::OperatorState& state) const override;

 private:
  /// Moves the rows of the table into parts.
  void Spill(duckdb::ClientContext& context, JoinSinkState* state) const;

  const duckdb::PhysicalHashJoin& join_;
  const std::string folder_;
  const size_t num_joins_;
  const bool parallel_;
};

duckdb::unique_ptr<duckdb::GlobalSinkState> LakeJoin::GetGlobalSinkState(
    duckdb::ClientContext& context) const {
  auto state = duckdb::make_uniq<JoinSinkState>();
  state->memory = MemoryFor(context, num_joins_);
  state->table = join_.InitializeHashTable(context);
  state->table->GetSinkCollection().InitializeAppendState(state->append);
  return state;
}

duckdb::unique_ptr<duckdb::LocalSinkState> LakeJoin::GetLocalSinkState(
    duckdb::ExecutionContext& context) const {
  auto state = duckdb::make_uniq<JoinSinkLocalState>(context.client, join_);
  if (!join_.payload_columns.col_types.empty()) {
    state->payload.Initialize(duckdb::BufferAllocator::Get(context.client),
                              join_.payload_columns.col_types);
  }
  return state;
}

duckdb::SinkResultType LakeJoin::Sink(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                                      duckdb::OperatorSinkInput& input) const {
  auto& state = input.global_state.Cast<JoinSinkState>();
  auto& local = input.local_state.Cast<JoinSinkLocalState>();
  duckdb::DataChunk& keys = local.keys.Of(chunk);
  local.payload.ReferenceColumns(chunk, join_.payload_columns.col_idxs);

  const auto lock = state.Lock();
  if (state.parts) {
    state.parts->AppendRight(keys, local.payload);
    return duckdb::SinkResultType::NEED_MORE_INPUT;
  }
  state.table->Build(state.append, keys, local.payload);
  const auto& rows = state.table->GetSinkCollection();
  if (!state.memory.Fits(*state.table, rows.Count(), rows.SizeInBytes())) {
    Spill(context.client, &state);
  }
  return duckdb::SinkResultType::NEED_MORE_INPUT;
}

void LakeJoin::Spill(duckdb::ClientContext& context, JoinSinkState* state) const {
  auto& table = state->table->GetSinkCollection();
  table.FlushAppendState(state->append);
  state->parts = std::make_unique<JoinedParts>(context, join_, folder_, state->memory);
  const auto& types = state->parts->right_types();
  duckdb::vector<duckdb::column_t> columns;
  for (size_t i = 0; i < types.size(); ++i) columns.push_back(i);
  duckdb::DataChunk rows;
  rows.Initialize(duckdb::BufferAllocator::Get(context), types);
  for (const auto& partition : table.GetPartitions()) {
    duckdb::TupleDataScanState scan;
    partition->InitializeScan(scan, columns, duckdb::TupleDataPinProperties::DESTROY_AFTER_DONE);
    while (partition->Scan(scan, rows)) state->parts->AppendRight(rows);
  }
  state->table.reset();
}

duckdb::SinkFinalizeType LakeJoin::Finalize(duckdb::Pipeline&, duckdb::Event&,
                                            duckdb::ClientContext&,
                                            duckdb::OperatorSinkFinalizeInput& input) const {
  auto& state = input.global_state.Cast<JoinSinkState>();
  if (state.parts) {
    state.parts->FinishRight();
    return duckdb::SinkFinalizeType::READY;
  }
  state.table->GetSinkCollection().FlushAppendState(state.append);
  FinishTable(state.table.get());
  return state.table->Count() == 0 && EmptyResultIfRHSIsEmpty()
             ? duckdb::SinkFinalizeType::NO_OUTPUT_POSSIBLE
             : duckdb::SinkFinalizeType::READY;
}

duckdb::unique_ptr<duckdb::OperatorState> LakeJoin::GetOperatorState(
    duckdb::ExecutionContext& context) const {
  const auto& sink = sink_state->Cast<JoinSinkState>();
  auto state = duckdb::make_uniq<JoinOperatorState>();
  if (sink.parts) {
    state->keys.emplace(context.client, join_, JoinSide::kLeft);
  } else {
    state->probe.emplace(context.client, join_, *sink.table);
  }
  return state;
}

duckdb::OperatorResultType LakeJoin::ExecuteInternal(duckdb::ExecutionContext&,
                                                     duckdb::DataChunk& input,
                                                     duckdb::DataChunk& chunk,
                                                     duckdb::GlobalOperatorState&,
                                                     duckdb::OperatorState& operator_state) const {
  auto& sink = sink_state->Cast<JoinSinkState>();
  auto& state = operator_state.Cast<JoinOperatorState>();
  if (sink.parts) {
    const auto lock = sink.Lock();
    sink.parts->AppendLeft(&*state.keys, input);
    return duckdb::OperatorResultType::NEED_MORE_INPUT;
  }
  if (sink.table->Count() == 0 && EmptyResultIfRHSIsEmpty()) {
    return duckdb::OperatorResultType::FINISHED;
  }
  return state.probe->Next(input, &chunk) ? duckdb::OperatorResultType::HAVE_MORE_OUTPUT
                                          : duckdb::OperatorResultType::NEED_MORE_INPUT;
}

duckdb::SourceResultType LakeJoin::GetData(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                                           duckdb::OperatorSourceInput& input) const {
  auto& sink = sink_state->Cast<JoinSinkState>();
  auto& state = input.global_state.Cast<JoinSourceState>();
  if (sink.parts) {
    sink.parts->Next(&chunk);
  } else if (duckdb::PropagatesBuildSide(join_type) && sink.table->Count() > 0) {
    // All partners have been found.
    if (!state.without_partner) state.without_partner.emplace(*sink.table);
    state.without_partner->Next(&chunk);
  }
  if (chunk.size() > 0) return duckdb::SourceResultType::HAVE_MORE_OUTPUT;
  // The state lives as long as the statement, in which others may need the memory.
  if (sink.table) sink.table->Reset();
  return duckdb::SourceResultType::FINISHED;
}

duckdb::ProgressData LakeJoin::GetProgress(duckdb::ClientContext&,
                                           duckdb::GlobalSourceState&) const {
  const auto& sink = sink_state->Cast<JoinSinkState>();
  duckdb::ProgressData progress;
  progress.total = 1;
  progress.done = sink.parts ? sink.parts->progress() : 0;
  return progress;
}

bool CanSpill(const duckdb::PhysicalOperator& op) {
  if (op.type != duckdb::PhysicalOperatorType::HASH_JOIN) return false;
  const auto& join = op.Cast<duckdb::PhysicalHashJoin>();
  switch (join.join_type) {
    case duckdb::JoinType::INNER:
    case duckdb::JoinType::LEFT:
    case duckdb::JoinType::RIGHT:
    case duckdb::JoinType::OUTER:
      return join.delim_types.empty();
    default:
      return false;
  }
}

using Slot = duckdb::reference<duckdb::PhysicalOperator>;

/// Where below `slot`, or in it, joins stand that are to be replaced, the deepest first.
void FindJoins(Slot* slot, std::vector<Slot*>* found) {
  duckdb::PhysicalOperator& op = slot->get();
  const bool join = CanSpill(op);
  if (!join && op.type != duckdb::PhysicalOperatorType::PROJECTION &&
      op.type != duckdb::PhysicalOperatorType::FILTER) {
    return;
  }
  for (Slot& child : op.children) FindJoins(&child, found);
  if (join) found->push_back(slot);
}

}  // namespace

duckdb::PhysicalOperator& WithSpillingJoins(duckdb::ClientContext& context,
                                            duckdb::PhysicalPlanGenerator& planner,
                                            duckdb::PhysicalOperator& plan,
                                            const std::string& folder) {
  const bool parallel =
      duckdb::BufferManager::GetBufferManager(context).GetMaxMemory() >= kLeastParallelBytes;
  Slot root(plan);
  std::vector<Slot*> slots;
  FindJoins(&root, &slots);
  for (Slot* slot : slots) {
    const auto& join = slot->get().Cast<duckdb::PhysicalHashJoin>();
    duckdb::LogicalDummyScan outputs(0);
    outputs.types = join.types;
    *slot = planner.Make<LakeJoin>(outputs, join, folder, slots.size(), parallel);
  }
  return root;
}

}  // namespace lake::query
