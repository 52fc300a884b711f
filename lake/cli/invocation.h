#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lake/base/context.h"
#include "lake/cli/output.h"
#include "lake/service/workspace.h"

namespace CLI {
class App;
}

namespace lake::cli {

/// Values of the flags that stand before the command; empty where not given.
struct GlobalFlags {
  std::string data_dir;
  std::string time_zone;
  std::string memory_limit;
  std::string threads;
  std::string log_level;
  std::string log_format;
  bool quiet = false;  ///< no progress
};

/// One run of `lake`: what every command needs. A command's registration stores what to run in
/// `run`.
class Invocation {
 public:
  Context context;
  GlobalFlags flags;
  Output output;
  /// The chosen command; its status decides the exit code.
  std::function<Status()> run;

  /// Opens the configured data folder, once. With `must_exist`, a missing folder is kNotFound
  /// instead of made.
  Result<service::Workspace*> OpenWorkspace(bool must_exist = false);

 private:
  std::unique_ptr<service::Workspace> workspace_;
};

// One file each: <name>_command.cc.
void AddSqlCommand(CLI::App* app, Invocation* invocation);
void AddTableCommand(CLI::App* app, Invocation* invocation);
void AddIngestCommand(CLI::App* app, Invocation* invocation);
void AddFileCommand(CLI::App* app, Invocation* invocation);
void AddInspectCommand(CLI::App* app, Invocation* invocation);
void AddSelftestCommand(CLI::App* app, Invocation* invocation);
void AddConfigCommand(CLI::App* app, Invocation* invocation);
void AddVersionCommand(CLI::App* app, Invocation* invocation);

}  // namespace lake::cli
