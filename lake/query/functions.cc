#include <utility>

#include <duckdb/catalog/catalog_entry/scalar_function_catalog_entry.hpp>
#include <duckdb/catalog/catalog_entry/schema_catalog_entry.hpp>
#include <duckdb/catalog/catalog_transaction.hpp>
#include <duckdb/function/function_set.hpp>
#include <duckdb/parser/parsed_data/create_scalar_function_info.hpp>
#include <duckdb/parser/parsed_data/create_table_function_info.hpp>
#include <duckdb/parser/parsed_data/create_type_info.hpp>

#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/functions_internal.h"
#include "lake/query/scan_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/table_functions_internal.h"

namespace lake::query {
namespace {

/// Carries the lakehouse to the function.
struct UndropInfo : public duckdb::TableFunctionInfo {
  std::shared_ptr<commit::Lakehouse> lakehouse;
};

struct UndropBindData : public duckdb::TableFunctionData {
  std::shared_ptr<commit::Lakehouse> lakehouse;
  catalog::QualifiedName name;
  std::optional<catalog::QualifiedName> new_name;
};

struct UndropState : public duckdb::GlobalTableFunctionState {
  bool done = false;
};

duckdb::unique_ptr<duckdb::FunctionData> BindUndrop(duckdb::ClientContext&,
                                                    duckdb::TableFunctionBindInput& input,
                                                    duckdb::vector<duckdb::LogicalType>& types,
                                                    duckdb::vector<duckdb::string>& names) {
  auto data = duckdb::make_uniq<UndropBindData>();
  data->lakehouse = input.info->Cast<UndropInfo>().lakehouse;
  data->name = ValueOrThrow(ParseTableName("undrop", input.inputs[0]));
  if (input.inputs.size() > 1)
    data->new_name = ValueOrThrow(ParseTableName("undrop", input.inputs[1]));
  types.push_back(duckdb::LogicalType::VARCHAR);
  names.push_back("table");
  return data;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitUndrop(duckdb::ClientContext&,
                                                                duckdb::TableFunctionInitInput&) {
  return duckdb::make_uniq<UndropState>();
}

void Undrop(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
            duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<UndropState>();
  if (std::exchange(state.done, true)) return;
  RefuseInTransaction(context, "undrop");
  const auto& data = input.bind_data->Cast<UndropBindData>();
  SessionState& session = SessionState::Of(context);
  const catalog::Entry entry = ValueOrThrow(
      data.lakehouse->Undrop(session.context, session.principal, data.name, data.new_name));
  output.SetCardinality(1);
  output.SetValue(0, 0, duckdb::Value(entry.name.ToString()));
}

/// DuckDB casts no aliased struct to a plain one, so that `video.uri` finds no function: the
/// functions that take a struct apart get a form that takes a FILE.
void LetFilesBeTakenApart(duckdb::Catalog& system, duckdb::CatalogTransaction transaction) {
  auto& schema = system.GetSchema(transaction, DEFAULT_SCHEMA);
  for (const char* name : {"struct_extract", "array_extract", "struct_extract_at"}) {
    auto entry = schema.GetEntry(transaction, duckdb::CatalogType::SCALAR_FUNCTION_ENTRY, name);
    if (!entry) continue;
    duckdb::ScalarFunctionSet forms(name);
    for (auto function : entry->Cast<duckdb::ScalarFunctionCatalogEntry>().functions.functions) {
      if (function.arguments.empty() ||
          function.arguments[0].id() != duckdb::LogicalTypeId::STRUCT) {
        continue;
      }
      function.arguments[0] = FileSqlType();
      forms.AddFunction(std::move(function));
    }
    duckdb::CreateScalarFunctionInfo info(std::move(forms));
    info.on_conflict = duckdb::OnCreateConflict::ALTER_ON_CONFLICT;
    system.CreateFunction(transaction, info);
  }
}

}  // namespace

void RegisterFunctions(duckdb::DatabaseInstance& database,
                       std::shared_ptr<commit::Lakehouse> lakehouse, bool allow_local_files) {
  auto& system = duckdb::Catalog::GetSystemCatalog(database);
  const auto transaction = duckdb::CatalogTransaction::GetSystemTransaction(database);

  duckdb::CreateTypeInfo type("FILE", FileSqlType());
  type.temporary = true;
  type.internal = true;
  system.CreateType(transaction, type);
  LetFilesBeTakenApart(system, transaction);

  RegisterTableFunctions(database, lakehouse);
  RegisterMaintenanceCalls(database, lakehouse);
  auto info = duckdb::make_shared_ptr<UndropInfo>();
  info->lakehouse = std::move(lakehouse);
  duckdb::TableFunctionSet undrop("undrop");
  for (size_t num_arguments : {1, 2}) {
    duckdb::TableFunction function(
        duckdb::vector<duckdb::LogicalType>(num_arguments, duckdb::LogicalType::VARCHAR), Undrop,
        BindUndrop, InitUndrop);
    function.function_info = info;
    undrop.AddFunction(std::move(function));
  }
  duckdb::CreateTableFunctionInfo undrop_info(std::move(undrop));
  system.CreateTableFunction(transaction, undrop_info);

  if (allow_local_files) {
    duckdb::CreateTableFunctionInfo scan_info(LanceScanFunction());
    system.CreateTableFunction(transaction, scan_info);
  }
}

}  // namespace lake::query
