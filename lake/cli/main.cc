#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lake/base/signals.h"
#include "lake/cli/exit_code.h"
#include "lake/cli/invocation.h"

namespace lake::cli {
namespace {

constexpr char kFooter[] =
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 commit state unknown (run again with the "
    "operation id), 128 + n "
    "ended by signal n.\n"
    "Settings can also come from the environment (LAKE_*) and from lake.toml in the data folder: "
    "see 'lake config'.";

/// Registers a flag that sets the configuration key `key`.
void AddSetting(CLI::App* app, Invocation* invocation, const char* flag, const char* key,
                const char* help) {
  app->add_option_function<std::string>(
      flag, [=](const std::string& text) { invocation->flags[key] = text; }, help);
}

/// One line on standard error; values in it cannot break it into more.
void PrintError(const Status& status) {
  std::string line;
  for (char c : ErrorText(status)) {
    if (c == '\n') {
      line += "; ";
    } else {
      line += c;
    }
  }
  fmt::print(stderr, "lake: {}\n", line);
}

int ExitWith(const Invocation& invocation, const Status& status) {
  // A reader that went away has all it wanted; what was committed is committed.
  if (invocation.output.closed() && !IsCommitStateUnknown(status)) return kExitOk;
  if (status.ok()) return kExitOk;
  PrintError(status);
  if (int signal = ReceivedSignal(); signal != 0 && !IsCommitStateUnknown(status))
    return 128 + signal;
  return ExitCodeFor(status);
}

Status PrintHelp(CLI::App* app, const std::string& topic, Invocation* invocation) {
  // App::help would delegate to the command that was parsed, which is "help" itself.
  if (topic.empty()) {
    return invocation->output.Write(
        app->get_formatter()->make_help(app, "lake", CLI::AppFormatMode::Normal));
  }
  auto named =
      app->get_subcommands([&](CLI::App* command) { return command->get_name() == topic; });
  if (named.empty()) return UsageError(fmt::format("there is no command '{}'", topic));
  return invocation->output.Write(named.front()->help("lake"));
}

int Main(int argc, char** argv) {
  Invocation invocation;
  InstallSignalHandlers(invocation.context.cancel);

  CLI::App app{
      "lake: a lakehouse for multimodal data. Tables in the open Lance format, files of any size, "
      "SQL."};
  app.name("lake");
  app.footer(kFooter);
  app.require_subcommand(1);
  // Settings may stand before or behind the command.
  app.fallthrough();
  app.get_formatter()->column_width(32);
  AddSetting(&app, &invocation, "--data-dir", "data_dir", "The data folder (default: lake-data)");
  AddSetting(&app, &invocation, "--timezone", "time_zone",
             "Time zone of times that are written without one (default: UTC)");
  AddSetting(&app, &invocation, "--memory-limit", "memory_limit", "Memory to use, such as 4 GiB");
  AddSetting(&app, &invocation, "--threads", "threads",
             "Threads of the SQL engine; 0: one per core");
  AddSetting(&app, &invocation, "--log-level", "log_level", "debug, info, warning, error or off");
  AddSetting(&app, &invocation, "--log-format", "log_format", "text or json");
  app.add_flag("--quiet", invocation.quiet, "Show no progress");
  AddSqlCommand(&app, &invocation);
  AddTableCommand(&app, &invocation);
  AddIngestCommand(&app, &invocation);
  AddFileCommand(&app, &invocation);
  AddInspectCommand(&app, &invocation);
  AddSelftestCommand(&app, &invocation);
  AddConfigCommand(&app, &invocation);
  AddVersionCommand(&app, &invocation);
  CLI::App* help = app.add_subcommand("help", "Show this help, or that of a command");
  std::string topic;
  help->add_option("command", topic, "The command to explain");
  help->callback([&] { invocation.run = [&] { return PrintHelp(&app, topic, &invocation); }; });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    PrintError(UsageError(error.what()));
    fmt::print(stderr, "Run 'lake help' to see how it is used.\n");
    return kExitUsage;
  }
  Status status = invocation.LoadConfig();
  // Help must be there for someone whose settings are wrong.
  if (!status.ok() && !help->parsed()) {
    PrintError(status);
    return kExitUsage;
  }
  return ExitWith(invocation, invocation.run());
}

}  // namespace
}  // namespace lake::cli

int main(int argc, char** argv) {
  try {
    return lake::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "lake: internal error: {}\n", error.what());
    return lake::cli::kExitFailed;
  }
}
