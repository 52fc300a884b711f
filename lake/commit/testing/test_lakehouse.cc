#include "lake/commit/testing/test_lakehouse.h"

#include <algorithm>
#include <cstdlib>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <sys/stat.h>

#include "lake/commit/recovery.h"
#include "lake/table/update_rows.h"

namespace lake::commit {
namespace {

catalog::QualifiedName InMain(const std::string& name) { return {catalog::kMainNamespace, name}; }

}  // namespace

TestLakehouse::TestLakehouse(std::shared_ptr<storage::ObjectStore> store, Context context)
    : context_(std::move(context)) {
  metastore_path_ = folder_ / "metastore.db";
  if (mkdir((folder_ / "tmp").c_str(), 0700) != 0) std::abort();
  metastore_ = std::make_shared<catalog::FaultyMetastore>(
      catalog::OpenSqliteMetastore(context_, metastore_path_).ValueOrDie());
  core_ = MakeCore(std::move(store), metastore_);
  lakehouse_ = std::make_shared<LakehouseImpl>(core_, folder_.path(), folder_ / "tmp");
}

std::shared_ptr<LakehouseImpl> TestLakehouse::OpenSecond(
    std::shared_ptr<storage::ObjectStore> store) {
  auto core = MakeCore(std::move(store),
                       catalog::OpenSqliteMetastore(context_, metastore_path_).ValueOrDie());
  if (!SettleExpiredCreations(context_, core.get()).ok()) std::abort();
  return std::make_shared<LakehouseImpl>(std::move(core), folder_.path(), folder_ / "tmp");
}

std::shared_ptr<LakehouseCore> TestLakehouse::MakeCore(
    std::shared_ptr<storage::ObjectStore> store, std::shared_ptr<catalog::Metastore> metastore) {
  StageOpener open_stage = [root = folder_.path()](const Context& context,
                                                   const std::string& tenant) {
    objects::LocalStageOptions options;
    options.root = root + "/managed-objects";
    options.stage_uri = objects::FileUriFromPath(options.root);
    options.tenant = tenant;
    options.temp_dir = root + "/tmp";
    return objects::OpenLocalStage(context, options);
  };
  return std::make_shared<LakehouseCore>(std::move(store), std::move(metastore),
                                         std::move(open_stage), Status::OK());
}

std::shared_ptr<arrow::Schema> NumbersSchema() {
  return arrow::schema({arrow::field("x", arrow::int64())});
}

std::shared_ptr<arrow::RecordBatch> Numbers(const std::vector<int64_t>& values) {
  arrow::Int64Builder builder;
  if (!builder.AppendValues(values).ok()) std::abort();
  return arrow::RecordBatch::Make(NumbersSchema(), static_cast<int64_t>(values.size()),
                                  {builder.Finish().ValueOrDie()});
}

Result<std::vector<int64_t>> ReadNumbers(const Context& context, const table::Dataset& dataset) {
  ARROW_ASSIGN_OR_RAISE(auto scanner, dataset.Scan(context, {}));
  std::vector<int64_t> values;
  for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
    ARROW_ASSIGN_OR_RAISE(auto batch, scanner->Read(context, morsel));
    if (batch == nullptr) continue;
    const auto& column = static_cast<const arrow::Int64Array&>(*batch->column(0));
    for (int64_t row = 0; row < column.length(); ++row) values.push_back(column.Value(row));
  }
  std::sort(values.begin(), values.end());
  return values;
}

Result<CommitOutcome> CreateNumbers(const Context& context, Lakehouse* lakehouse,
                                    const std::string& name, const std::vector<int64_t>& values,
                                    const OperationKey& operation) {
  WriteOptions options;
  options.operation = operation;
  ARROW_ASSIGN_OR_RAISE(
      auto write, lakehouse->Create(context, {}, InMain(name), *NumbersSchema(), {}, options));
  ARROW_RETURN_NOT_OK(write->Write(*Numbers(values)));
  return write->Commit(context);
}

Result<CommitOutcome> AppendNumbers(const Context& context, Lakehouse* lakehouse,
                                    const std::string& name, const std::vector<int64_t>& values,
                                    const OperationKey& operation) {
  WriteOptions options;
  options.operation = operation;
  ARROW_ASSIGN_OR_RAISE(
      auto table, lakehouse->OpenByName(context, {}, InMain(name), catalog::NameMatch::kExact));
  ARROW_ASSIGN_OR_RAISE(auto write, lakehouse->Append(context, {}, table, options));
  ARROW_RETURN_NOT_OK(write->Write(*Numbers(values)));
  return write->Commit(context);
}

Result<CommitOutcome> UpdateNumbers(const Context& context, Lakehouse* lakehouse,
                                    const std::string& name, int64_t from, int64_t step,
                                    const OperationKey& operation) {
  namespace cp = arrow::compute;
  WriteOptions options;
  options.operation = operation;
  ARROW_ASSIGN_OR_RAISE(
      auto table, lakehouse->OpenByName(context, {}, InMain(name), catalog::NameMatch::kExact));
  auto update = [&](const Context& context, const ChangeInput& input) {
    table::UpdateRowsOptions options;
    options.filter = cp::greater_equal(cp::field_ref("x"), cp::literal(from));
    options.assignments.emplace("x", cp::call("add", {cp::field_ref("x"), cp::literal(step)}));
    options.check = input.check;
    return table::UpdateRows(context, input.dataset, options);
  };
  return lakehouse->Change(context, {}, table, update, options);
}

Result<CommitOutcome> ReplaceNumbers(const Context& context, Lakehouse* lakehouse,
                                     const std::string& name, const std::vector<int64_t>& values,
                                     const OperationKey& operation) {
  WriteOptions options;
  options.operation = operation;
  ARROW_ASSIGN_OR_RAISE(
      auto table, lakehouse->OpenByName(context, {}, InMain(name), catalog::NameMatch::kExact));
  ARROW_ASSIGN_OR_RAISE(auto write,
                        lakehouse->Replace(context, {}, table, *NumbersSchema(), options));
  ARROW_RETURN_NOT_OK(write->Write(*Numbers(values)));
  return write->Commit(context);
}

Result<std::vector<int64_t>> NumbersOf(const Context& context, Lakehouse* lakehouse,
                                       const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(
      auto table, lakehouse->OpenByName(context, {}, InMain(name), catalog::NameMatch::kExact));
  return ReadNumbers(context, *table->dataset);
}

}  // namespace lake::commit
