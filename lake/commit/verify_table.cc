// Maintenance::Verify: the table's own walk, and FILE values that no commit of lake checked.

#include <set>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/commit/incarnation.h"
#include "lake/commit/lakehouse_core.h"
#include "lake/commit/maintenance.h"
#include "lake/objects/data_location.h"

namespace lake::commit {
namespace {

constexpr size_t kMostForeignValues = 100;

// FILE values that name nothing of the tenant's own stage: other programs may write any.
Status FindForeignFiles(const Context& context, const table::Dataset& dataset,
                        objects::Stage* stage, table::VerifyReport* report) {
  table::ScanOptions scan;
  scan.columns.emplace();
  for (const auto& field : dataset.arrow_schema()->fields()) {
    if (objects::IsFileType(*field->type())) scan.columns->push_back(field->name());
  }
  if (scan.columns->empty()) return Status::OK();
  scan.with_row_address = true;
  const size_t num_columns = scan.columns->size();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<table::Scanner> scanner,
                        dataset.Scan(context, std::move(scan)));
  size_t found = 0;
  for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
    ARROW_RETURN_NOT_OK(context.Check());
    Result<std::shared_ptr<arrow::RecordBatch>> batch = scanner->Read(context, morsel);
    // What cannot be read is a finding of its own, with --data.
    if (!batch.ok() || *batch == nullptr) continue;
    const auto& addresses =
        static_cast<const arrow::UInt64Array&>(*(*batch)->GetColumnByName("_rowaddr"));
    for (size_t i = 0; i < num_columns; ++i) {
      const auto& column =
          static_cast<const arrow::StructArray&>(*(*batch)->column(static_cast<int>(i)));
      for (int64_t row = 0; row < column.length(); ++row) {
        if (column.IsNull(row)) continue;
        Result<objects::DataLocation> location = objects::ReadDataLocation(column, row);
        Status status = location.ok() ? stage->CheckExists(context, *location) : location.status();
        if (status.ok()) continue;
        ARROW_RETURN_NOT_OK(context.Check());
        if (++found > kMostForeignValues) continue;
        report->findings.push_back(
            {table::Severity::kWarning,
             fmt::format("column \"{}\", row address {}",
                         (*batch)->schema()->field(static_cast<int>(i))->name(),
                         addresses.Value(row)),
             "FILE value does not name an object of the stage: " + ErrorText(status),
             "it is never followed; delete the row, or write the file through lake"});
      }
    }
  }
  if (found > kMostForeignValues) {
    report->findings.push_back(
        {table::Severity::kWarning, "FILE columns",
         fmt::format("{} more values do not name objects of the stage", found - kMostForeignValues),
         "see the first ones"});
  }
  return Status::OK();
}

// Pins that no clean-up lifts, since it is not known what became of the clone.
Status FindUnknownClones(const Context& context, LakehouseCore* core, storage::ObjectStore* store,
                         table::VerifyReport* report) {
  Result<std::vector<table::Tag>> tags = table::ListTags(context, store);
  // Tags that cannot be read are findings of the table's own walk.
  if (!tags.ok()) return context.Check();
  for (const table::Tag& tag : *tags) {
    if (!tag.name.starts_with(table::kClonePinPrefix)) continue;
    Result<Uuid> clone = Uuid::Parse(tag.name.substr(table::kClonePinPrefix.size()));
    if (!clone.ok()) continue;
    Status known = core->metastore().FindIncarnation(context, *clone).status();
    if (known.ok()) continue;
    if (CodeOf(known) != ErrorCode::kNotFound) return known;
    report->findings.push_back(
        {table::Severity::kInfo, "tag " + tag.name,
         "it keeps a version for a shallow clone that the metastore does not know",
         "nothing: a metastore that is an older copy may have forgotten the clone"});
  }
  return Status::OK();
}

}  // namespace

Result<table::VerifyReport> Maintenance::Verify(const Context& context,
                                                const catalog::Principal& principal,
                                                const OpenTable& table,
                                                table::VerifyOptions options) {
  options.open_base = core_->BaseOpenerFor(table.entry);
  ARROW_ASSIGN_OR_RAISE(table::VerifyReport report,
                        table::Verify(context, table.dataset->root_store(), options));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<objects::Stage> stage,
                        core_->StageFor(context, principal.tenant));
  ARROW_RETURN_NOT_OK(
      FindUnknownClones(context, core_.get(), table.dataset->root_store().get(), &report));
  ARROW_RETURN_NOT_OK(FindForeignFiles(context, *table.dataset, stage.get(), &report));
  return report;
}

}  // namespace lake::commit
