#include "lake/table/column_files.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/arrow_select.h"
#include "lake/base/thread_pool.h"
#include "lake/format/blob.h"
#include "lake/format/file_writer.h"
#include "lake/table/append_writer.h"
#include "lake/table/dataset_impl.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/row_bytes.h"

namespace lake::table {

namespace {

constexpr uint64_t kRangeBytes = 32ull << 20;
constexpr uint64_t kMaxRangeRows = 128 * 1024;

/// The values at the rows that are not deleted, and nulls at the others.
Result<std::shared_ptr<arrow::Array>> Spread(const Context& context,
                                             const std::shared_ptr<arrow::Array>& values,
                                             const format::RowSelection& survivors, uint64_t start,
                                             uint64_t count) {
  arrow::Int64Builder places(context.pool());
  ARROW_RETURN_NOT_OK(places.Reserve(static_cast<int64_t>(count)));
  uint64_t next = start;
  int64_t place = 0;
  for (const format::RowRange& range : survivors.ranges()) {
    for (; next < range.start; ++next) places.UnsafeAppendNull();
    for (; next < range.end(); ++next) places.UnsafeAppend(place++);
  }
  for (; next < start + count; ++next) places.UnsafeAppendNull();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> order, places.Finish());
  return TakeValues(values, order, context.pool());
}

class ColumnFileWriter {
 public:
  /// One of `threads` writers that are at work.
  ColumnFileWriter(const Context& context, const DatasetImpl& dataset, const format::Schema& schema,
                   const format::FileVersion& file_version, const ColumnSource& source,
                   const ColumnWriteOptions& options, size_t threads)
      : context_(context),
        dataset_(dataset),
        schema_(schema),
        file_version_(file_version),
        source_(source),
        check_(options.check),
        range_bytes_(BytesPerRead(context, kRangeBytes, threads)),
        buffer_bytes_(options.max_buffered_bytes / threads) {
    // Deleted rows are null in the file, whatever the table says of the column.
    file_schema_ = schema;
    for (format::Field& field : file_schema_.fields) field.nullable = true;
  }

  Status Write(const Fragment& fragment, const std::string& name, DataFile* file) const {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Schema> arrow_schema,
                          format::ToArrow(file_schema_));
    ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows,
                          dataset_.source()->PhysicalRows(context_, fragment));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                          dataset_.source()->Deletions(context_, fragment));
    ARROW_ASSIGN_OR_RAISE(
        std::unique_ptr<format::FileWriter> writer,
        format::FileWriter::Open(context_, dataset_.store(), "data/" + name, file_schema_,
                                 {.max_buffered_bytes = buffer_bytes_, .version = file_version_}));
    // What is read and what is written.
    arrow::FieldVector fields = dataset_.arrow_schema()->fields();
    fields.insert(fields.end(), arrow_schema->fields().begin(), arrow_schema->fields().end());
    ARROW_ASSIGN_OR_RAISE(const uint64_t row_bytes,
                          dataset_.source()->RowBytes(context_, fragment, physical_rows, fields));
    const uint64_t step = RowsPerRead(range_bytes_, row_bytes, kMaxRangeRows);
    for (uint64_t start = 0; start < physical_rows; start += step) {
      ARROW_RETURN_NOT_OK(context_.Check());
      const uint64_t count = std::min(step, physical_rows - start);
      const format::RowSelection survivors = deletions->Survivors(start, count);
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                            source_(fragment, survivors));
      ARROW_RETURN_NOT_OK(Check(*batch, survivors.num_rows()));
      if (check_) ARROW_RETURN_NOT_OK(check_(*batch));
      arrow::ArrayVector arrays = batch->columns();
      if (survivors.num_rows() < count) {
        for (std::shared_ptr<arrow::Array>& array : arrays) {
          ARROW_ASSIGN_OR_RAISE(array, Spread(context_, array, survivors, start, count));
        }
      }
      ARROW_RETURN_NOT_OK(writer->Write(
          *arrow::RecordBatch::Make(arrow_schema, static_cast<int64_t>(count), arrays)));
    }
    ARROW_ASSIGN_OR_RAISE(format::WrittenFile written, writer->Finish());
    *file = {.path = name,
             .field_ids = std::move(written.field_ids),
             .column_indices = std::move(written.column_indices),
             .version = written.version,
             .size_bytes = written.size_bytes,
             .base_id = std::nullopt,
             .unknown_fields = {}};
    return Status::OK();
  }

 private:
  Status Check(const arrow::RecordBatch& batch, uint64_t rows) const {
    if (batch.num_rows() != static_cast<int64_t>(rows) ||
        batch.num_columns() != static_cast<int>(schema_.fields.size())) {
      return Error(ErrorCode::kInvalidArgument,
                   "new columns have another number of rows than the table");
    }
    for (size_t i = 0; i < schema_.fields.size(); ++i) {
      if (!schema_.fields[i].nullable && batch.column(static_cast<int>(i))->null_count() != 0) {
        return Error(ErrorCode::kInvalidArgument,
                     "a column that may not be null would hold a null: \"{}\"",
                     schema_.fields[i].name);
      }
    }
    return Status::OK();
  }

  const Context& context_;
  const DatasetImpl& dataset_;
  const format::Schema& schema_;
  const format::FileVersion file_version_;
  const ColumnSource& source_;
  const RowCheck& check_;
  const uint64_t range_bytes_;
  const uint64_t buffer_bytes_;
  format::Schema file_schema_;
};

}  // namespace

Result<ColumnFiles> WriteColumnFiles(const Context& context, const Dataset& dataset,
                                     const format::Schema& schema, const ColumnSource& source,
                                     const ColumnWriteOptions& options, bool in_order) {
  ARROW_ASSIGN_OR_RAISE(const format::FileVersion file_version,
                        VersionOfNewFiles(dataset.manifest(), dataset.store()->description()));
  for (const format::Field& field : schema.fields) {
    if (!format::HoldsBlobs(field)) continue;
    return Error(ErrorCode::kUnsupported,
                 "blobs are not written into a new column of rows that are there: column \"{}\" "
                 "(write the rows anew)",
                 field.name);
  }
  // Also where there is no row to write: what comes next could not be written either.
  ARROW_RETURN_NOT_OK(format::CheckWritable(schema, file_version));
  const std::vector<Fragment>& fragments = dataset.manifest().fragments();
  ColumnFiles columns;
  columns.files.resize(fragments.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < fragments.size(); ++i) {
    names.push_back(NewDataFileName(context));
    columns.new_objects.push_back("data/" + names.back());
  }
  // DatasetImpl is the only Dataset.
  const size_t threads =
      in_order ? 1 : std::clamp<size_t>(fragments.size(), 1, ScanThreadPool()->num_threads() + 1);
  const ColumnFileWriter writer(context, static_cast<const DatasetImpl&>(dataset), schema,
                                file_version, source, options, threads);
  auto write = [&](size_t i) { return writer.Write(fragments[i], names[i], &columns.files[i]); };
  Status status;
  if (in_order) {
    for (size_t i = 0; i < fragments.size() && status.ok(); ++i) status = write(i);
  } else {
    status = ParallelFor(ScanThreadPool(), fragments.size(), write);
  }
  if (!status.ok()) {
    (void)RemoveUncommitted(context, dataset.store().get(), columns.new_objects);
    return status;
  }
  return columns;
}

int64_t NextFieldId(const Manifest& manifest) {
  int32_t last = manifest.schema().MaxFieldId();
  for (const Fragment& fragment : manifest.fragments()) {
    for (const DataFile& file : fragment.files) {
      for (int32_t id : file.field_ids) last = std::max(last, id);
    }
  }
  return int64_t{last} + 1;
}

}  // namespace lake::table
