#include "lake/table/merge_insert.h"

#include <algorithm>
#include <map>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/util.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/exec.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

#include "lake/base/arrow_compute.h"
#include "lake/base/arrow_select.h"
#include "lake/base/thread_pool.h"
#include "lake/format/blob.h"
#include "lake/table/batch_stream.h"
#include "lake/table/blob_writer.h"
#include "lake/table/column_expression.h"
#include "lake/table/dataset_impl.h"
#include "lake/table/merge_keys.h"
#include "lake/table/row_bytes.h"
#include "lake/table/row_collector.h"

namespace lake::table {

namespace {

namespace cp = arrow::compute;

constexpr int64_t kBudgetShare = 8;
constexpr int64_t kMaxPartBytes = 1ll << 30;
constexpr int64_t kMaxPartRows = 1ll << 30;
// Changed rows that are put together at a time, and their bytes.
constexpr size_t kMostRowsAtOnce = 32 * 1024;
constexpr uint64_t kMostBytesAtOnce = 32ull << 20;
constexpr char kSource[] = "source";
constexpr char kTarget[] = "target";

/// A source row and the row of the table with the same key.
struct Pair {
  uint32_t source_row;
  RowAddress address;
};

/// A part of the source that is in memory.
struct SourcePart {
  std::shared_ptr<arrow::RecordBatch> rows;
  /// Of one of them, about.
  uint64_t row_bytes = 1;
  std::unique_ptr<MergeTable> table;
};

class Merger {
 public:
  Merger(const Context& context, std::shared_ptr<const Dataset> dataset,
         arrow::RecordBatchReader* source, const MergeInsertOptions& options)
      : context_(context),
        dataset_(std::move(dataset)),
        source_(source),
        options_(options),
        exec_(context.pool(), nullptr),
        matched_(context, "rows that match the source of a merge") {}

  Result<PreparedChange> Run();

 private:
  using Matched = MergeInsertOptions::Matched;

  Status CheckColumns();
  Status BindCondition();
  /// The next part of the source, or nothing at its end.
  Result<std::optional<SourcePart>> NextPart();
  Result<std::shared_ptr<arrow::RecordBatch>> Conform(const arrow::RecordBatch& batch) const;
  Status MergePart(const SourcePart& part);
  /// The pairs of one morsel.
  Status Match(const SourcePart& part, Scanner* scanner, size_t morsel,
               std::vector<Pair>* found) const;
  /// Does with `pairs` what is to be done with matches. Without `at_end`, pairs that are too few to
  /// be put together are left in there.
  Status TakeMatches(const SourcePart& part, bool at_end, std::vector<Pair>* pairs);
  /// How many of `pairs`, from the first on, are put together at a time.
  Result<size_t> CountPairs(const SourcePart& part, std::span<const Pair> pairs);
  /// Bytes of a row of the table, about.
  Result<uint64_t> RowBytesOf(uint64_t fragment_id);
  Status UpdatePairs(const SourcePart& part, std::span<const Pair> pairs);
  Status InsertUnmatched(const SourcePart& part, const std::vector<uint8_t>& matched);
  Status DeleteUnmatchedBySource();

  Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(
      const arrow::RecordBatch& rows, const std::shared_ptr<arrow::Array>& places) const;
  /// Rows of the table's shape: `source_rows` where the source has the column, else `others`.
  Result<std::shared_ptr<arrow::RecordBatch>> Assemble(const arrow::RecordBatch& source_rows,
                                                       const arrow::RecordBatch* others) const;

  const Context& context_;
  const std::shared_ptr<const Dataset> dataset_;
  arrow::RecordBatchReader* const source_;
  const MergeInsertOptions& options_;
  mutable cp::ExecContext exec_;
  std::unique_ptr<RowChange> change_;
  /// The source's columns, as the table has them.
  std::shared_ptr<arrow::Schema> source_schema_;
  /// Columns of the table that the source lacks.
  std::vector<std::string> other_columns_;
  std::optional<ColumnExpression> condition_;
  std::vector<std::string> condition_columns_;
  /// What the reader gave beyond the last part.
  std::shared_ptr<arrow::RecordBatch> left_over_;
  /// Rows of the table that have a partner; only where those without one go.
  RowCollector matched_;
  /// By fragment.
  std::map<uint64_t, uint64_t> row_bytes_;
};

Status Merger::CheckColumns() {
  const arrow::Schema& schema = *dataset_->arrow_schema();
  arrow::FieldVector fields;
  for (const std::shared_ptr<arrow::Field>& field : source_->schema()->fields()) {
    std::shared_ptr<arrow::Field> own = schema.GetFieldByName(field->name());
    if (own == nullptr) {
      return Error(ErrorCode::kNotFound, "table has no such column: \"{}\"", field->name());
    }
    if (std::any_of(fields.begin(), fields.end(),
                    [&](const auto& other) { return other->name() == field->name(); })) {
      return Error(ErrorCode::kInvalidArgument, "source has a column twice: \"{}\"", field->name());
    }
    const format::Field& stored = *dataset_->manifest().schema().Find(field->name());
    if (format::HoldsBlobs(stored)) {
      // Values come as they are written, not as they are read.
      ARROW_RETURN_NOT_OK(CheckBlobValues(stored, *field->type(), field->name()));
      own = own->WithType(field->type());
    }
    fields.push_back(std::move(own));
  }
  source_schema_ = arrow::schema(std::move(fields));
  if (options_.on.empty()) {
    return Error(ErrorCode::kInvalidArgument, "a merge needs a key column");
  }
  for (const std::string& name : options_.on) {
    std::shared_ptr<arrow::Field> field = source_schema_->GetFieldByName(name);
    if (field == nullptr) {
      return Error(ErrorCode::kNotFound, "source or table has no such key column: \"{}\"", name);
    }
    ARROW_RETURN_NOT_OK(MergeKeys::CheckType(*field->type(), name));
  }
  for (const std::shared_ptr<arrow::Field>& field : schema.fields()) {
    if (source_schema_->GetFieldIndex(field->name()) >= 0) continue;
    other_columns_.push_back(field->name());
    if (options_.insert_not_matched && !field->nullable()) {
      return Error(ErrorCode::kInvalidArgument,
                   "source lacks a column that may not be null: \"{}\"", field->name());
    }
  }
  return Status::OK();
}

Status Merger::BindCondition() {
  if (!options_.update_if) return Status::OK();
  const arrow::Schema schema(
      {arrow::field(kSource, arrow::struct_(source_schema_->fields())),
       arrow::field(kTarget, arrow::struct_(dataset_->arrow_schema()->fields()))});
  ARROW_ASSIGN_OR_RAISE(condition_,
                        ColumnExpression::Bind(*options_.update_if, schema,
                                               arrow::field("when matched", arrow::boolean())));
  for (const std::shared_ptr<arrow::Field>& field : dataset_->arrow_schema()->fields()) {
    condition_columns_.push_back(field->name());
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> Merger::Conform(const arrow::RecordBatch& batch) const {
  arrow::ArrayVector arrays;
  for (int i = 0; i < batch.num_columns(); ++i) {
    const std::shared_ptr<arrow::DataType>& type = source_schema_->field(i)->type();
    if (batch.column(i)->type()->Equals(*type)) {
      arrays.push_back(batch.column(i));
      continue;
    }
    Result<arrow::Datum> cast = cp::Cast(batch.column(i), type, cp::CastOptions::Safe(), &exec_);
    if (!cast.ok()) {
      return Error(ErrorCode::kInvalidArgument, "value does not fit its column: \"{}\": {}",
                   source_schema_->field(i)->name(), cast.status().message());
    }
    arrays.push_back(cast->make_array());
  }
  return arrow::RecordBatch::Make(source_schema_, batch.num_rows(), std::move(arrays));
}

Result<std::optional<SourcePart>> Merger::NextPart() {
  const int64_t bound =
      std::min(kMaxPartBytes, std::max<int64_t>(context_.memory->limit() / kBudgetShare, 1));
  arrow::RecordBatchVector batches;
  int64_t bytes = 0;
  int64_t rows = 0;
  for (;;) {
    ARROW_RETURN_NOT_OK(context_.Check());
    std::shared_ptr<arrow::RecordBatch> batch = std::move(left_over_);
    left_over_ = nullptr;
    if (batch == nullptr) {
      ARROW_RETURN_NOT_OK(source_->ReadNext(&batch));
      if (batch == nullptr) break;
      ARROW_ASSIGN_OR_RAISE(batch, Conform(*batch));
    }
    if (batch->num_rows() == 0) continue;
    ARROW_ASSIGN_OR_RAISE(const int64_t size, arrow::util::ReferencedBufferSize(*batch));
    if (rows > 0 && (bytes + size > bound || rows + batch->num_rows() > kMaxPartRows)) {
      left_over_ = std::move(batch);
      break;
    }
    bytes += size;
    rows += batch->num_rows();
    batches.push_back(std::move(batch));
  }
  if (batches.empty()) return std::optional<SourcePart>();
  SourcePart part;
  part.row_bytes = static_cast<uint64_t>(bytes / rows) + 1;
  if (batches.size() == 1) {
    part.rows = batches[0];
  } else {
    ARROW_ASSIGN_OR_RAISE(auto table, arrow::Table::FromRecordBatches(source_schema_, batches));
    ARROW_ASSIGN_OR_RAISE(part.rows, table->CombineChunksToBatch(context_.pool()));
  }
  arrow::ArrayVector columns;
  for (const std::string& name : options_.on) {
    columns.push_back(part.rows->GetColumnByName(name));
  }
  ARROW_ASSIGN_OR_RAISE(MergeKeys keys, MergeKeys::Of(columns));
  part.table = std::make_unique<MergeTable>(std::move(keys));
  return part;
}

Status Merger::Match(const SourcePart& part, Scanner* scanner, size_t morsel,
                     std::vector<Pair>* found) const {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, scanner->Read(context_, morsel));
  if (batch == nullptr || batch->num_rows() == 0) return Status::OK();
  arrow::ArrayVector columns(batch->columns().begin(), batch->columns().end() - 1);
  ARROW_ASSIGN_OR_RAISE(MergeKeys keys, MergeKeys::Of(columns));
  const auto& addresses = static_cast<const arrow::UInt64Array&>(*batch->columns().back());
  for (size_t row = 0; row < keys.size(); ++row) {
    const uint32_t source_row = part.table->Find(keys, row);
    if (source_row == MergeTable::kNone) continue;
    if (options_.when_matched == Matched::kFail) {
      return Error(ErrorCode::kInvalidArgument, "a source row matches a row of the table: {}",
                   part.rows->Slice(source_row, 1)->ToString());
    }
    if (options_.when_matched != Matched::kNothing && part.table->IsAmbiguous(source_row)) {
      return Error(ErrorCode::kInvalidArgument,
                   "several source rows match one row of the table: {}",
                   part.rows->Slice(source_row, 1)->ToString());
    }
    found->push_back({source_row, addresses.Value(static_cast<int64_t>(row))});
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> Merger::TakeRows(
    const arrow::RecordBatch& rows, const std::shared_ptr<arrow::Array>& places) const {
  arrow::ArrayVector arrays;
  for (const std::shared_ptr<arrow::Array>& column : rows.columns()) {
    ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(), TakeValues(column, places, context_.pool()));
  }
  return arrow::RecordBatch::Make(rows.schema(), places->length(), std::move(arrays));
}

Result<std::shared_ptr<arrow::RecordBatch>> Merger::Assemble(
    const arrow::RecordBatch& source_rows, const arrow::RecordBatch* others) const {
  arrow::ArrayVector arrays;
  arrow::FieldVector fields;
  for (const std::shared_ptr<arrow::Field>& field : dataset_->arrow_schema()->fields()) {
    std::shared_ptr<arrow::Array> column = source_rows.GetColumnByName(field->name());
    if (column == nullptr && others != nullptr) column = others->GetColumnByName(field->name());
    if (column == nullptr) {
      ARROW_ASSIGN_OR_RAISE(
          column, arrow::MakeArrayOfNull(field->type(), source_rows.num_rows(), context_.pool()));
    }
    fields.push_back(field->WithType(column->type()));
    arrays.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), source_rows.num_rows(),
                                  std::move(arrays));
}

Result<uint64_t> Merger::RowBytesOf(uint64_t fragment_id) {
  auto [found, added] = row_bytes_.try_emplace(fragment_id, 0);
  if (!added) return found->second;
  // DatasetImpl is the only Dataset.
  const auto& dataset = static_cast<const DatasetImpl&>(*dataset_);
  ARROW_ASSIGN_OR_RAISE(const Fragment* fragment, dataset.FragmentById(fragment_id));
  ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows,
                        dataset.source()->PhysicalRows(context_, *fragment));
  ARROW_ASSIGN_OR_RAISE(found->second,
                        dataset.source()->RowBytes(context_, *fragment, physical_rows,
                                                   dataset_->arrow_schema()->fields()));
  return found->second;
}

Result<size_t> Merger::CountPairs(const SourcePart& part, std::span<const Pair> pairs) {
  const uint64_t most_bytes = BytesPerRead(context_, kMostBytesAtOnce);
  const size_t most = std::min(pairs.size(), kMostRowsAtOnce);
  uint64_t bytes = 0;
  size_t count = 0;
  while (count < most) {
    ARROW_ASSIGN_OR_RAISE(const uint64_t row_bytes, RowBytesOf(pairs[count].address >> 32));
    bytes += part.row_bytes + row_bytes;
    if (count > 0 && bytes > most_bytes) break;
    ++count;
  }
  return count;
}

Status Merger::UpdatePairs(const SourcePart& part, std::span<const Pair> pairs) {
  std::vector<RowAddress> addresses;
  arrow::UInt32Builder builder(context_.pool());
  for (const Pair& pair : pairs) {
    addresses.push_back(pair.address);
    ARROW_RETURN_NOT_OK(builder.Append(pair.source_row));
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> places, builder.Finish());
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> rows, TakeRows(*part.rows, places));
  std::shared_ptr<arrow::RecordBatch> others;
  if (condition_) {
    ARROW_ASSIGN_OR_RAISE(others, dataset_->Take(context_, addresses, condition_columns_));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> source, rows->ToStructArray());
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> target, others->ToStructArray());
    auto both = arrow::RecordBatch::Make(arrow::schema({arrow::field(kSource, source->type()),
                                                        arrow::field(kTarget, target->type())}),
                                         rows->num_rows(), arrow::ArrayVector{source, target});
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> mask,
                          condition_->Evaluate(context_, *both));
    const auto keep = std::static_pointer_cast<arrow::BooleanArray>(mask);
    std::vector<RowAddress> kept;
    for (int64_t i = 0; i < keep->length(); ++i) {
      if (keep->IsValid(i) && keep->Value(i)) kept.push_back(addresses[i]);
    }
    addresses = std::move(kept);
    for (std::shared_ptr<arrow::RecordBatch>* batch : {&rows, &others}) {
      ARROW_ASSIGN_OR_RAISE(*batch, FilterRows(*batch, keep, context_.pool()));
    }
  } else if (!other_columns_.empty()) {
    ARROW_ASSIGN_OR_RAISE(others, dataset_->Take(context_, addresses, other_columns_));
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> whole, Assemble(*rows, others.get()));
  return change_->Update(addresses, *whole);
}

Status Merger::InsertUnmatched(const SourcePart& part, const std::vector<uint8_t>& matched) {
  const auto most_rows = static_cast<int64_t>(
      RowsPerRead(BytesPerRead(context_, kMostBytesAtOnce), part.row_bytes, kMostRowsAtOnce));
  for (size_t first = 0; first < matched.size();) {
    arrow::UInt32Builder builder(context_.pool());
    size_t row = first;
    for (; row < matched.size() && builder.length() < most_rows; ++row) {
      if (matched[row] == 0) ARROW_RETURN_NOT_OK(builder.Append(static_cast<uint32_t>(row)));
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> places, builder.Finish());
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> rows, TakeRows(*part.rows, places));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> whole, Assemble(*rows, nullptr));
    ARROW_RETURN_NOT_OK(change_->Insert(*whole));
    first = row;
  }
  return Status::OK();
}

Status Merger::TakeMatches(const SourcePart& part, bool at_end, std::vector<Pair>* pairs) {
  if (!at_end && pairs->size() < kMostRowsAtOnce) return Status::OK();
  if (options_.when_matched == Matched::kUpdate) {
    for (std::span<const Pair> left(*pairs); !left.empty();) {
      ARROW_RETURN_NOT_OK(context_.Check());
      ARROW_ASSIGN_OR_RAISE(const size_t count, CountPairs(part, left));
      ARROW_RETURN_NOT_OK(UpdatePairs(part, left.first(count)));
      left = left.subspan(count);
    }
  }
  std::vector<RowAddress> addresses;
  addresses.reserve(pairs->size());
  for (const Pair& pair : *pairs) addresses.push_back(pair.address);
  pairs->clear();
  if (options_.when_matched == Matched::kDelete) ARROW_RETURN_NOT_OK(change_->Delete(addresses));
  return options_.delete_not_matched_by_source ? matched_.Add(addresses) : Status::OK();
}

Status Merger::MergePart(const SourcePart& part) {
  ScanOptions scan;
  scan.columns = options_.on;
  scan.with_row_address = true;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Scanner> scanner, dataset_->Scan(context_, scan));
  std::vector<uint8_t> matched(part.rows->num_rows(), 0);
  std::vector<Pair> pairs;
  // A bounded number of morsels at a time.
  const size_t wave = MorselsAtOnce(context_, *scanner);
  for (size_t first = 0; first < scanner->num_morsels(); first += wave) {
    std::vector<std::vector<Pair>> found(std::min(wave, scanner->num_morsels() - first));
    ARROW_RETURN_NOT_OK(ParallelFor(ScanThreadPool(), found.size(), [&](size_t i) {
      return Match(part, scanner.get(), first + i, &found[i]);
    }));
    for (const std::vector<Pair>& some : found) {
      for (const Pair& pair : some) matched[pair.source_row] = 1;
      pairs.insert(pairs.end(), some.begin(), some.end());
    }
    ARROW_RETURN_NOT_OK(TakeMatches(part, /*at_end=*/false, &pairs));
  }
  ARROW_RETURN_NOT_OK(TakeMatches(part, /*at_end=*/true, &pairs));
  if (!options_.insert_not_matched) return Status::OK();
  // Rows of a key that occurs several times are found by one of them only.
  part.table->SpreadMarks(&matched);
  return InsertUnmatched(part, matched);
}

Status Merger::DeleteUnmatchedBySource() {
  const std::map<uint64_t, DeletionVector> matched = matched_.Take();
  ScanOptions scan;
  scan.columns.emplace();
  scan.filter = options_.by_source_if;
  scan.with_row_address = true;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Scanner> scanner, dataset_->Scan(context_, scan));
  for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                          scanner->Read(context_, morsel));
    if (batch == nullptr || batch->num_rows() == 0) continue;
    const auto& addresses = static_cast<const arrow::UInt64Array&>(*batch->column(0));
    // A morsel lies in one fragment.
    const auto in_fragment = matched.find(addresses.Value(0) >> 32);
    std::vector<RowAddress> unmatched;
    for (int64_t i = 0; i < addresses.length(); ++i) {
      const RowAddress address = addresses.Value(i);
      if (in_fragment != matched.end() && in_fragment->second.Contains(address & 0xffffffff)) {
        continue;
      }
      unmatched.push_back(address);
    }
    ARROW_RETURN_NOT_OK(change_->Delete(unmatched));
  }
  return Status::OK();
}

Result<PreparedChange> Merger::Run() {
  ARROW_RETURN_NOT_OK(InitializeArrowCompute());
  ARROW_RETURN_NOT_OK(
      VersionOfNewFiles(dataset_->manifest(), dataset_->store()->description()).status());
  ARROW_RETURN_NOT_OK(CheckColumns());
  ARROW_RETURN_NOT_OK(BindCondition());
  RowChangeOptions row_options{
      .writer = options_.writer, .changed_columns = {}, .check = options_.check};
  row_options.changed_columns.emplace();
  for (const std::shared_ptr<arrow::Field>& field : source_schema_->fields()) {
    row_options.changed_columns->insert(field->name());
  }
  ARROW_ASSIGN_OR_RAISE(change_, RowChange::Open(context_, dataset_, std::move(row_options)));
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(std::optional<SourcePart> part, NextPart());
    if (!part) break;
    ARROW_RETURN_NOT_OK(MergePart(*part));
  }
  if (options_.delete_not_matched_by_source) ARROW_RETURN_NOT_OK(DeleteUnmatchedBySource());
  return change_->Finish({.predicate = "merge insert", .inserted_by_key = true});
}

}  // namespace

Result<PreparedChange> MergeInsert(const Context& context, std::shared_ptr<const Dataset> dataset,
                                   arrow::RecordBatchReader* source,
                                   const MergeInsertOptions& options) {
  return Merger(context, std::move(dataset), source, options).Run();
}

}  // namespace lake::table
