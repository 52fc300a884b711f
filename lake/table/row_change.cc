#include "lake/table/row_change.h"

#include <algorithm>
#include <map>
#include <utility>

#include <arrow/record_batch.h>

#include "lake/table/dataset_impl.h"
#include "lake/table/deletion_file.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/row_collector.h"
#include "lake/table/row_id_sequence.h"
#include "lake/table/row_ids_of_fragment.h"

namespace lake::table {

namespace {

void AddIds(const format::Field& field, std::vector<uint32_t>* ids) {
  if (field.id >= 0) ids->push_back(static_cast<uint32_t>(field.id));
  for (const format::Field& child : field.children) AddIds(child, ids);
}

class RowChangeImpl final : public RowChange {
 public:
  RowChangeImpl(const Context& context, std::shared_ptr<const DatasetImpl> dataset,
                RowChangeOptions options)
      : context_(context),
        dataset_(std::move(dataset)),
        options_(std::move(options)),
        deleted_(context, "rows to be deleted"),
        updated_(context, "rows to be updated") {
    // Then two writers are at work.
    if (stable()) options_.writer.max_buffered_bytes /= 2;
    const arrow::Schema& schema = *dataset_->arrow_schema();
    for (int i = 0; i < schema.num_fields(); ++i) {
      if (Changes(schema.field(i)->name())) changed_columns_.push_back(i);
    }
  }

  ~RowChangeImpl() override {
    if (finished_) return;
    updated_rows_.reset();
    inserted_rows_.reset();
    // Nobody is left to hear of an error; what stays behind is a leftover that no version names.
    (void)RemoveUncommitted(context_, dataset_->store().get(), new_objects_);
  }

  Status Delete(std::span<const RowAddress> addresses) override { return deleted_.Add(addresses); }

  Status DeleteAll() override {
    delete_all_ = true;
    return Status::OK();
  }

  Status Update(std::span<const RowAddress> addresses, const arrow::RecordBatch& rows) override {
    if (rows.num_rows() != static_cast<int64_t>(addresses.size())) {
      return Error(ErrorCode::kInvalidArgument, "changed rows and addresses differ in number");
    }
    if (addresses.empty()) return Status::OK();
    if (options_.check) {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> changed,
                            rows.SelectColumns(changed_columns_));
      ARROW_RETURN_NOT_OK(options_.check(*changed));
    }
    ARROW_RETURN_NOT_OK(updated_.Add(addresses));
    if (stable()) ARROW_RETURN_NOT_OK(KeepOrder(addresses));
    return WriteTo(&updated_rows_, rows, {dataset_.get(), addresses});
  }

  Status Insert(const arrow::RecordBatch& rows) override {
    if (rows.num_rows() == 0) return Status::OK();
    if (options_.check) ARROW_RETURN_NOT_OK(options_.check(rows));
    num_inserted_ += static_cast<uint64_t>(rows.num_rows());
    // With stable row ids, files of changed rows hold no new ones, so that their ids stand in
    // front.
    return WriteTo(stable() ? &inserted_rows_ : &updated_rows_, rows, {});
  }

  Result<PreparedChange> Finish(const Summary& summary) override;

 private:
  /// Rows by fragment id.
  using RowSets = std::map<uint64_t, DeletionVector>;

  bool Changes(const std::string& column) const {
    return !options_.changed_columns || options_.changed_columns->contains(column);
  }
  Status KeepOrder(std::span<const RowAddress> addresses);
  bool stable() const { return dataset_->manifest().has_stable_row_ids(); }
  Status WriteTo(std::unique_ptr<AppendWriter>* writer, const arrow::RecordBatch& rows,
                 const BlobOrigin& origin);
  Result<std::vector<Fragment>> EndFiles(std::unique_ptr<AppendWriter>* writer);
  /// All rows that go, each one of the version and named once.
  Result<RowSets> AffectedRows(PreparedChange* change);
  Status CheckRows(const RowSets& sets) const;
  /// Fragments and deletion files without the rows of `affected`.
  Status TakeOut(const RowSets& affected, std::vector<Fragment>* updated,
                 std::vector<uint64_t>* removed_ids);
  Operation MakeOperation(const Summary& summary, std::vector<Fragment> updated,
                          std::vector<uint64_t> removed_ids, std::vector<Fragment> added,
                          bool takes_rows_out) const;
  /// Gives the fragments of changed rows the ids and birth versions that the rows had.
  Status CarryRowIds(std::vector<Fragment>* fragments) const;

  const Context context_;
  const std::shared_ptr<const DatasetImpl> dataset_;
  RowChangeOptions options_;
  /// The places of the columns that Update may change.
  std::vector<int> changed_columns_;
  RowCollector deleted_;
  bool delete_all_ = false;
  RowCollector updated_;
  /// Only with stable row ids: in the order in which the new rows were written.
  std::vector<RowAddress> updated_in_order_;
  MemoryReservation order_memory_;
  std::unique_ptr<AppendWriter> updated_rows_;
  std::unique_ptr<AppendWriter> inserted_rows_;
  uint64_t num_inserted_ = 0;
  std::vector<std::string> new_objects_;
  bool ended_ = false;
  bool finished_ = false;
};

Status RowChangeImpl::KeepOrder(std::span<const RowAddress> addresses) {
  const size_t needed = updated_in_order_.size() + addresses.size();
  if (needed > updated_in_order_.capacity()) {
    const size_t capacity = std::max(needed, 2 * updated_in_order_.capacity());
    const auto bytes = static_cast<int64_t>(capacity * sizeof(RowAddress));
    ARROW_ASSIGN_OR_RAISE(MemoryReservation larger,
                          context_.memory->Reserve(bytes, "rows to be updated"));
    updated_in_order_.reserve(capacity);
    order_memory_ = std::move(larger);
  }
  updated_in_order_.insert(updated_in_order_.end(), addresses.begin(), addresses.end());
  return Status::OK();
}

Status RowChangeImpl::WriteTo(std::unique_ptr<AppendWriter>* writer, const arrow::RecordBatch& rows,
                              const BlobOrigin& origin) {
  if (*writer == nullptr) {
    AppendWriterOptions options = options_.writer;
    ARROW_ASSIGN_OR_RAISE(
        options.file_version,
        VersionOfNewFiles(dataset_->manifest(), dataset_->store()->description()));
    ARROW_ASSIGN_OR_RAISE(*writer, AppendWriter::Open(context_, dataset_->store(),
                                                      dataset_->manifest().schema(), options));
  }
  return (*writer)->Write(rows, origin);
}

Result<std::vector<Fragment>> RowChangeImpl::EndFiles(std::unique_ptr<AppendWriter>* writer) {
  if (*writer == nullptr) return std::vector<Fragment>();
  ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> fragments, (*writer)->Finish());
  const std::vector<std::string>& keys = (*writer)->new_objects();
  new_objects_.insert(new_objects_.end(), keys.begin(), keys.end());
  writer->reset();
  return fragments;
}

Status RowChangeImpl::CheckRows(const RowSets& sets) const {
  for (const auto& [id, rows] : sets) {
    ARROW_ASSIGN_OR_RAISE(const Fragment* fragment, dataset_->FragmentById(id));
    ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows,
                          dataset_->source()->PhysicalRows(context_, *fragment));
    const format::RowSelection selection = rows.Selection();
    if (selection.ranges().back().end() > physical_rows) {
      return Error(ErrorCode::kNotFound, "row address is behind its fragment: fragment {}, row {}",
                   id, selection.ranges().back().end() - 1);
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                          dataset_->source()->Deletions(context_, *fragment));
    const DeletionVector gone = DeletionVector::Intersection(rows, *deletions);
    if (!gone.empty()) {
      return Error(ErrorCode::kNotFound, "row is deleted: fragment {}, row {}", id,
                   gone.Selection().ranges().front().start);
    }
  }
  return Status::OK();
}

Status RowChangeImpl::TakeOut(const RowSets& affected, std::vector<Fragment>* updated,
                              std::vector<uint64_t>* removed_ids) {
  for (const auto& [id, rows] : affected) {
    ARROW_ASSIGN_OR_RAISE(const Fragment* fragment, dataset_->FragmentById(id));
    ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows,
                          dataset_->source()->PhysicalRows(context_, *fragment));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                          dataset_->source()->Deletions(context_, *fragment));
    const DeletionVector all = DeletionVector::Union(*deletions, rows);
    if (all.num_deleted() == physical_rows) {
      removed_ids->push_back(id);
      continue;
    }
    Fragment& taken = updated->emplace_back(*fragment);
    taken.physical_rows = physical_rows;
    std::string key;
    Result<DeletionFile> file = WriteDeletionFile(context_, dataset_->store().get(), id,
                                                  dataset_->manifest().version(), all, &key);
    if (!key.empty()) new_objects_.push_back(key);
    ARROW_RETURN_NOT_OK(file.status());
    taken.deletion_file = *std::move(file);
  }
  return Status::OK();
}

Status RowChangeImpl::CarryRowIds(std::vector<Fragment>* fragments) const {
  size_t next = 0;
  std::map<uint64_t, std::shared_ptr<const FragmentRowIds>> sources;
  for (Fragment& fragment : *fragments) {
    RowIdSequence ids;
    RowVersionSequence created;
    for (uint64_t row = 0; row < fragment.physical_rows; ++row, ++next) {
      const RowAddress address = updated_in_order_[next];
      std::shared_ptr<const FragmentRowIds>& source = sources[address >> 32];
      if (source == nullptr) {
        ARROW_ASSIGN_OR_RAISE(const Fragment* from, dataset_->FragmentById(address >> 32));
        ARROW_ASSIGN_OR_RAISE(source, FragmentRowIds::Of(*from, from->physical_rows));
      }
      const uint64_t place = address & 0xffffffff;
      ids.Append(source->ids.At(place), 1);
      created.Append(1, source->created_at.At(place));
    }
    fragment.row_ids = std::make_shared<const std::string>(ids.Encode());
    fragment.created_at_versions = std::make_shared<const std::string>(created.Encode());
  }
  return Status::OK();
}

Result<PreparedChange> RowChangeImpl::Finish(const Summary& summary) {
  if (std::exchange(ended_, true)) {
    return Error(ErrorCode::kInvalidArgument, "change was finished before");
  }
  PreparedChange change;
  change.num_updated = updated_.num_added();
  ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> added, EndFiles(&updated_rows_));
  ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> inserted, EndFiles(&inserted_rows_));
  ARROW_ASSIGN_OR_RAISE(RowSets affected, AffectedRows(&change));
  if (stable()) ARROW_RETURN_NOT_OK(CarryRowIds(&added));
  added.insert(added.end(), std::make_move_iterator(inserted.begin()),
               std::make_move_iterator(inserted.end()));
  change.num_inserted = num_inserted_;
  change.is_empty = affected.empty() && added.empty();

  std::vector<Fragment> updated;
  std::vector<uint64_t> removed_ids;
  ARROW_RETURN_NOT_OK(TakeOut(affected, &updated, &removed_ids));
  change.transaction = NewTransaction(
      context_, dataset_->manifest().version(),
      MakeOperation(summary, std::move(updated), std::move(removed_ids), std::move(added),
                    /*takes_rows_out=*/!affected.empty()),
      std::move(new_objects_));
  change.transaction.affected_rows = std::move(affected);
  finished_ = true;
  return change;
}

Result<RowChangeImpl::RowSets> RowChangeImpl::AffectedRows(PreparedChange* change) {
  RowSets changed = updated_.Take();
  uint64_t num_changed = 0;
  for (const auto& [id, rows] : changed) num_changed += rows.num_deleted();
  if (num_changed != change->num_updated) {
    return Error(ErrorCode::kInvalidArgument,
                 "a row of the table is changed twice by one statement");
  }
  RowSets affected = deleted_.Take();
  if (delete_all_) {
    for (const Fragment& fragment : dataset_->manifest().fragments()) {
      ARROW_ASSIGN_OR_RAISE(uint64_t rows, dataset_->source()->PhysicalRows(context_, fragment));
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                            dataset_->source()->Deletions(context_, fragment));
      affected[fragment.id] = DeletionVector::FromSelection(deletions->Survivors(0, rows));
    }
  }
  for (const auto& [id, rows] : affected) change->num_deleted += rows.num_deleted();
  for (auto& [id, rows] : changed) {
    DeletionVector& all = affected[id];
    if (!DeletionVector::Intersection(all, rows).empty()) {
      return Error(ErrorCode::kInvalidArgument,
                   "a row of the table is changed and deleted by one statement");
    }
    all = DeletionVector::Union(all, rows);
  }
  std::erase_if(affected, [](const auto& entry) { return entry.second.empty(); });
  if (!delete_all_ || !changed.empty()) ARROW_RETURN_NOT_OK(CheckRows(affected));
  return affected;
}

Operation RowChangeImpl::MakeOperation(const Summary& summary, std::vector<Fragment> updated,
                                       std::vector<uint64_t> removed_ids,
                                       std::vector<Fragment> added, bool takes_rows_out) const {
  if (added.empty()) {
    return DeleteOperation{std::move(updated), std::move(removed_ids), summary.predicate};
  }
  if (!takes_rows_out && !summary.inserted_by_key) return AppendOperation{std::move(added)};
  UpdateOperation update;
  update.updated = std::move(updated);
  update.removed_ids = std::move(removed_ids);
  update.added = std::move(added);
  update.inserted_by_key = summary.inserted_by_key && num_inserted_ > 0;
  for (const format::Field& field : dataset_->manifest().schema().fields) {
    if (Changes(field.name)) AddIds(field, &update.fields_modified);
  }
  return update;
}

}  // namespace

Result<std::unique_ptr<RowChange>> RowChange::Open(const Context& context,
                                                   std::shared_ptr<const Dataset> dataset,
                                                   RowChangeOptions options) {
  ARROW_RETURN_NOT_OK(CheckWritable(dataset->manifest(), dataset->store()->description()));
  // DatasetImpl is the only Dataset.
  return std::make_unique<RowChangeImpl>(
      context, std::static_pointer_cast<const DatasetImpl>(std::move(dataset)), std::move(options));
}

}  // namespace lake::table
