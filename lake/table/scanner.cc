#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>

#include <arrow/array.h>
#include <arrow/compute/exec.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/bit_run_reader.h>
#include <arrow/util/bitmap_ops.h>

#include "lake/base/arrow_compute.h"
#include "lake/base/arrow_select.h"
#include "lake/base/checked.h"
#include "lake/table/dataset_impl.h"
#include "lake/table/read_ahead_internal.h"
#include "lake/table/row_bytes.h"
#include "lake/table/row_ids_of_fragment.h"

namespace lake::table {

namespace {

namespace cp = arrow::compute;

// Morsels are cut so that one holds about this many bytes: small enough for what is decoded to stay
// in a core's cache until it is used, large enough that planning a morsel does not count.
constexpr uint64_t kMorselBytes = 4ull << 20;
// Files cut their chunks and mostly their pages at multiples of this many rows.
constexpr uint64_t kMorselStep = 1024;
// Bytes that are read ahead at most, and their part of the memory budget.
constexpr uint64_t kReadAheadBytes = 64ull << 20;
constexpr int64_t kReadAheadBudgetShare = 8;

struct Morsel {
  const Fragment* fragment;
  uint64_t start;
  uint64_t count;
};

/// The morsels of a scan. Takes memory for fragments, not for morsels: how many rows a fragment has
/// is only what the manifest claims.
class Morsels {
 public:
  /// Cuts the `rows` of a fragment every `step` rows.
  void Add(const Fragment* fragment, uint64_t rows, uint64_t step) {
    if (rows == 0) return;
    parts_.push_back({fragment, size_, rows, step});
    size_ += CeilDiv(rows, step);
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  /// REQUIRES: index < size().
  Morsel At(size_t index) const {
    const auto behind =
        std::upper_bound(parts_.begin(), parts_.end(), index,
                         [](size_t index, const Part& part) { return index < part.first; });
    const Part& part = *std::prev(behind);
    const uint64_t start = (index - part.first) * part.step;
    return {part.fragment, start, std::min(part.step, part.rows - start)};
  }

 private:
  struct Part {
    const Fragment* fragment;
    /// Morsels before it.
    size_t first;
    uint64_t rows;
    uint64_t step;
  };
  std::vector<Part> parts_;
  size_t size_ = 0;
};

/// One column of the output.
struct OutputColumn {
  /// Null for one that is not the table's own.
  const format::Field* field = nullptr;
  RowMetaColumn meta = RowMetaColumn::kRowAddress;
  /// Its place among the filter's columns, or -1.
  int in_filter = -1;
  /// Its place among the columns that are read behind the filter, or -1.
  int in_rest = -1;
};

/// Rows of `selection` at the positions where `mask` is true and not null.
format::RowSelection Select(const format::RowSelection& selection,
                            const arrow::BooleanArray& mask) {
  format::RowSelection selected;
  size_t range_index = 0;
  uint64_t range_position = 0;  // position of the current range's first row in the mask
  auto add = [&](uint64_t position, uint64_t length) {
    while (length > 0) {
      const format::RowRange& range = selection.ranges()[range_index];
      if (position >= range_position + range.count) {
        range_position += range.count;
        ++range_index;
        continue;
      }
      const uint64_t offset = position - range_position;
      const uint64_t take = std::min(length, range.count - offset);
      selected.Append(range.start + offset, take);
      position += take;
      length -= take;
    }
  };
  if (mask.null_count() == 0) {
    arrow::internal::VisitSetBitRunsVoid(mask.values()->data(), mask.offset(), mask.length(), add);
  } else {
    for (int64_t i = 0; i < mask.length(); ++i) {
      if (mask.IsValid(i) && mask.Value(i)) add(i, 1);
    }
  }
  return selected;
}

/// The first `count` rows of `selection`.
format::RowSelection Prefix(const format::RowSelection& selection, uint64_t count) {
  format::RowSelection prefix;
  for (const format::RowRange& range : selection.ranges()) {
    const uint64_t take = std::min(range.count, count);
    if (take == 0) break;
    prefix.Append(range.start, take);
    count -= take;
  }
  return prefix;
}

class ScannerImpl final : public Scanner {
 public:
  explicit ScannerImpl(std::shared_ptr<FragmentSource> source) : source_(std::move(source)) {}
  ~ScannerImpl() override {
    if (read_ahead_ != nullptr) read_ahead_->Stop();
  }

  Status Plan(const Context& context, ScanOptions options);

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  size_t num_morsels() const override { return morsels_.size(); }
  uint64_t morsel_rows(size_t morsel) const override { return morsels_.At(morsel).count; }
  uint64_t morsel_bytes() const override { return morsel_bytes_; }
  Result<std::shared_ptr<arrow::RecordBatch>> Read(const Context& context, size_t morsel) override;

 private:
  Status PlanColumns(const ScanOptions& options);
  Status PlanFilter(const cp::Expression& filter);
  Status PlanMorsels(const Context& context, uint64_t morsel_rows);
  Result<uint64_t> RowsPerMorsel(const Context& context, const Fragment& fragment, uint64_t rows,
                                 uint64_t wanted);
  void PlanReadAhead(const Context& context, Prefetch mode);
  /// False if the filter holds for no row of the fragment, whatever its files hold.
  Result<bool> MayMatch(const Fragment& fragment) const;
  Result<std::shared_ptr<arrow::RecordBatch>> ReadUnfiltered(const Context& context,
                                                             size_t morsel_index);

  /// Of `rows` of the fragment, whose filter_fields_ are `batch`.
  Result<std::shared_ptr<arrow::BooleanArray>> EvaluateFilter(
      const Context& context, const Fragment& fragment, const format::RowSelection& rows,
      const arrow::RecordBatch& batch) const;
  Result<std::shared_ptr<arrow::RecordBatch>> Output(
      const Context& context, const Fragment& fragment, const format::RowSelection& rows,
      const std::shared_ptr<arrow::RecordBatch>& filter_batch,
      const std::shared_ptr<arrow::RecordBatch>& rest_batch) const;
  /// Takes up to `count` rows from what the limit leaves.
  uint64_t TakeFromLimit(uint64_t count);

  const std::shared_ptr<FragmentSource> source_;
  std::shared_ptr<arrow::Schema> schema_;
  /// The same, and what only the filter reads.
  std::shared_ptr<arrow::Schema> read_schema_;
  std::vector<OutputColumn> outputs_;
  /// Bound to the schema of filter_fields_ and filter_metas_.
  std::optional<cp::Expression> filter_;
  std::shared_ptr<arrow::Schema> filter_schema_;
  std::vector<const format::Field*> filter_fields_;
  /// What the filter looks at that is not the table's own.
  std::vector<RowMetaColumn> filter_metas_;
  /// Output fields that the filter does not read.
  std::vector<const format::Field*> rest_fields_;
  Morsels morsels_;
  /// Of the largest morsel, about.
  uint64_t morsel_bytes_ = 1;
  bool keep_dictionaries_ = false;
  /// Of the columns that are read first; null where there are none, or where a limit decides what
  /// is read.
  std::shared_ptr<ReadAhead> read_ahead_;
  bool has_limit_ = false;
  std::atomic<uint64_t> limit_left_{0};
};

Status ScannerImpl::Plan(const Context& context, ScanOptions options) {
  if (options.morsel_rows == 0) {
    return Error(ErrorCode::kInvalidArgument, "a scan needs morsels of at least one row");
  }
  has_limit_ = options.limit.has_value();
  limit_left_ = options.limit.value_or(0);
  keep_dictionaries_ = options.keep_dictionaries;
  if (options.filter) ARROW_RETURN_NOT_OK(PlanFilter(*options.filter));
  ARROW_RETURN_NOT_OK(PlanColumns(options));
  ARROW_RETURN_NOT_OK(PlanMorsels(context, options.morsel_rows));
  PlanReadAhead(context, options.prefetch);
  return Status::OK();
}

void ScannerImpl::PlanReadAhead(const Context& context, Prefetch mode) {
  const std::vector<const format::Field*>& fields = filter_ ? filter_fields_ : rest_fields_;
  if (fields.empty() || has_limit_ || morsels_.empty()) return;
  auto fetch = [source = source_, fields, morsels = morsels_,
                keep = keep_dictionaries_ && !filter_](const Context& context,
                                                       size_t index) -> Result<ReadAhead::Fetched> {
    const Morsel morsel = morsels.At(index);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                          source->Deletions(context, *morsel.fragment));
    return source->Fetch(context, *morsel.fragment, fields,
                         deletions->Survivors(morsel.start, morsel.count), keep);
  };
  const int64_t budget = context.memory->limit() / kReadAheadBudgetShare;
  read_ahead_ = std::make_shared<ReadAhead>(
      morsels_.size(), std::move(fetch), mode,
      std::min<uint64_t>(kReadAheadBytes, static_cast<uint64_t>(budget)), morsel_bytes_);
}

Status ScannerImpl::PlanFilter(const cp::Expression& filter) {
  ARROW_RETURN_NOT_OK(InitializeArrowCompute());
  const format::Schema& schema = source_->manifest().schema();
  arrow::FieldVector fields;
  arrow::FieldVector meta_fields;
  for (const arrow::FieldRef& ref : cp::FieldsInExpression(filter)) {
    const std::string* name = ref.name();
    if (name == nullptr && ref.nested_refs() != nullptr) name = ref.nested_refs()->front().name();
    if (name == nullptr) {
      return Error(ErrorCode::kInvalidArgument, "a filter must name its columns: {}",
                   ref.ToString());
    }
    const std::optional<RowMetaColumn> meta = FindRowMetaColumn(*name);
    if (meta && schema.Find(*name) == nullptr) {
      if (std::find(filter_metas_.begin(), filter_metas_.end(), *meta) == filter_metas_.end()) {
        ARROW_RETURN_NOT_OK(CheckRowMetaColumn(source_->manifest(), *meta));
        filter_metas_.push_back(*meta);
        meta_fields.push_back(RowMetaField(*meta));
      }
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(const format::Field* field, FindColumn(schema, *name));
    if (std::find(filter_fields_.begin(), filter_fields_.end(), field) != filter_fields_.end()) {
      continue;
    }
    filter_fields_.push_back(field);
    ARROW_ASSIGN_OR_RAISE(fields.emplace_back(), format::ToArrow(*field));
  }
  fields.insert(fields.end(), meta_fields.begin(), meta_fields.end());
  filter_schema_ = arrow::schema(std::move(fields));
  Result<cp::Expression> bound = filter.Bind(*filter_schema_);
  if (!bound.ok()) {
    return Error(ErrorCode::kInvalidArgument, "filter cannot be evaluated: {}: {}",
                 filter.ToString(), bound.status().message());
  }
  if (bound->type()->id() != arrow::Type::BOOL && bound->type()->id() != arrow::Type::NA) {
    return Error(ErrorCode::kInvalidArgument, "a filter must be boolean: {}: {}", filter.ToString(),
                 bound->type()->ToString());
  }
  filter_ = *std::move(bound);
  return Status::OK();
}

Status ScannerImpl::PlanColumns(const ScanOptions& options) {
  const Manifest& manifest = source_->manifest();
  arrow::FieldVector fields;
  auto add_meta = [&](RowMetaColumn meta) {
    OutputColumn output;
    output.meta = meta;
    outputs_.push_back(output);
    fields.push_back(RowMetaField(meta));
    return CheckRowMetaColumn(manifest, meta);
  };
  auto add = [&](const format::Field* field) -> Status {
    OutputColumn output{.field = field};
    auto filtered = std::find(filter_fields_.begin(), filter_fields_.end(), field);
    if (filtered != filter_fields_.end()) {
      output.in_filter = static_cast<int>(filtered - filter_fields_.begin());
    } else {
      output.in_rest = static_cast<int>(rest_fields_.size());
      rest_fields_.push_back(field);
    }
    outputs_.push_back(output);
    ARROW_ASSIGN_OR_RAISE(fields.emplace_back(), format::ToArrow(*field));
    return Status::OK();
  };
  if (!options.columns) {
    for (const format::Field& field : manifest.schema().fields) ARROW_RETURN_NOT_OK(add(&field));
  } else {
    for (const std::string& name : *options.columns) {
      const format::Field* field = manifest.schema().Find(name);
      const std::optional<RowMetaColumn> meta = FindRowMetaColumn(name);
      if (field == nullptr && meta) {
        ARROW_RETURN_NOT_OK(add_meta(*meta));
      } else {
        ARROW_ASSIGN_OR_RAISE(field, FindColumn(manifest.schema(), name));
        ARROW_RETURN_NOT_OK(add(field));
      }
    }
  }
  if (options.with_row_address) ARROW_RETURN_NOT_OK(add_meta(RowMetaColumn::kRowAddress));
  schema_ = arrow::schema(fields);
  if (filter_schema_ != nullptr) {
    for (size_t i = 0; i < filter_fields_.size(); ++i) {
      const bool is_output = std::any_of(
          outputs_.begin(), outputs_.end(),
          [&](const OutputColumn& output) { return output.in_filter == static_cast<int>(i); });
      if (!is_output) fields.push_back(filter_schema_->field(static_cast<int>(i)));
    }
  }
  read_schema_ = arrow::schema(std::move(fields));
  return Status::OK();
}

Result<uint64_t> ScannerImpl::RowsPerMorsel(const Context& context, const Fragment& fragment,
                                            uint64_t physical_rows, uint64_t wanted) {
  ARROW_ASSIGN_OR_RAISE(
      const uint64_t row_bytes,
      source_->RowBytes(context, fragment, physical_rows, read_schema_->fields()));
  uint64_t rows = RowsPerRead(BytesPerRead(context, kMorselBytes), row_bytes, wanted);
  // A power of two, so that morsels end where chunks and pages do.
  if (rows >= kMorselStep) rows = std::bit_floor(rows);
  morsel_bytes_ = std::max(morsel_bytes_, rows * row_bytes);
  return rows;
}

Result<bool> ScannerImpl::MayMatch(const Fragment& fragment) const {
  // Lance files carry no statistics of their values. What the manifest tells: a fragment written
  // before a column was added has nothing but nulls in it.
  std::vector<cp::Expression> nulls;
  for (const format::Field* field : filter_fields_) {
    if (!FragmentSource::HasField(fragment, *field)) {
      nulls.push_back(cp::is_null(cp::field_ref(field->name)));
    }
  }
  if (nulls.empty()) return true;
  ARROW_ASSIGN_OR_RAISE(const cp::Expression known, cp::and_(nulls).Bind(*filter_schema_));
  ARROW_ASSIGN_OR_RAISE(const cp::Expression simplified,
                        cp::SimplifyWithGuarantee(*filter_, known));
  return simplified.IsSatisfiable();
}

Status ScannerImpl::PlanMorsels(const Context& context, uint64_t morsel_rows) {
  for (const Fragment& fragment : source_->manifest().fragments()) {
    if (filter_) {
      ARROW_ASSIGN_OR_RAISE(const bool may_match, MayMatch(fragment));
      if (!may_match) continue;
    }
    ARROW_ASSIGN_OR_RAISE(uint64_t rows, source_->PhysicalRows(context, fragment));
    ARROW_ASSIGN_OR_RAISE(const uint64_t step, RowsPerMorsel(context, fragment, rows, morsel_rows));
    morsels_.Add(&fragment, rows, step);
  }
  return Status::OK();
}

uint64_t ScannerImpl::TakeFromLimit(uint64_t count) {
  if (!has_limit_) return count;
  uint64_t left = limit_left_.load(std::memory_order_relaxed);
  while (!limit_left_.compare_exchange_weak(left, left - std::min(left, count),
                                            std::memory_order_relaxed)) {
  }
  return std::min(left, count);
}

Result<std::shared_ptr<arrow::RecordBatch>> ScannerImpl::ReadUnfiltered(const Context& context,
                                                                        size_t morsel_index) {
  const Morsel morsel = morsels_.At(morsel_index);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                        source_->Deletions(context, *morsel.fragment));
  format::RowSelection rows = deletions->Survivors(morsel.start, morsel.count);
  const uint64_t taken = TakeFromLimit(rows.num_rows());
  if (taken == 0 && !rows.empty()) return nullptr;
  if (taken < rows.num_rows()) rows = Prefix(rows, taken);
  std::unique_ptr<FetchedFragment> fetched;
  if (read_ahead_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(fetched, read_ahead_->Take(context, morsel_index));
  } else {
    ARROW_ASSIGN_OR_RAISE(
        fetched, source_->Fetch(context, *morsel.fragment, rest_fields_, rows, keep_dictionaries_));
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, fetched->Decode(context));
  return Output(context, *morsel.fragment, rows, nullptr, batch);
}

Result<std::shared_ptr<arrow::RecordBatch>> ScannerImpl::Read(const Context& context,
                                                              size_t morsel_index) {
  ARROW_RETURN_NOT_OK(context.Check());
  if (has_limit_ && limit_left_.load(std::memory_order_relaxed) == 0) return nullptr;
  if (!filter_) return ReadUnfiltered(context, morsel_index);
  const Morsel morsel = morsels_.At(morsel_index);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                        source_->Deletions(context, *morsel.fragment));
  const format::RowSelection rows = deletions->Survivors(morsel.start, morsel.count);
  std::unique_ptr<FetchedFragment> fetched;
  if (read_ahead_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(fetched, read_ahead_->Take(context, morsel_index));
  } else {
    ARROW_ASSIGN_OR_RAISE(fetched, source_->Fetch(context, *morsel.fragment, filter_fields_, rows));
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> filter_batch, fetched->Decode(context));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::BooleanArray> mask,
                        EvaluateFilter(context, *morsel.fragment, rows, *filter_batch));
  if (outputs_.empty()) {
    const uint64_t count = TakeFromLimit(static_cast<uint64_t>(mask->true_count()));
    return arrow::RecordBatch::Make(schema_, static_cast<int64_t>(count), arrow::ArrayVector{});
  }
  format::RowSelection survivors = Select(rows, *mask);
  const uint64_t taken = TakeFromLimit(survivors.num_rows());
  if (taken == 0 && !survivors.empty()) return nullptr;
  if (taken < survivors.num_rows()) survivors = Prefix(survivors, taken);

  // Where most rows survive, reading ranges and dropping some is cheaper than picking rows.
  const bool read_all = survivors.num_rows() > rows.num_rows() / 2;
  std::shared_ptr<arrow::RecordBatch> rest_batch;
  if (!rest_fields_.empty()) {
    ARROW_ASSIGN_OR_RAISE(fetched, source_->Fetch(context, *morsel.fragment, rest_fields_,
                                                  read_all ? rows : survivors, keep_dictionaries_));
    ARROW_ASSIGN_OR_RAISE(rest_batch, fetched->Decode(context));
  }
  if (survivors.num_rows() < rows.num_rows()) {
    auto keep = [&](std::shared_ptr<arrow::RecordBatch>* batch) -> Status {
      ARROW_ASSIGN_OR_RAISE(*batch, FilterRows(*batch, mask, context.pool()));
      *batch = (*batch)->Slice(0, survivors.num_rows());
      return Status::OK();
    };
    if (!filter_fields_.empty()) ARROW_RETURN_NOT_OK(keep(&filter_batch));
    if (read_all && rest_batch != nullptr) ARROW_RETURN_NOT_OK(keep(&rest_batch));
  }
  return Output(context, *morsel.fragment, survivors, filter_batch, rest_batch);
}

Result<std::shared_ptr<arrow::BooleanArray>> ScannerImpl::EvaluateFilter(
    const Context& context, const Fragment& fragment, const format::RowSelection& rows,
    const arrow::RecordBatch& batch) const {
  cp::ExecContext exec(context.pool(), nullptr);
  std::vector<arrow::Datum> values(batch.columns().begin(), batch.columns().end());
  for (const RowMetaColumn meta : filter_metas_) {
    ARROW_ASSIGN_OR_RAISE(values.emplace_back(),
                          ReadRowMetaColumn(context, source_.get(), fragment, meta, rows));
  }
  ARROW_ASSIGN_OR_RAISE(arrow::Datum result,
                        cp::ExecuteScalarExpression(
                            *filter_, cp::ExecBatch(std::move(values), batch.num_rows()), &exec));
  std::shared_ptr<arrow::Array> mask;
  if (result.is_scalar()) {
    const arrow::Scalar& scalar = *result.scalar();
    const bool keep = scalar.is_valid && scalar.type->id() == arrow::Type::BOOL &&
                      static_cast<const arrow::BooleanScalar&>(scalar).value;
    ARROW_ASSIGN_OR_RAISE(mask, arrow::MakeArrayFromScalar(arrow::BooleanScalar(keep),
                                                           batch.num_rows(), context.pool()));
  } else {
    mask = result.make_array();
    if (mask->type_id() == arrow::Type::NA) {
      ARROW_ASSIGN_OR_RAISE(
          mask, arrow::MakeArrayOfNull(arrow::boolean(), mask->length(), context.pool()));
    }
  }
  return std::static_pointer_cast<arrow::BooleanArray>(mask);
}

Result<std::shared_ptr<arrow::RecordBatch>> ScannerImpl::Output(
    const Context& context, const Fragment& fragment, const format::RowSelection& rows,
    const std::shared_ptr<arrow::RecordBatch>& filter_batch,
    const std::shared_ptr<arrow::RecordBatch>& rest_batch) const {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  arrays.reserve(outputs_.size());
  for (const OutputColumn& output : outputs_) {
    if (output.in_filter >= 0) {
      arrays.push_back(filter_batch->column(output.in_filter));
    } else if (output.in_rest >= 0) {
      arrays.push_back(rest_batch->column(output.in_rest));
    } else {
      ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(),
                            ReadRowMetaColumn(context, source_.get(), fragment, output.meta, rows));
    }
  }
  std::shared_ptr<arrow::Schema> schema = schema_;
  if (keep_dictionaries_) {
    for (int i = 0; i < schema->num_fields(); ++i) {
      if (arrays[i]->type_id() != arrow::Type::DICTIONARY) continue;
      ARROW_ASSIGN_OR_RAISE(schema,
                            schema->SetField(i, schema->field(i)->WithType(arrays[i]->type())));
    }
  }
  return arrow::RecordBatch::Make(std::move(schema), rows.num_rows(), std::move(arrays));
}

}  // namespace

Result<std::shared_ptr<Scanner>> DatasetImpl::Scan(const Context& context,
                                                   ScanOptions options) const {
  auto scanner = std::make_shared<ScannerImpl>(source_);
  ARROW_RETURN_NOT_OK(scanner->Plan(context, std::move(options)));
  return scanner;
}

}  // namespace lake::table
