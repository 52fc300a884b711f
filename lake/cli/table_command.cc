#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <arrow/type.h>
#include <fmt/format.h>

#include "lake/cli/exit_code.h"
#include "lake/cli/invocation.h"
#include "lake/cli/json_text.h"
#include "lake/cli/progress_bar.h"
#include "lake/cli/sql_printer.h"
#include "lake/service/statement_runner.h"
#include "lake/service/table_info.h"
#include "lake/table/inspect.h"

namespace lake::cli {
namespace {

struct TableFlags {
  std::string name;
  std::vector<std::string> columns;
  bool if_not_exists = false;
  bool if_exists = false;
  bool dropped = false;
  bool json = false;
  std::string new_name;
  std::string incarnation;
};

/// `name:TYPE` with the name up to the first ':', as SQL.
Result<std::string> ColumnSql(const std::string& text) {
  size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    return UsageError(fmt::format("a column needs the form name:TYPE, not '{}'", text));
  }
  return service::QuoteIdentifier(text.substr(0, colon)) + " " + text.substr(colon + 1);
}

Status CreateTable(Invocation* invocation, const TableFlags& flags) {
  auto name = service::ParseTableName(flags.name);
  if (!name.ok()) return UsageError(name.status().message());
  std::string sql =
      fmt::format("CREATE TABLE {}{}.{} (", flags.if_not_exists ? "IF NOT EXISTS " : "",
                  service::QuoteIdentifier(name->name_space), service::QuoteIdentifier(name->name));
  for (size_t i = 0; i < flags.columns.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(std::string column, ColumnSql(flags.columns[i]));
    if (i > 0) sql += ", ";
    sql += column;
  }
  sql += ")";
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace());
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<query::Session> session,
                        workspace->Connect(invocation->context));
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> statements, session->Split(sql));
  if (statements.size() != 1) return UsageError("a column's type holds more than a type");
  SqlPrinter printer(invocation, service::ResultFormat::kTable);
  service::SqlRequest request;
  request.text = sql;
  return service::RunSql(invocation->context, workspace, session.get(), request, &printer);
}

Status ListTables(Invocation* invocation, const TableFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  std::optional<std::string> name_space;
  if (!flags.name.empty()) name_space = flags.name;
  ARROW_ASSIGN_OR_RAISE(
      std::vector<service::TableListing> tables,
      service::ListTables(invocation->context, workspace, name_space, flags.dropped));
  if (flags.json) {
    boost::json::array rows;
    for (const service::TableListing& table : tables) {
      boost::json::object row{{"namespace", table.name.name_space},
                              {"name", table.name.name},
                              {"incarnation", table.incarnation}};
      if (table.dropped_nanos) row["dropped"] = table::TimestampText(*table.dropped_nanos);
      rows.push_back(std::move(row));
    }
    return invocation->output.Write(PrettyJson(rows));
  }
  std::string text;
  for (const service::TableListing& table : tables) {
    text += table.name.ToString();
    if (table.dropped_nanos) {
      text += fmt::format("  dropped {}  incarnation {}",
                          table::TimestampText(*table.dropped_nanos), table.incarnation);
    }
    text += '\n';
  }
  return invocation->output.Write(text);
}

boost::json::object DescriptionJson(const service::TableDescription& table) {
  boost::json::array columns;
  for (const auto& field : table.schema->fields()) {
    columns.push_back({{"name", field->name()},
                       {"type", service::TypeName(*field->type())},
                       {"arrow_type", field->type()->ToString()},
                       {"nullable", field->nullable()}});
  }
  boost::json::object properties;
  for (const auto& [key, value] : table.properties) properties[key] = value;
  return {{"namespace", table.name.name_space},
          {"name", table.name.name},
          {"location", table.location},
          {"incarnation", table.incarnation},
          {"version", table.version},
          {"committed", table::TimestampText(table.timestamp_nanos)},
          {"row_count", table.num_rows},
          {"fragments", table.num_fragments},
          {"data_bytes", table.data_bytes},
          {"file_version", table.file_version},
          {"schema", std::move(columns)},
          {"properties", std::move(properties)}};
}

Status DescribeTable(Invocation* invocation, const TableFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  ARROW_ASSIGN_OR_RAISE(service::TableDescription table,
                        service::DescribeTable(invocation->context, workspace, flags.name));
  if (flags.json) return invocation->output.Write(PrettyJson(DescriptionJson(table)));
  std::string text;
  auto line = [&text](std::string_view label, const std::string& value) {
    text += fmt::format("{:<13}{}\n", label, value);
  };
  line("table", table.name.ToString());
  line("location", table.location);
  line("version",
       fmt::format("{}, committed {}", table.version, table::TimestampText(table.timestamp_nanos)));
  line("rows", fmt::format("{}", table.num_rows));
  line("data",
       fmt::format("{} in {} fragment{}, file version {}", FormatBytes(table.data_bytes),
                   table.num_fragments, table.num_fragments == 1 ? "" : "s", table.file_version));
  line("incarnation", table.incarnation);
  for (const auto& [key, value] : table.properties) line("property", key + " = " + value);
  text += "columns\n";
  for (const auto& field : table.schema->fields()) {
    text += fmt::format("  {}  {}{}\n", field->name(), service::TypeName(*field->type()),
                        field->nullable() ? "" : "  NOT NULL");
  }
  return invocation->output.Write(text);
}

Status ListVersions(Invocation* invocation, const TableFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const commit::OpenTable> table,
                        workspace->OpenTable(invocation->context, flags.name));
  ARROW_ASSIGN_OR_RAISE(std::vector<table::VersionInfo> versions,
                        table->dataset->Versions(invocation->context));
  if (flags.json) {
    boost::json::array rows;
    for (const table::VersionInfo& version : versions) {
      rows.push_back({{"version", version.version},
                      {"committed", table::TimestampText(version.timestamp_nanos)},
                      {"row_count", version.num_rows},
                      {"operation", version.operation}});
    }
    return invocation->output.Write(PrettyJson(rows));
  }
  std::string text =
      fmt::format("{:>8}  {:<30}  {:>12}  {}\n", "version", "committed", "rows", "operation");
  for (const table::VersionInfo& version : versions) {
    text += fmt::format("{:>8}  {:<30}  {:>12}  {}\n", version.version,
                        table::TimestampText(version.timestamp_nanos), version.num_rows,
                        version.operation);
  }
  return invocation->output.Write(text);
}

Status DropTable(Invocation* invocation, const TableFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  ARROW_ASSIGN_OR_RAISE(catalog::QualifiedName name, service::ParseTableName(flags.name));
  auto view = workspace->lakehouse().metastore().ViewFor(workspace->principal());
  auto entry = view->Find(invocation->context, name, catalog::NameMatch::kSql);
  if (!entry.ok()) {
    if (flags.if_exists && CodeOf(entry.status()) == ErrorCode::kNotFound) return Status::OK();
    return entry.status();
  }
  ARROW_RETURN_NOT_OK(
      workspace->lakehouse().Drop(invocation->context, workspace->principal(), *entry));
  return invocation->output.Write(
      fmt::format("dropped {}; bring it back with: lake table undrop {}\n", entry->name.ToString(),
                  entry->name.ToString()));
}

Status UndropTable(Invocation* invocation, const TableFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  ARROW_ASSIGN_OR_RAISE(catalog::QualifiedName name, service::ParseTableName(flags.name));
  std::optional<catalog::QualifiedName> new_name;
  if (!flags.new_name.empty()) {
    ARROW_ASSIGN_OR_RAISE(new_name, service::ParseTableName(flags.new_name));
  }
  std::optional<Uuid> incarnation;
  if (!flags.incarnation.empty()) {
    ARROW_ASSIGN_OR_RAISE(incarnation, Uuid::Parse(flags.incarnation));
  }
  ARROW_ASSIGN_OR_RAISE(catalog::Entry entry,
                        workspace->lakehouse().Undrop(invocation->context, workspace->principal(),
                                                      name, new_name, incarnation));
  return invocation->output.Write(fmt::format("{} is back\n", entry.name.ToString()));
}

Status RenameTable(Invocation* invocation, const TableFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  ARROW_ASSIGN_OR_RAISE(catalog::QualifiedName name, service::ParseTableName(flags.name));
  ARROW_ASSIGN_OR_RAISE(catalog::QualifiedName new_name, service::ParseTableName(flags.new_name));
  auto view = workspace->lakehouse().metastore().ViewFor(workspace->principal());
  ARROW_ASSIGN_OR_RAISE(catalog::Entry entry,
                        view->Find(invocation->context, name, catalog::NameMatch::kSql));
  ARROW_ASSIGN_OR_RAISE(entry, workspace->lakehouse().Rename(
                                   invocation->context, workspace->principal(), entry, new_name));
  return invocation->output.Write(
      fmt::format("renamed {} to {}\n", name.ToString(), entry.name.ToString()));
}

}  // namespace

void AddTableCommand(CLI::App* app, Invocation* invocation) {
  CLI::App* group = app->add_subcommand("table", "Create, look at, drop and rename tables");
  group->require_subcommand(1);
  auto flags = std::make_shared<TableFlags>();
  auto add = [&](const char* name, const char* help,
                 Status (*run)(Invocation*, const TableFlags&)) {
    CLI::App* command = group->add_subcommand(name, help);
    command->callback([=] { invocation->run = [=] { return run(invocation, *flags); }; });
    return command;
  };
  auto add_name = [&](CLI::App* command) {
    command->add_option("table", flags->name, "namespace.table")->required();
  };
  auto add_json = [&](CLI::App* command) {
    command->add_flag("--json", flags->json, "Print JSON");
  };

  CLI::App* create = add("create", "Create an empty table", CreateTable);
  add_name(create);
  create
      ->add_option("--column", flags->columns,
                   "name:TYPE with any type of CREATE TABLE, such as id:BIGINT or video:FILE")
      ->required()
      ->allow_extra_args(false);
  create->add_flag("--if-not-exists", flags->if_not_exists, "Do nothing if the table exists");

  CLI::App* list = add("list", "List tables", ListTables);
  list->add_option("namespace", flags->name, "Only this namespace");
  list->add_flag("--dropped", flags->dropped, "List tables that can be undropped instead");
  add_json(list);

  CLI::App* describe =
      add("describe", "Show location, version, schema and row count", DescribeTable);
  add_name(describe);
  add_json(describe);

  CLI::App* versions = add("versions", "List the versions that can be read", ListVersions);
  add_name(versions);
  add_json(versions);

  CLI::App* drop = add("drop", "Drop a table; it can be undropped", DropTable);
  add_name(drop);
  drop->add_flag("--if-exists", flags->if_exists, "Do nothing if the table does not exist");

  CLI::App* undrop = add("undrop", "Bring back the latest dropped table of this name", UndropTable);
  add_name(undrop);
  undrop->add_option("--as", flags->new_name, "Bring it back under another name");
  undrop->add_option("--incarnation", flags->incarnation, "Which one, if several were dropped");

  CLI::App* rename = add("rename", "Give a table another name", RenameTable);
  add_name(rename);
  rename->add_option("new-name", flags->new_name, "namespace.table")->required();

  AddTableMaintenanceCommands(group, invocation);
  AddTableReferenceCommands(group, invocation);
}

}  // namespace lake::cli
