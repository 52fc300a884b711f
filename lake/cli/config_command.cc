#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lake/base/config.h"
#include "lake/cli/invocation.h"
#include "lake/cli/json_text.h"

namespace lake::cli {
namespace {

Status RunConfigCommand(Invocation* invocation, bool json) {
  if (json) {
    boost::json::array settings;
    for (const Config::Value& value : invocation->config().values()) {
      settings.push_back({{"name", std::string(value.key->name)},
                          {"value", value.text},
                          {"origin", value.origin},
                          {"environment", value.key->environment_variable()},
                          {"help", std::string(value.key->help)}});
    }
    return invocation->output.Write(PrettyJson(settings));
  }
  std::string text;
  for (const Config::Value& value : invocation->config().values()) {
    text += fmt::format("{:<20} {:<24} # {}; {}\n", value.key->name, value.text, value.origin,
                        value.key->help);
  }
  return invocation->output.Write(text);
}

}  // namespace

void AddConfigCommand(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("config", "Show every setting and where its value comes from");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->callback([=] { invocation->run = [=] { return RunConfigCommand(invocation, *json); }; });
}

}  // namespace lake::cli
