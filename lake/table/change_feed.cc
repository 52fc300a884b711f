#include "lake/table/change_feed.h"

#include <algorithm>

#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "lake/table/dataset_impl.h"
#include "lake/table/live_rows.h"
#include "lake/table/row_bytes.h"
#include "lake/table/row_ids_of_fragment.h"

namespace lake::table {

namespace {

constexpr uint64_t kMostPieceRows = 16 * 1024;
constexpr uint64_t kMostPieceBytes = 32ull << 20;

/// Changed rows by their address.
struct ChangedRun {
  RowAddress address;
  uint64_t count;
};

struct Changes {
  std::vector<ChangedRun> inserted;
  std::vector<ChangedRun> updated;
  std::vector<ChangedRun> deleted;
};

/// Walks over the ids of both versions at once.
Changes Compare(const std::vector<LiveRun>& before, const std::vector<LiveRun>& after) {
  Changes changes;
  auto old_run = before.begin();
  auto new_run = after.begin();
  uint64_t id = 0;
  while (old_run != before.end() || new_run != after.end()) {
    if (old_run != before.end() && old_run->end_id() <= id) {
      ++old_run;
      continue;
    }
    if (new_run != after.end() && new_run->end_id() <= id) {
      ++new_run;
      continue;
    }
    const bool has_old = old_run != before.end();
    const bool has_new = new_run != after.end();
    const uint64_t old_start = has_old ? std::max(old_run->first_id, id) : UINT64_MAX;
    const uint64_t new_start = has_new ? std::max(new_run->first_id, id) : UINT64_MAX;
    const uint64_t start = std::min(old_start, new_start);
    uint64_t end = UINT64_MAX;
    const bool in_old = old_start == start && has_old;
    const bool in_new = new_start == start && has_new;
    if (has_old) end = std::min(end, in_old ? old_run->end_id() : old_start);
    if (has_new) end = std::min(end, in_new ? new_run->end_id() : new_start);
    const uint64_t count = end - start;
    if (in_new && !in_old) {
      changes.inserted.push_back({new_run->address + (start - new_run->first_id), count});
    } else if (in_old && !in_new) {
      changes.deleted.push_back({old_run->address + (start - old_run->first_id), count});
    } else if (old_run->last_updated_at != new_run->last_updated_at) {
      changes.updated.push_back({new_run->address + (start - new_run->first_id), count});
    }
    id = end;
  }
  return changes;
}

struct Piece {
  ChangeKind kind;
  uint64_t fragment_id;
  format::RowSelection rows;
};

class ChangeFeedImpl final : public ChangeFeed {
 public:
  ChangeFeedImpl(std::shared_ptr<const DatasetImpl> before,
                 std::shared_ptr<const DatasetImpl> after)
      : before_(std::move(before)), after_(std::move(after)) {}

  Status Plan(const Context& context, const std::optional<std::vector<std::string>>& columns);

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  size_t num_pieces() const override { return pieces_.size(); }
  uint64_t piece_rows(size_t piece) const override { return pieces_[piece].rows.num_rows(); }
  Result<std::shared_ptr<arrow::RecordBatch>> Read(const Context& context, size_t piece) override;

 private:
  /// The version that holds the rows of a kind.
  const DatasetImpl& Holder(ChangeKind kind) const {
    return kind == ChangeKind::kDeleted ? *before_ : *after_;
  }
  Status AddPieces(const Context& context, ChangeKind kind, std::vector<ChangedRun> runs);
  Result<uint64_t> PieceRows(const Context& context, ChangeKind kind, uint64_t fragment_id) const;

  const std::shared_ptr<const DatasetImpl> before_;
  const std::shared_ptr<const DatasetImpl> after_;
  std::shared_ptr<arrow::Schema> schema_;
  /// Of the newer version, and the same ones in the older one: null where it lacks them.
  std::vector<const format::Field*> fields_;
  std::vector<const format::Field*> old_fields_;
  std::vector<Piece> pieces_;
  MemoryReservation memory_;
};

Result<uint64_t> ChangeFeedImpl::PieceRows(const Context& context, ChangeKind kind,
                                           uint64_t fragment_id) const {
  const DatasetImpl& dataset = Holder(kind);
  ARROW_ASSIGN_OR_RAISE(const Fragment* fragment, dataset.FragmentById(fragment_id));
  ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows, dataset.source()->PhysicalRows(context, *fragment));
  ARROW_ASSIGN_OR_RAISE(
      const uint64_t row_bytes,
      dataset.source()->RowBytes(context, *fragment, physical_rows, schema_->fields()));
  return RowsPerRead(BytesPerRead(context, kMostPieceBytes), row_bytes, kMostPieceRows);
}

Status ChangeFeedImpl::AddPieces(const Context& context, ChangeKind kind,
                                 std::vector<ChangedRun> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const ChangedRun& a, const ChangedRun& b) { return a.address < b.address; });
  std::optional<uint64_t> fragment_id;
  uint64_t most_rows = 0;
  for (const ChangedRun& run : runs) {
    if (fragment_id != run.address >> 32) {
      fragment_id = run.address >> 32;
      ARROW_ASSIGN_OR_RAISE(most_rows, PieceRows(context, kind, *fragment_id));
      pieces_.push_back({kind, *fragment_id, {}});
    }
    uint64_t row = run.address & 0xffffffff;
    uint64_t left = run.count;
    while (left > 0) {
      if (pieces_.back().rows.num_rows() == most_rows) pieces_.push_back({kind, *fragment_id, {}});
      const uint64_t take = std::min(left, most_rows - pieces_.back().rows.num_rows());
      pieces_.back().rows.Append(row, take);
      row += take;
      left -= take;
    }
  }
  return Status::OK();
}

Status ChangeFeedImpl::Plan(const Context& context,
                            const std::optional<std::vector<std::string>>& columns) {
  const format::Schema& schema = after_->manifest().schema();
  const format::Schema& old_schema = before_->manifest().schema();
  if (columns) {
    for (const std::string& name : *columns) {
      ARROW_ASSIGN_OR_RAISE(fields_.emplace_back(), FindColumn(schema, name));
    }
  } else {
    for (const format::Field& field : schema.fields) fields_.push_back(&field);
  }
  arrow::FieldVector arrow_fields;
  for (const format::Field* field : fields_) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Field> arrow_field, format::ToArrow(*field));
    auto old = std::find_if(old_schema.fields.begin(), old_schema.fields.end(),
                            [&](const format::Field& other) { return other.id == field->id; });
    const format::Field* same = nullptr;
    if (old != old_schema.fields.end()) {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Field> old_field, format::ToArrow(*old));
      if (old_field->type()->Equals(*arrow_field->type())) same = &*old;
    }
    old_fields_.push_back(same);
    // Deleted rows have no value for a column that came later.
    arrow_fields.push_back(same == nullptr ? arrow_field->WithNullable(true) : arrow_field);
  }
  arrow_fields.push_back(arrow::field(kChangeColumn, arrow::utf8(), false));
  arrow_fields.push_back(arrow::field(kRowIdColumn, arrow::uint64(), false));
  arrow_fields.push_back(arrow::field(kLastUpdatedAtColumn, arrow::uint64(), false));
  schema_ = arrow::schema(std::move(arrow_fields));

  ARROW_ASSIGN_OR_RAISE(LiveRows before, LiveRows::Of(context, *before_));
  ARROW_ASSIGN_OR_RAISE(LiveRows after, LiveRows::Of(context, *after_));
  Changes changes = Compare(before.runs(), after.runs());
  // What is kept is a range for each.
  const size_t num_runs = changes.inserted.size() + changes.updated.size() + changes.deleted.size();
  ARROW_ASSIGN_OR_RAISE(
      memory_, context.memory->Reserve(
                   static_cast<int64_t>(num_runs * (sizeof(ChangedRun) + sizeof(format::RowRange))),
                   "rows that differ between two versions"));
  ARROW_RETURN_NOT_OK(AddPieces(context, ChangeKind::kDeleted, std::move(changes.deleted)));
  ARROW_RETURN_NOT_OK(AddPieces(context, ChangeKind::kUpdated, std::move(changes.updated)));
  return AddPieces(context, ChangeKind::kInserted, std::move(changes.inserted));
}

Result<std::shared_ptr<arrow::RecordBatch>> ChangeFeedImpl::Read(const Context& context,
                                                                 size_t piece_index) {
  ARROW_RETURN_NOT_OK(context.Check());
  const Piece& piece = pieces_[piece_index];
  const bool deleted = piece.kind == ChangeKind::kDeleted;
  const DatasetImpl& dataset = Holder(piece.kind);
  ARROW_ASSIGN_OR_RAISE(const Fragment* fragment, dataset.FragmentById(piece.fragment_id));
  std::vector<const format::Field*> fields;
  for (const format::Field* field : deleted ? old_fields_ : fields_) {
    if (field != nullptr) fields.push_back(field);
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                        dataset.source()->Read(context, *fragment, fields, piece.rows));
  const auto rows = static_cast<int64_t>(piece.rows.num_rows());
  arrow::ArrayVector arrays;
  int next = 0;
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (deleted && old_fields_[i] == nullptr) {
      ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(),
                            arrow::MakeArrayOfNull(schema_->field(static_cast<int>(i))->type(),
                                                   rows, context.pool()));
    } else {
      arrays.push_back(batch->column(next++));
    }
  }
  ARROW_ASSIGN_OR_RAISE(
      arrays.emplace_back(),
      arrow::MakeArrayFromScalar(arrow::StringScalar(std::string(ChangeKindName(piece.kind))), rows,
                                 context.pool()));
  for (RowMetaColumn column : {RowMetaColumn::kRowId, RowMetaColumn::kLastUpdatedAt}) {
    ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(), ReadRowMetaColumn(context, dataset.source().get(),
                                                                   *fragment, column, piece.rows));
  }
  return arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
}

}  // namespace

std::string_view ChangeKindName(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kInserted:
      return "insert";
    case ChangeKind::kUpdated:
      return "update";
    case ChangeKind::kDeleted:
      return "delete";
  }
  return "unknown";
}

Result<std::shared_ptr<ChangeFeed>> ChangeFeed::Open(
    const Context& context, const Dataset& dataset, uint64_t from, uint64_t to,
    const std::optional<std::vector<std::string>>& columns) {
  if (from > to) {
    return Error(ErrorCode::kInvalidArgument,
                 "changes are asked for from a newer version to an older one: {} to {}", from, to);
  }
  std::shared_ptr<const DatasetImpl> versions[2];
  const uint64_t numbers[2] = {from, to};
  for (int i = 0; i < 2; ++i) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Dataset> opened, dataset.Reopen(context, numbers[i]));
    versions[i] = std::static_pointer_cast<const DatasetImpl>(std::move(opened));
  }
  auto feed = std::make_shared<ChangeFeedImpl>(versions[0], versions[1]);
  ARROW_RETURN_NOT_OK(feed->Plan(context, columns));
  return feed;
}

}  // namespace lake::table
