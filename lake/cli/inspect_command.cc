#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "lake/cli/invocation.h"
#include "lake/cli/json_text.h"
#include "lake/service/inspect.h"

namespace lake::cli {
namespace {

Status RunInspectCommand(Invocation* invocation, const std::string& path, bool json) {
  ARROW_ASSIGN_OR_RAISE(service::InspectReport report,
                        service::InspectPath(invocation->context, path));
  return invocation->output.Write(json ? PrettyJson(report.json) : report.text);
}

}  // namespace

void AddInspectCommand(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand(
      "inspect",
      "Explain a Lance file, a manifest or a dataset's folder, down to pages and encodings");
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command->add_option("path", *path, "The file or folder")->required();
  command->add_flag("--json", *json, "Print JSON");
  command->callback(
      [=] { invocation->run = [=] { return RunInspectCommand(invocation, *path, *json); }; });
}

}  // namespace lake::cli
