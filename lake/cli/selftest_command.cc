#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lake/cli/invocation.h"
#include "lake/cli/json_text.h"
#include "lake/service/selftest.h"

namespace lake::cli {
namespace {

std::string ReportText(const service::SelftestReport& report) {
  std::string text;
  for (const auto& check : report.checks) {
    text += fmt::format("{}  {}: {}\n", check.passed ? "ok  " : "FAIL", check.name, check.detail);
  }
  if (!report.leftovers.empty()) {
    text += fmt::format("{} leftover file{} that no version names:\n", report.leftovers.size(),
                        report.leftovers.size() == 1 ? "" : "s");
    for (const std::string& file : report.leftovers) text += "  " + file + "\n";
  }
  return text;
}

std::string ReportJson(const service::SelftestReport& report) {
  boost::json::array checks;
  for (const auto& check : report.checks) {
    checks.push_back({{"name", check.name}, {"passed", check.passed}, {"detail", check.detail}});
  }
  boost::json::array leftovers;
  for (const std::string& file : report.leftovers) leftovers.emplace_back(file);
  return PrettyJson(boost::json::object{{"passed", report.passed()},
                                        {"checks", std::move(checks)},
                                        {"leftovers", std::move(leftovers)}});
}

Status RunSelftestCommand(Invocation* invocation, bool json) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  ARROW_ASSIGN_OR_RAISE(service::SelftestReport report,
                        service::RunSelftest(invocation->context, workspace));
  ARROW_RETURN_NOT_OK(invocation->output.Write(json ? ReportJson(report) : ReportText(report)));
  if (report.passed()) return Status::OK();
  return MakeError(ErrorCode::kCorrupt, "selftest failed: see the checks above");
}

}  // namespace

void AddSelftestCommand(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand(
      "selftest", "Check the data folder: metastore, stage, every table; list leftover files");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->callback(
      [=] { invocation->run = [=] { return RunSelftestCommand(invocation, *json); }; });
}

}  // namespace lake::cli
