#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <arrow/config.h>
#include <fmt/format.h>

#include "lake/base/version.h"
#include "lake/cli/invocation.h"
#include "lake/cli/json_text.h"
#include "lake/query/engine.h"

namespace lake::cli {
namespace {

Status RunVersionCommand(Invocation* invocation, bool json) {
  const std::string arrow = arrow::GetBuildInfo().version_string;
  const std::string duckdb = query::DuckDbVersion();
  if (json) {
    return invocation->output.Write(
        PrettyJson(boost::json::object{{"lake", LakeVersion()},
                                       {"arrow", arrow},
                                       {"duckdb", duckdb},
                                       {"file_versions_read", {"2.0", "2.1", "2.2"}},
                                       {"file_versions_written", {"2.1", "2.2"}}}));
  }
  return invocation->output.Write(fmt::format(
      "lake {}\nArrow {}, DuckDB {}\nLance files: reads 2.0 to 2.2, writes 2.1 and 2.2\n",
      LakeVersion(), arrow, duckdb));
}

}  // namespace

void AddVersionCommand(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand("version", "Show the versions of lake and its engines");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->callback(
      [=] { invocation->run = [=] { return RunVersionCommand(invocation, *json); }; });
}

}  // namespace lake::cli
