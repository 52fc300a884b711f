#include "lake/query/testing/sql_harness.h"

#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

namespace lake::query {
namespace {

Result<std::vector<std::string>> Drain(ResultStream* stream) {
  std::vector<std::string> rows;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, stream->Next());
    if (!batch) return rows;
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      std::string text;
      for (int column = 0; column < batch->num_columns(); ++column) {
        ARROW_ASSIGN_OR_RAISE(const auto value, batch->column(column)->GetScalar(row));
        if (column > 0) text += ", ";
        text += value->is_valid ? value->ToString() : "NULL";
      }
      rows.push_back(std::move(text));
    }
  }
}

}  // namespace

EngineOptions SqlHarness::DefaultOptions() {
  EngineOptions options;
  options.threads = 2;
  options.memory_limit = 256 << 20;
  options.allow_local_files = true;
  return options;
}

Result<std::unique_ptr<SqlHarness>> SqlHarness::Open(std::shared_ptr<commit::Lakehouse> lakehouse,
                                                     EngineOptions options) {
  std::unique_ptr<SqlHarness> harness(new SqlHarness);
  ARROW_ASSIGN_OR_RAISE(harness->engine_,
                        Engine::Open(harness->context_, std::move(lakehouse), options));
  ARROW_ASSIGN_OR_RAISE(harness->session_, harness->engine_->Connect(harness->context_, {}, {}));
  return harness;
}

Result<std::unique_ptr<SqlHarness>> SqlHarness::Second() const {
  std::unique_ptr<SqlHarness> harness(new SqlHarness);
  harness->engine_ = engine_;
  ARROW_ASSIGN_OR_RAISE(harness->session_, engine_->Connect(harness->context_, {}, {}));
  return harness;
}

Result<std::vector<std::string>> SqlHarness::Rows(const Context& context, const std::string& sql,
                                                  const std::vector<Parameter>& values) {
  ARROW_ASSIGN_OR_RAISE(const auto statement, session_->Prepare(context, sql));
  ARROW_ASSIGN_OR_RAISE(const auto result, statement->Execute(context, values));
  return Drain(result.get());
}

Result<std::vector<std::string>> SqlHarness::Rows(const std::string& sql,
                                                  const std::vector<Parameter>& values) {
  return Rows(context_, sql, values);
}

Result<int64_t> SqlHarness::Run(const std::string& sql, const std::vector<Parameter>& values) {
  ARROW_ASSIGN_OR_RAISE(const auto statement, session_->Prepare(context_, sql));
  ARROW_ASSIGN_OR_RAISE(const auto result, statement->Execute(context_, values));
  ARROW_RETURN_NOT_OK(Drain(result.get()).status());
  return result->rows_changed();
}

}  // namespace lake::query
