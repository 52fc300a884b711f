#pragma once

#include "lake/base/error.h"

namespace lake::cli {

/// Exit codes of `lake` (DESIGN: errors). A signal n gives 128 + n.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitCommitUnknown = 3;

/// Wrong words on the command line; everything that a command refuses before it starts.
Status UsageError(std::string text);
bool IsUsageError(const Status& status);

/// The exit code for the outcome of a command.
int ExitCodeFor(const Status& status);

}  // namespace lake::cli
