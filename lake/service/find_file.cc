#include "lake/service/find_file.h"

#include <memory>
#include <vector>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <fmt/format.h>

namespace lake::service {

Result<objects::DataLocation> FindFile(const Context& context, Workspace* workspace,
                                       const std::string& table, const std::string& column,
                                       const std::string& where) {
  ARROW_ASSIGN_OR_RAISE(catalog::QualifiedName name, ParseTableName(table));
  // The line break ends a comment at the end of the condition.
  const std::string sql =
      fmt::format("SELECT {} AS value FROM {}.{} WHERE (\n{}\n) LIMIT 2", QuoteIdentifier(column),
                  QuoteIdentifier(name.name_space), QuoteIdentifier(name.name), where);
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<query::Session> session, workspace->Connect(context));
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> statements, session->Split(sql));
  if (statements.size() != 1) {
    return Error(ErrorCode::kInvalidArgument, "not one condition: {}", where);
  }
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<query::Statement> statement,
                        session->Prepare(context, sql));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<query::ResultStream> stream,
                        statement->Execute(context, {}));
  if (!objects::IsFileType(*stream->schema()->field(0)->type())) {
    return Error(ErrorCode::kInvalidArgument, "not a FILE column: {} of {}", column,
                 name.ToString());
  }
  std::shared_ptr<arrow::RecordBatch> found;
  int64_t rows = 0;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, stream->Next());
    if (batch == nullptr) break;
    if (found == nullptr && batch->num_rows() > 0) found = batch;
    rows += batch->num_rows();
  }
  if (rows == 0) {
    return Error(ErrorCode::kNotFound, "no row of {} fits: {}", name.ToString(), where);
  }
  if (rows > 1) {
    return Error(ErrorCode::kInvalidArgument, "several rows of {} fit, one is needed: {}",
                 name.ToString(), where);
  }
  return objects::ReadDataLocation(*found, "value", 0);
}

}  // namespace lake::service
