#pragma once

#include <string_view>

namespace lake {

/// Marks a place between two steps of a durable operation, where a process may die. Test builds
/// kill the process there (SIGKILL, no clean-up) when the environment says LAKE_TEST_KILL_AT=<name>
/// or <name>:<n> for the n-th pass; release builds do nothing. docs/testing.md lists the names.
/// Thread-safe.
#ifdef NDEBUG
inline void CrashPoint(std::string_view) {}
#else
void CrashPoint(std::string_view name);
#endif

}  // namespace lake
