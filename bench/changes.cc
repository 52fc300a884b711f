// The operations of bench/worker.h that change a table.

#include <arrow/compute/expression.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>

#include "lake/commit/maintenance.h"
#include "lake/table/delete_rows.h"
#include "lake/table/merge_insert.h"
#include "lake/table/update_rows.h"

#include "bench/worker.h"

namespace lake::bench {

namespace cp = arrow::compute;

Result<Answer> Worker::Many(const std::string& table, const std::string& source, int count) {
  const std::vector<std::string> name = Split(table, '.');
  arrow::TableBatchReader batches(*sources_.at(source));
  ARROW_ASSIGN_OR_RAISE(auto batch, batches.Next());
  ARROW_ASSIGN_OR_RAISE(
      auto write,
      lakehouse_->Create(context_, principal_, {name.at(0), name.at(1)}, *batch->schema(), {}, {}));
  ARROW_RETURN_NOT_OK(write->Write(*batch->Slice(0, 1)));
  ARROW_RETURN_NOT_OK(write->Commit(context_).status());
  for (int i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(Append(table, source).status());
  return Answer{.rows = count + 1};
}

Result<Answer> Worker::Change(const std::string& table, const commit::ChangeMaker& make) {
  ARROW_ASSIGN_OR_RAISE(auto open, OpenByName(table));
  ARROW_ASSIGN_OR_RAISE(const commit::CommitOutcome outcome,
                        lakehouse_->Change(context_, principal_, std::move(open), make, {}));
  return Answer{.rows = static_cast<int64_t>(outcome.num_rows)};
}

Result<Answer> Worker::Update(const std::string& table, const std::string& column,
                              const std::string& filter) {
  table::UpdateRowsOptions options;
  options.filter = ParseFilter(filter);
  options.assignments.emplace(column,
                              cp::call("add", {cp::field_ref(column), cp::literal(int64_t{1})}));
  return Change(table, [&](const Context& context, const commit::ChangeInput& input) {
    options.check = input.check;
    return table::UpdateRows(context, input.dataset, options);
  });
}

Result<Answer> Worker::Delete(const std::string& table, const std::string& filter) {
  return Change(table, [&](const Context& context, const commit::ChangeInput& input) {
    return table::DeleteRows(context, input.dataset, ParseFilter(filter));
  });
}

Result<Answer> Worker::Merge(const std::string& table, const std::string& source,
                             const std::string& key) {
  table::MergeInsertOptions options;
  options.on = {key};
  options.when_matched = table::MergeInsertOptions::Matched::kUpdate;
  return Change(table, [&](const Context& context, const commit::ChangeInput& input) {
    arrow::TableBatchReader rows(*sources_.at(source));
    options.check = input.check;
    return table::MergeInsert(context, input.dataset, &rows, options);
  });
}

Result<Answer> Worker::Compact(const std::string& table) {
  ARROW_ASSIGN_OR_RAISE(auto open, OpenByName(table));
  table::CompactionOptions options;
  options.threads = static_cast<size_t>(threads_);
  ARROW_ASSIGN_OR_RAISE(const commit::CompactOutcome outcome,
                        lakehouse_->maintenance().Compact(context_, *open, options));
  return Answer{.rows = static_cast<int64_t>(outcome.rows)};
}

}  // namespace lake::bench
