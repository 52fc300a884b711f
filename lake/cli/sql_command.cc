#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <arrow/record_batch.h>
#include <fmt/format.h>

#include "lake/cli/exit_code.h"
#include "lake/cli/invocation.h"
#include "lake/cli/progress_bar.h"
#include "lake/cli/prompt.h"
#include "lake/cli/sql_printer.h"
#include "lake/service/statement_runner.h"

namespace lake::cli {
namespace {

struct SqlFlags {
  std::string text;
  std::vector<std::string> parameters;
  std::string format = "table";
  std::string operation_id;
};

Status RunSqlCommand(Invocation* invocation, const SqlFlags& flags, bool has_text) {
  auto format = service::ParseResultFormat(flags.format);
  if (!format.ok()) return UsageError(format.status().message());
  if (!has_text && (!flags.parameters.empty() || !flags.operation_id.empty())) {
    return UsageError("--param and --operation-id need a statement on the command line");
  }
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace());
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<query::Session> session,
                        workspace->Connect(invocation->context));
  if (!has_text) return RunPrompt(invocation, workspace, session.get(), *format);

  service::SqlRequest request;
  request.text = flags.text;
  request.parameters = flags.parameters;
  if (!flags.operation_id.empty()) request.operation_id = flags.operation_id;
  SqlPrinter printer(invocation, *format);
  return service::RunSql(invocation->context, workspace, session.get(), request, &printer);
}

}  // namespace

void AddSqlCommand(CLI::App* app, Invocation* invocation) {
  auto flags = std::make_shared<SqlFlags>();
  CLI::App* command = app->add_subcommand("sql", "Run SQL, or start a prompt without a statement");
  CLI::Option* text =
      command->add_option("statement", flags->text, "One or more statements, separated by ';'");
  command
      ->add_option("--param", flags->parameters,
                   "Value of the next '?'; for a FILE: file:PATH or file:PATH;type=video/mp4")
      ->allow_extra_args(false);
  command->add_option("--format", flags->format, "table, json, jsonl, csv or arrow (an IPC stream)")
      ->capture_default_str();
  command->add_option("--operation-id", flags->operation_id,
                      "UUIDv7; running again with the same id and input changes nothing twice");
  command->callback([=] {
    invocation->run = [=] { return RunSqlCommand(invocation, *flags, text->count() > 0); };
  });
}

}  // namespace lake::cli
