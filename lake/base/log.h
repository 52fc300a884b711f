#pragma once

#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace lake {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat { kText, kJson };

/// Sets what is written to standard error, and how. Text by default, warnings and errors.
/// REQUIRES for the names: they passed the configuration's check (lake/base/config.h).
void ConfigureLog(LogLevel level, LogFormat format);
LogLevel LogLevelFromName(std::string_view name);
LogFormat LogFormatFromName(std::string_view name);

bool IsLogged(LogLevel level);

/// Writes one line with time and level. `text` holds no secrets; line breaks in it are escaped.
/// Thread-safe.
void LogText(LogLevel level, std::string_view text);

/// LogText with an fmt format string, evaluated only if the level is logged.
template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (IsLogged(level)) LogText(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace lake
