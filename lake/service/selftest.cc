#include "lake/service/selftest.h"

#include <memory>
#include <utility>

#include <arrow/record_batch.h>
#include <fmt/format.h>

#include "lake/service/table_info.h"
#include "lake/table/dataset.h"

namespace lake::service {
namespace {

/// Reads the first and the last morsel, which touches every column's first and last page.
Result<std::string> CheckTable(const Context& context, Workspace* workspace,
                               const catalog::QualifiedName& name) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const commit::OpenTable> table,
                        workspace->lakehouse().OpenByName(context, workspace->principal(), name,
                                                          catalog::NameMatch::kExact));
  ARROW_ASSIGN_OR_RAISE(uint64_t rows, table->dataset->CountRows(context));
  table::ScanOptions options;
  options.morsel_rows = 1024;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<table::Scanner> scanner,
                        table->dataset->Scan(context, std::move(options)));
  size_t morsels = scanner->num_morsels();
  if (morsels > 0) ARROW_RETURN_NOT_OK(scanner->Read(context, 0).status());
  if (morsels > 1) ARROW_RETURN_NOT_OK(scanner->Read(context, morsels - 1).status());
  return fmt::format("version {}, {} rows", table->dataset->manifest().version(), rows);
}

Result<std::string> CheckEngine(const Context& context, Workspace* workspace) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<query::Session> session, workspace->Connect(context));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<query::Statement> statement,
                        session->Prepare(context, "SELECT 1"));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<query::ResultStream> stream,
                        statement->Execute(context, {}));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, stream->Next());
  if (batch == nullptr || batch->num_rows() != 1) {
    return MakeError(ErrorCode::kInternal, "SELECT 1 did not give one row");
  }
  return "DuckDB " + query::DuckDbVersion();
}

Result<std::string> CheckStage(const Context& context, Workspace* workspace) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<objects::Stage> stage, workspace->Stage(context));
  return stage->uri();
}

}  // namespace

bool SelftestReport::passed() const {
  for (const Check& check : checks) {
    if (!check.passed) return false;
  }
  return true;
}

Result<SelftestReport> RunSelftest(const Context& context, Workspace* workspace) {
  SelftestReport report;
  auto add = [&report](std::string name, Result<std::string> outcome) {
    bool passed = outcome.ok();
    report.checks.push_back(
        {std::move(name), passed, passed ? *std::move(outcome) : ErrorText(outcome.status())});
  };
  ARROW_ASSIGN_OR_RAISE(std::vector<TableListing> tables,
                        ListTables(context, workspace, {}, false));
  add("metastore", fmt::format("{} tables", tables.size()));
  add("stage", CheckStage(context, workspace));
  add("sql engine", CheckEngine(context, workspace));
  for (const TableListing& table : tables) {
    ARROW_RETURN_NOT_OK(context.Check());
    add("table " + table.name.ToString(), CheckTable(context, workspace, table.name));
  }
  auto leftovers = workspace->lakehouse().FindLeftovers(context);
  if (leftovers.ok()) {
    report.leftovers = *std::move(leftovers);
  } else {
    add("leftovers", leftovers.status());
  }
  return report;
}

}  // namespace lake::service
