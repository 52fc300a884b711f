#include <algorithm>
#include <utility>

#include <arrow/record_batch.h>

#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/statement_change_internal.h"
#include "lake/query/transaction_internal.h"

namespace lake::query {

StatementChange::StatementChange(duckdb::ClientContext& context, LakeCatalog& catalog,
                                 ChangePlan plan)
    : context_(context), catalog_(catalog), plan_(std::move(plan)) {
  const std::string name = plan_.table->QualifiedName();
  if (plan_.has_file_columns && !plan_.file_provenance_proved) {
    ThrowStatus(Error(ErrorCode::kInvalidArgument,
                      "a plan whose FILE values were not checked is refused (the optimizer or its "
                      "extensions are switched off, or a parameter is missing): table '{}'",
                      name));
  }
  SessionState& session = SessionState::Of(context);
  const std::shared_ptr<const commit::OpenTable>& table = plan_.table->table();
  std::shared_ptr<arrow::Schema> schema = table->dataset->arrow_schema();
  if (context.transaction.IsAutoCommit()) {
    commit::WriteOptions options;
    options.operation = std::exchange(session.operation, {});
    options.file_provenance_proved = plan_.file_provenance_proved;
    options.max_buffered_bytes = static_cast<uint64_t>(catalog.write_buffer_bytes());
    options.inserts_by_key = plan_.inserts_by_key;
    commit::Lakehouse& lakehouse = catalog.lakehouse();
    if (plan_.only_inserts) {
      write_ = ValueOrThrow(lakehouse.Append(session.context, session.principal, table, options));
    } else {
      auto change = ValueOrThrow(lakehouse.ChangeRows(session.context, session.principal, table,
                                                      plan_.changed_columns, options));
      change_ = change.get();
      write_ = std::move(change);
    }
    schema = write_->schema();
  } else {
    LakeTransaction::Get(context, catalog).CheckWritable(*table);
    part_.rows = std::make_unique<duckdb::ColumnDataCollection>(context, plan_.table->GetTypes());
    part_.rows->InitializeAppend(append_);
    if (plan_.has_file_columns) {
      checker_.emplace(
          *schema, ValueOrThrow(catalog.lakehouse().StageFor(session.context, session.principal)),
          plan_.file_provenance_proved);
    }
  }
  inserts_ = ValueOrThrow(BatchBuilder::ForTable(context, name, plan_.table->GetTypes(), schema));
  if (!plan_.only_inserts) {
    updates_ = ValueOrThrow(BatchBuilder::ForTable(context, name, plan_.table->GetTypes(), schema));
  }
}

StatementChange::~StatementChange() = default;

void StatementChange::Guard(const Status& status) {
  if (status.ok()) return;
  write_.reset();  // Removes what was written.
  change_ = nullptr;
  finished_ = true;
  ThrowStatus(status);
}

std::vector<uint64_t> StatementChange::AddressesOf(duckdb::Vector& addresses, duckdb::idx_t count) {
  duckdb::UnifiedVectorFormat format;
  addresses.ToUnifiedFormat(count, format);
  const auto* values = duckdb::UnifiedVectorFormat::GetData<uint64_t>(format);
  std::vector<uint64_t> result(count);
  for (duckdb::idx_t i = 0; i < count; ++i) result[i] = values[format.sel->get_index(i)];
  return result;
}

void StatementChange::Insert(duckdb::DataChunk& rows) {
  Guard(inserts_->Append(rows));
  if (part_.rows) {
    part_.rows->Append(append_, rows);
    if (!part_.replaces.empty()) part_.replaces.resize(part_.rows->Count(), kNoAddress);
  }
  num_rows_ += rows.size();
  FlushIfFull();
}

void StatementChange::Delete(duckdb::Vector& addresses, duckdb::idx_t count) {
  const std::vector<uint64_t> rows = AddressesOf(addresses, count);
  num_rows_ += count;
  if (change_ != nullptr) {
    Guard(change_->Delete(rows));
  } else {
    deleted_.insert(deleted_.end(), rows.begin(), rows.end());
  }
}

void StatementChange::Update(duckdb::Vector& addresses, duckdb::DataChunk& rows) {
  const std::vector<uint64_t> old = AddressesOf(addresses, rows.size());
  Guard(updates_->Append(rows));
  update_addresses_.insert(update_addresses_.end(), old.begin(), old.end());
  if (part_.rows) {
    const PendingChanges* pending = LakeTransaction::Get(context_, catalog_)
                                        .PendingFor(plan_.table->table()->entry.incarnation);
    part_.replaces.resize(part_.rows->Count(), kNoAddress);
    for (const uint64_t address : old) {
      const bool mine = (address & kPendingRowBit) != 0;
      part_.replaces.push_back(mine ? pending->Replaces(address) : address);
    }
    part_.rows->Append(append_, rows);
    updated_.insert(updated_.end(), old.begin(), old.end());
  }
  num_rows_ += rows.size();
  FlushIfFull();
}

void StatementChange::FlushIfFull() {
  if (updates_ ? !inserts_->FullWith(*updates_) : !inserts_->full()) return;
  Flush();
  FlushUpdates();
}

void StatementChange::Flush() {
  if (inserts_->num_rows() == 0) return;
  Result<std::shared_ptr<arrow::RecordBatch>> batch = inserts_->Finish();
  Guard(batch.status());
  if (write_) Guard(write_->Write(**batch));
  if (checker_) Guard(checker_->Check(SessionState::Of(context_).context, **batch));
}

void StatementChange::FlushUpdates() {
  if (!updates_ || updates_->num_rows() == 0) return;
  Result<std::shared_ptr<arrow::RecordBatch>> batch = updates_->Finish();
  Guard(batch.status());
  if (change_ != nullptr) Guard(change_->Update(update_addresses_, **batch));
  if (checker_) {
    std::vector<int> columns;
    for (const std::string& name : plan_.changed_columns) {
      columns.push_back((*batch)->schema()->GetFieldIndex(name));
    }
    const auto changed = (*batch)->SelectColumns(columns);
    Guard(changed.status());
    Guard(checker_->CheckAll(SessionState::Of(context_).context, **changed));
  }
  update_addresses_.clear();
}

void StatementChange::FinishPending() {
  std::sort(updated_.begin(), updated_.end());
  std::sort(deleted_.begin(), deleted_.end());
  const size_t given = deleted_.size();
  deleted_.erase(std::unique(deleted_.begin(), deleted_.end()), deleted_.end());
  num_rows_ -= given - deleted_.size();
  std::vector<uint64_t> removed(updated_.size() + deleted_.size());
  std::merge(updated_.begin(), updated_.end(), deleted_.begin(), deleted_.end(), removed.begin());
  if (std::adjacent_find(removed.begin(), removed.end()) != removed.end()) {
    Guard(Error(ErrorCode::kInvalidArgument,
                "a row of the table is changed twice by one statement: {} of table '{}'",
                plan_.what, plan_.table->QualifiedName()));
  }
  LakeTransaction::Get(context_, catalog_).AddPending(std::move(part_), removed, plan_);
}

void StatementChange::Finish() {
  if (finished_) return;
  Flush();
  FlushUpdates();
  finished_ = true;
  if (!write_) {
    FinishPending();
    return;
  }
  if (change_ != nullptr) {
    Guard(change_->Finish());
    num_rows_ = change_->num_rows();
  }
  LakeTransaction::Get(context_, catalog_).SetWrite(std::move(write_));
}

}  // namespace lake::query
