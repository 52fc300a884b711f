#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lake/base/config.h"
#include "lake/base/context.h"
#include "lake/cli/output.h"
#include "lake/service/workspace.h"

namespace CLI {
class App;
}

namespace lake::cli {

/// One run of `lake`: what every command needs. A command's registration stores what to run in
/// `run`.
class Invocation {
 public:
  Context context;
  /// Settings given as flags, by their key.
  std::map<std::string, std::string> flags;
  /// No progress on standard error.
  bool quiet = false;
  Output output;
  /// The chosen command; its status decides the exit code.
  std::function<Status()> run;

  /// Reads flags, environment and lake.toml. Must succeed before the methods below.
  Status LoadConfig();
  const Config& config() const { return *config_; }

  /// Opens the configured data folder, once. With `must_exist`, a missing folder is kNotFound
  /// instead of made.
  Result<service::Workspace*> OpenWorkspace(bool must_exist = false);

 private:
  std::optional<Config> config_;
  std::unique_ptr<service::Workspace> workspace_;
};

// One file each: <name>_command.cc.
void AddSqlCommand(CLI::App* app, Invocation* invocation);
void AddTableCommand(CLI::App* app, Invocation* invocation);
/// Parts of `lake table`.
void AddTableMaintenanceCommands(CLI::App* group, Invocation* invocation);
void AddTableReferenceCommands(CLI::App* group, Invocation* invocation);
void AddIngestCommand(CLI::App* app, Invocation* invocation);
void AddFileCommand(CLI::App* app, Invocation* invocation);
void AddInspectCommand(CLI::App* app, Invocation* invocation);
void AddSelftestCommand(CLI::App* app, Invocation* invocation);
void AddConfigCommand(CLI::App* app, Invocation* invocation);
void AddVersionCommand(CLI::App* app, Invocation* invocation);

}  // namespace lake::cli
