#include "lake/table/alter_columns.h"

#include <algorithm>

#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "lake/base/arrow_compute.h"
#include "lake/format/file_writer.h"
#include "lake/table/column_expression.h"
#include "lake/table/column_files.h"
#include "lake/table/dataset_impl.h"

namespace lake::table {

namespace {

namespace cp = arrow::compute;

PreparedChange Prepare(const Context& context, const Dataset& dataset, Operation operation,
                       std::vector<std::string> new_objects = {}) {
  PreparedChange change;
  change.transaction = NewTransaction(context, dataset.manifest().version(), std::move(operation),
                                      std::move(new_objects));
  return change;
}

Status CheckFree(const format::Schema& schema, const std::string& name) {
  if (schema.Find(name) == nullptr) return Status::OK();
  return Error(ErrorCode::kAlreadyExists, "table has a column of that name: \"{}\"", name);
}

/// The fields of new columns, with ids that no other had.
Result<format::Schema> NewFields(const Manifest& manifest, const arrow::Schema& columns) {
  for (const std::shared_ptr<arrow::Field>& field : columns.fields()) {
    ARROW_RETURN_NOT_OK(CheckFree(manifest.schema(), field->name()));
  }
  return format::SchemaFromArrow(columns, NextFieldId(manifest));
}

/// The fragments of the version, each with its new file behind its others.
std::vector<Fragment> WithFiles(const Manifest& manifest, const std::vector<DataFile>& files) {
  std::vector<Fragment> fragments = manifest.fragments();
  for (size_t i = 0; i < fragments.size(); ++i) fragments[i].files.push_back(files[i]);
  return fragments;
}

/// Reads the columns that expressions name, and computes.
class ExpressionSource {
 public:
  static Result<ExpressionSource> Make(const Dataset& dataset) {
    ARROW_RETURN_NOT_OK(InitializeArrowCompute());
    ExpressionSource source(static_cast<const DatasetImpl&>(dataset));
    return source;
  }

  /// Adds a column; `type` is that of the expression if null.
  Status Add(const std::string& name, const cp::Expression& expression,
             std::shared_ptr<arrow::DataType> type, bool nullable) {
    expressions_.push_back(expression);
    targets_.push_back(arrow::field(name, std::move(type), nullable));
    return Status::OK();
  }

  /// Binds all. Call once, behind the last Add.
  Status Bind() {
    std::vector<std::string> names;
    for (const cp::Expression& expression : expressions_) {
      for (const arrow::FieldRef& ref : cp::FieldsInExpression(expression)) {
        const std::string* name = ref.name();
        if (name == nullptr && ref.nested_refs() != nullptr) {
          name = ref.nested_refs()->front().name();
        }
        if (name == nullptr) {
          return Error(ErrorCode::kInvalidArgument, "an expression must name its columns: {}",
                       expression.ToString());
        }
        if (std::find(names.begin(), names.end(), *name) == names.end()) names.push_back(*name);
      }
    }
    arrow::FieldVector fields;
    for (const std::string& name : names) {
      ARROW_ASSIGN_OR_RAISE(inputs_.emplace_back(),
                            FindColumn(dataset_->manifest().schema(), name));
      ARROW_ASSIGN_OR_RAISE(fields.emplace_back(), format::ToArrow(*inputs_.back()));
    }
    const arrow::Schema schema(std::move(fields));
    for (size_t i = 0; i < expressions_.size(); ++i) {
      if (targets_[i]->type() == nullptr) {
        Result<cp::Expression> bound = expressions_[i].Bind(schema);
        if (!bound.ok()) {
          return Error(ErrorCode::kInvalidArgument,
                       "expression cannot be evaluated: column \"{}\": {}: {}", targets_[i]->name(),
                       expressions_[i].ToString(), bound.status().message());
        }
        targets_[i] = targets_[i]->WithType(bound->type()->GetSharedPtr());
      }
      ARROW_ASSIGN_OR_RAISE(ColumnExpression column,
                            ColumnExpression::Bind(expressions_[i], schema, targets_[i]));
      columns_.push_back(std::move(column));
    }
    return Status::OK();
  }

  std::shared_ptr<arrow::Schema> schema() const { return arrow::schema(targets_); }

  ColumnSource Source(const Context& context) const {
    return [this, &context](
               const Fragment& fragment,
               const format::RowSelection& rows) -> Result<std::shared_ptr<arrow::RecordBatch>> {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                            dataset_->source()->Read(context, fragment, inputs_, rows));
      arrow::ArrayVector arrays;
      for (const ColumnExpression& column : columns_) {
        ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(), column.Evaluate(context, *batch));
      }
      return arrow::RecordBatch::Make(schema(), batch->num_rows(), std::move(arrays));
    };
  }

 private:
  explicit ExpressionSource(const DatasetImpl& dataset) : dataset_(&dataset) {}

  const DatasetImpl* dataset_;
  std::vector<cp::Expression> expressions_;
  arrow::FieldVector targets_;
  std::vector<const format::Field*> inputs_;
  std::vector<ColumnExpression> columns_;
};

Result<PreparedChange> AddColumns(const Context& context, const Dataset& dataset,
                                  const arrow::Schema& columns, const ColumnSource& source,
                                  const ColumnWriteOptions& options, bool in_order) {
  ARROW_ASSIGN_OR_RAISE(format::Schema fields, NewFields(dataset.manifest(), columns));
  ARROW_ASSIGN_OR_RAISE(ColumnFiles files,
                        WriteColumnFiles(context, dataset, fields, source, options, in_order));
  MergeOperation merge;
  merge.fragments = WithFiles(dataset.manifest(), files.files);
  merge.schema = dataset.manifest().schema();
  for (format::Field& field : fields.fields) merge.schema.fields.push_back(std::move(field));
  return Prepare(context, dataset, std::move(merge), std::move(files.new_objects));
}

/// Rows of a stream, as many as asked for at a time.
class RowCursor {
 public:
  RowCursor(const Context& context, arrow::RecordBatchReader* reader)
      : context_(context), reader_(reader) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Next(uint64_t count) {
    arrow::RecordBatchVector pieces;
    while (count > 0) {
      if (batch_ == nullptr || batch_->num_rows() == 0) {
        ARROW_RETURN_NOT_OK(reader_->ReadNext(&batch_));
        if (batch_ == nullptr) {
          return Error(ErrorCode::kInvalidArgument, "new columns have fewer rows than the table");
        }
      }
      const int64_t take = std::min(static_cast<int64_t>(count), batch_->num_rows());
      pieces.push_back(batch_->Slice(0, take));
      batch_ = batch_->Slice(take);
      count -= static_cast<uint64_t>(take);
    }
    if (pieces.size() == 1) return pieces[0];
    ARROW_ASSIGN_OR_RAISE(auto table, arrow::Table::FromRecordBatches(reader_->schema(), pieces));
    return table->CombineChunksToBatch(context_.pool());
  }

  Status CheckEnd() {
    while (batch_ == nullptr || batch_->num_rows() == 0) {
      ARROW_RETURN_NOT_OK(reader_->ReadNext(&batch_));
      if (batch_ == nullptr) return Status::OK();
    }
    return Error(ErrorCode::kInvalidArgument, "new columns have more rows than the table");
  }

 private:
  const Context& context_;
  arrow::RecordBatchReader* const reader_;
  std::shared_ptr<arrow::RecordBatch> batch_;
};

Status CheckNoNulls(const Context& context, const Dataset& dataset, const std::string& column) {
  ScanOptions options;
  options.columns.emplace();
  options.filter = cp::is_null(cp::field_ref(column));
  options.with_row_address = true;
  options.limit = 1;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Scanner> scanner, dataset.Scan(context, options));
  for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                          scanner->Read(context, morsel));
    if (batch != nullptr && batch->num_rows() > 0) {
      return Error(ErrorCode::kInvalidArgument,
                   "column holds nulls, so it cannot become one that may not: \"{}\"", column);
    }
  }
  return Status::OK();
}

}  // namespace

Result<PreparedChange> AddNullColumns(const Context& context,
                                      std::shared_ptr<const Dataset> dataset,
                                      const arrow::Schema& columns) {
  ARROW_ASSIGN_OR_RAISE(format::Schema fields, NewFields(dataset->manifest(), columns));
  // No file is written now, but the next rows will have the columns.
  if (format::IsWritten(dataset->manifest().file_version())) {
    ARROW_RETURN_NOT_OK(format::CheckWritable(fields, dataset->manifest().file_version()));
  }
  MergeOperation merge;
  merge.fragments = dataset->manifest().fragments();
  merge.schema = dataset->manifest().schema();
  merge.rows_updated = false;
  for (format::Field& field : fields.fields) {
    if (!field.nullable && KnownRows(dataset->manifest()) > 0) {
      return Error(ErrorCode::kInvalidArgument,
                   "a column that may not be null needs values: \"{}\"", field.name);
    }
    merge.schema.fields.push_back(std::move(field));
  }
  return Prepare(context, *dataset, std::move(merge));
}

Result<PreparedChange> AddComputedColumns(const Context& context,
                                          std::shared_ptr<const Dataset> dataset,
                                          const std::vector<ComputedColumn>& columns,
                                          const ColumnWriteOptions& options) {
  ARROW_ASSIGN_OR_RAISE(ExpressionSource source, ExpressionSource::Make(*dataset));
  for (const ComputedColumn& column : columns) {
    ARROW_RETURN_NOT_OK(source.Add(column.name, column.expression, column.type, true));
  }
  ARROW_RETURN_NOT_OK(source.Bind());
  return AddColumns(context, *dataset, *source.schema(), source.Source(context), options,
                    /*in_order=*/false);
}

Result<PreparedChange> AddColumnsFrom(const Context& context,
                                      std::shared_ptr<const Dataset> dataset,
                                      arrow::RecordBatchReader* rows,
                                      const ColumnWriteOptions& options) {
  RowCursor cursor(context, rows);
  auto next = [&](const Fragment&, const format::RowSelection& selection) {
    return cursor.Next(selection.num_rows());
  };
  ARROW_ASSIGN_OR_RAISE(PreparedChange change, AddColumns(context, *dataset, *rows->schema(), next,
                                                          options, /*in_order=*/true));
  Status end = cursor.CheckEnd();
  if (!end.ok()) {
    (void)RemoveUncommitted(context, dataset->store().get(), change.transaction.new_objects);
    return end;
  }
  return change;
}

Result<PreparedChange> DropColumns(const Context& context, std::shared_ptr<const Dataset> dataset,
                                   const std::vector<std::string>& columns) {
  ProjectOperation project;
  project.schema = dataset->manifest().schema();
  std::vector<format::Field>& fields = project.schema.fields;
  for (const std::string& column : columns) {
    ARROW_RETURN_NOT_OK(FindColumn(project.schema, column).status());
    std::erase_if(fields, [&](const format::Field& field) { return field.name == column; });
  }
  if (fields.empty()) {
    return Error(ErrorCode::kInvalidArgument, "a table must keep a column");
  }
  return Prepare(context, *dataset, std::move(project));
}

Result<PreparedChange> AlterColumns(const Context& context, std::shared_ptr<const Dataset> dataset,
                                    const std::vector<ColumnAlteration>& alterations,
                                    const ColumnWriteOptions& options) {
  format::Schema schema = dataset->manifest().schema();
  ARROW_ASSIGN_OR_RAISE(ExpressionSource source, ExpressionSource::Make(*dataset));
  std::vector<size_t> cast;
  bool preserves_nullability = true;
  for (const ColumnAlteration& alteration : alterations) {
    ARROW_RETURN_NOT_OK(FindColumn(schema, alteration.column).status());
    auto field = std::find_if(schema.fields.begin(), schema.fields.end(),
                              [&](const auto& other) { return other.name == alteration.column; });
    // The name under which the version that is read knows it.
    ARROW_RETURN_NOT_OK(FindColumn(dataset->manifest().schema(), alteration.column).status());
    if (alteration.nullable && *alteration.nullable != field->nullable) {
      if (!*alteration.nullable) {
        ARROW_RETURN_NOT_OK(CheckNoNulls(context, *dataset, alteration.column));
      }
      field->nullable = *alteration.nullable;
      preserves_nullability = false;
    }
    if (alteration.new_type != nullptr) {
      ARROW_ASSIGN_OR_RAISE(std::string type,
                            format::LogicalType(*alteration.new_type, alteration.column));
      if (type != field->logical_type) {
        ARROW_RETURN_NOT_OK(source.Add(alteration.column, cp::field_ref(alteration.column),
                                       alteration.new_type, field->nullable));
        cast.push_back(static_cast<size_t>(field - schema.fields.begin()));
      }
    }
    if (alteration.new_name && *alteration.new_name != alteration.column) {
      ARROW_RETURN_NOT_OK(CheckFree(schema, *alteration.new_name));
      field->name = *alteration.new_name;
    }
  }
  if (cast.empty()) {
    return Prepare(context, *dataset, ProjectOperation{std::move(schema), preserves_nullability});
  }
  ARROW_RETURN_NOT_OK(source.Bind());
  ARROW_ASSIGN_OR_RAISE(
      format::Schema written,
      format::SchemaFromArrow(*source.schema(), NextFieldId(dataset->manifest())));
  ARROW_ASSIGN_OR_RAISE(ColumnFiles files, WriteColumnFiles(context, *dataset, written,
                                                            source.Source(context), options,
                                                            /*in_order=*/false));
  for (size_t i = 0; i < cast.size(); ++i) {
    format::Field& field = schema.fields[cast[i]];
    written.fields[i].name = field.name;
    written.fields[i].metadata = field.metadata;
    field = std::move(written.fields[i]);
  }
  MergeOperation merge;
  merge.fragments = WithFiles(dataset->manifest(), files.files);
  merge.schema = std::move(schema);
  merge.preserves_nullability = preserves_nullability;
  return Prepare(context, *dataset, std::move(merge), std::move(files.new_objects));
}

Result<PreparedChange> ReplaceColumn(const Context& context, std::shared_ptr<const Dataset> dataset,
                                     const std::string& column, const cp::Expression& expression,
                                     const ColumnWriteOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const format::Field* field,
                        FindColumn(dataset->manifest().schema(), column));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Field> target, format::ToArrow(*field));
  ARROW_ASSIGN_OR_RAISE(ExpressionSource source, ExpressionSource::Make(*dataset));
  ARROW_RETURN_NOT_OK(source.Add(column, expression, target->type(), field->nullable));
  ARROW_RETURN_NOT_OK(source.Bind());
  format::Schema written;
  written.fields.push_back(*field);
  ARROW_ASSIGN_OR_RAISE(ColumnFiles files, WriteColumnFiles(context, *dataset, written,
                                                            source.Source(context), options,
                                                            /*in_order=*/false));
  DataReplacementOperation replace;
  const std::vector<Fragment>& fragments = dataset->manifest().fragments();
  for (size_t i = 0; i < fragments.size(); ++i) {
    replace.replacements.push_back({fragments[i].id, std::move(files.files[i])});
  }
  PreparedChange change =
      Prepare(context, *dataset, std::move(replace), std::move(files.new_objects));
  change.is_empty = fragments.empty();
  return change;
}

}  // namespace lake::table
