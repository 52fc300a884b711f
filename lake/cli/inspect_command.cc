#include <CLI/CLI.hpp>

#include "lake/cli/invocation.h"

namespace lake::cli {

void AddInspectCommand(CLI::App* app, Invocation* invocation) {}

}  // namespace lake::cli
