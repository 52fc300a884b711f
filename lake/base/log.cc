#include "lake/base/log.h"

#include <atomic>
#include <memory>
#include <string>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "lake/base/utf8.h"

namespace lake {
namespace {

std::atomic<LogLevel> log_level{LogLevel::kWarning};
std::atomic<LogFormat> log_format{LogFormat::kText};

constexpr char kTextPattern[] = "%Y-%m-%dT%H:%M:%S.%fZ %l %v";
// The message arrives as a JSON string with its quotes.
constexpr char kJsonPattern[] = R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","message":%v})";

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

spdlog::logger& Logger() {
  // Never destroyed: threads may log while static objects go away at exit.
  static spdlog::logger& logger = *[] {
    auto* created = new spdlog::logger("lake", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    created->set_level(spdlog::level::trace);
    created->set_formatter(
        std::make_unique<spdlog::pattern_formatter>(kTextPattern, spdlog::pattern_time_type::utc));
    return created;
  }();
  return logger;
}

/// Keeps one message on one line.
std::string Escaped(std::string_view text, bool json) {
  // JSON must be UTF-8; what is not is shown byte by byte.
  const bool escape_high = json && !IsValidUtf8(text);
  std::string escaped;
  escaped.reserve(text.size() + 2);
  if (json) escaped.push_back('"');
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      escaped += "\\n";
    } else if (byte < 0x20 || byte == 0x7F || (escape_high && byte >= 0x80)) {
      escaped += fmt::format("\\u{:04x}", byte);
    } else {
      if (json && (c == '"' || c == '\\')) escaped.push_back('\\');
      escaped.push_back(c);
    }
  }
  if (json) escaped.push_back('"');
  return escaped;
}

}  // namespace

void ConfigureLog(LogLevel level, LogFormat format) {
  log_level = level;
  log_format = format;
  Logger().set_formatter(std::make_unique<spdlog::pattern_formatter>(
      format == LogFormat::kJson ? kJsonPattern : kTextPattern, spdlog::pattern_time_type::utc));
}

LogLevel LogLevelFromName(std::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "error") return LogLevel::kError;
  if (name == "off") return LogLevel::kOff;
  return LogLevel::kWarning;
}

LogFormat LogFormatFromName(std::string_view name) {
  return name == "json" ? LogFormat::kJson : LogFormat::kText;
}

bool IsLogged(LogLevel level) { return level >= log_level.load(std::memory_order_relaxed); }

void LogText(LogLevel level, std::string_view text) {
  if (!IsLogged(level)) return;
  std::string line = Escaped(text, log_format.load() == LogFormat::kJson);
  Logger().log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace lake
