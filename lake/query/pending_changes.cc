#include <algorithm>
#include <utility>

#include <arrow/record_batch.h>

#include "lake/query/batch_builder_internal.h"
#include "lake/query/pending_changes_internal.h"
#include "lake/query/statement_change_internal.h"

namespace lake::query {
namespace {

/// Rows of one kind on their way from DuckDB's memory into a change.
class Writer {
 public:
  Writer(std::unique_ptr<BatchBuilder> builder, commit::ChangeWrite* change)
      : builder_(std::move(builder)), change_(change) {}

  Status Append(duckdb::DataChunk& chunk, const std::vector<uint64_t>& addresses) {
    ARROW_RETURN_NOT_OK(builder_->Append(chunk));
    addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
    return builder_->full() ? Flush() : Status::OK();
  }

  Status Flush() {
    if (builder_->num_rows() == 0) return Status::OK();
    ARROW_ASSIGN_OR_RAISE(auto batch, builder_->Finish());
    if (addresses_.empty()) return change_->Write(*batch);
    ARROW_RETURN_NOT_OK(change_->Update(addresses_, *batch));
    addresses_.clear();
    return Status::OK();
  }

 private:
  std::unique_ptr<BatchBuilder> builder_;
  commit::ChangeWrite* change_;
  std::vector<uint64_t> addresses_;
};

}  // namespace

bool PendingChanges::Removed(uint64_t address) const {
  return std::binary_search(removed_.begin(), removed_.end(), address);
}

uint64_t PendingChanges::Replaces(uint64_t address) const {
  const uint64_t number = address & ~kPendingRowBit;
  auto part = std::upper_bound(parts_.begin(), parts_.end(), number,
                               [](uint64_t n, const PendingPart& p) { return n < p.first; });
  if (part == parts_.begin()) return kNoAddress;
  --part;
  const uint64_t row = number - part->first;
  return row < part->replaces.size() ? part->replaces[row] : kNoAddress;
}

void PendingChanges::Add(PendingPart part, std::span<const uint64_t> removed,
                         const ChangePlan& plan) {
  if (part.rows != nullptr && part.rows->Count() > 0) {
    const auto& replaces = part.replaces;
    const bool adds = replaces.empty() ||
                      std::find(replaces.begin(), replaces.end(), kNoAddress) != replaces.end();
    inserts_by_key_ |= plan.inserts_by_key && adds;
    part.first = num_written_;
    num_written_ += part.rows->Count();
    parts_.push_back(std::move(part));
    file_provenance_proved_ &= plan.file_provenance_proved;
  }
  const auto old = static_cast<std::ptrdiff_t>(removed_.size());
  removed_.insert(removed_.end(), removed.begin(), removed.end());
  std::inplace_merge(removed_.begin(), removed_.begin() + old, removed_.end());
  changed_columns_.insert(plan.changed_columns.begin(), plan.changed_columns.end());
}

Status PendingChanges::WriteTo(duckdb::ClientContext& context, commit::ChangeWrite* change) const {
  std::vector<uint64_t> replaced;
  if (!parts_.empty()) {
    const auto open = [&]() -> Result<Writer> {
      ARROW_ASSIGN_OR_RAISE(auto builder,
                            BatchBuilder::ForTable(context, table_->entry.name.ToString(),
                                                   parts_.front().rows->Types(), change->schema()));
      return Writer(std::move(builder), change);
    };
    ARROW_ASSIGN_OR_RAISE(Writer added, open());
    ARROW_ASSIGN_OR_RAISE(Writer updated, open());
    for (const PendingPart& part : parts_) {
      uint64_t row = 0;
      for (auto& chunk : part.rows->Chunks()) {
        duckdb::SelectionVector new_rows(chunk.size());
        duckdb::SelectionVector old_rows(chunk.size());
        duckdb::idx_t num_new = 0;
        std::vector<uint64_t> addresses;
        for (duckdb::idx_t i = 0; i < chunk.size(); ++i, ++row) {
          if (Removed(kPendingRowBit | (part.first + row))) continue;
          const uint64_t address = part.replaces.empty() ? kNoAddress : part.replaces[row];
          if (address == kNoAddress) {
            new_rows.set_index(num_new++, i);
          } else {
            old_rows.set_index(addresses.size(), i);
            addresses.push_back(address);
          }
        }
        duckdb::DataChunk some;
        if (num_new > 0) {
          some.InitializeEmpty(chunk.GetTypes());
          some.Slice(chunk, new_rows, num_new);
          ARROW_RETURN_NOT_OK(added.Append(some, {}));
        }
        if (addresses.empty()) continue;
        duckdb::DataChunk changed;
        changed.InitializeEmpty(chunk.GetTypes());
        changed.Slice(chunk, old_rows, addresses.size());
        ARROW_RETURN_NOT_OK(updated.Append(changed, addresses));
        replaced.insert(replaced.end(), addresses.begin(), addresses.end());
      }
    }
    ARROW_RETURN_NOT_OK(added.Flush());
    ARROW_RETURN_NOT_OK(updated.Flush());
  }
  std::sort(replaced.begin(), replaced.end());
  std::vector<uint64_t> deleted;
  for (const uint64_t address : removed_) {
    if ((address & kPendingRowBit) != 0) break;
    if (!std::binary_search(replaced.begin(), replaced.end(), address)) deleted.push_back(address);
  }
  return deleted.empty() ? Status::OK() : change->Delete(deleted);
}

}  // namespace lake::query
