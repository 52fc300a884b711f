#include "lake/base/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "lake/base/memory_budget.h"
#include "lake/base/posix_error.h"

namespace lake {
namespace {

constexpr std::string_view kEnvironmentPrefix = "LAKE_";
/// Variables for the test suite's own use, such as places to stop at; never settings.
constexpr std::string_view kTestPrefix = "LAKE_TEST_";
constexpr std::string_view kDataDir = "data_dir";

const ConfigKey* FindKey(std::string_view name) {
  for (const ConfigKey& key : ConfigKeys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t substituted = diagonal + (a[i] != b[j] ? 1 : 0);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

Status UnknownKey(std::string_view name, std::string_view source) {
  const ConfigKey& nearest = *std::min_element(
      ConfigKeys().begin(), ConfigKeys().end(), [&](const auto& a, const auto& b) {
        return EditDistance(a.name, name) < EditDistance(b.name, name);
      });
  return Error(ErrorCode::kInvalidArgument, "unknown setting in {}: '{}' (nearest known: '{}')",
               source, name, nearest.name);
}

Result<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return Error(ErrorCode::kInvalidArgument, "a whole number is expected, not '{}'", text);
  }
  return value;
}

Status CheckValue(const ConfigKey& key, const std::string& text) {
  switch (key.type) {
    case ConfigType::kText:
      if (!text.empty()) return Status::OK();
      return MakeError(ErrorCode::kInvalidArgument, "a text that is not empty is expected");
    case ConfigType::kBytes: {
      ARROW_ASSIGN_OR_RAISE(int64_t bytes, ParseBytes(text));
      if (bytes > 0) return Status::OK();
      return Error(ErrorCode::kInvalidArgument, "a size greater than 0 is expected, not '{}'",
                   text);
    }
    case ConfigType::kInteger:
      return ParseInteger(text).status();
    case ConfigType::kChoice:
      if (std::find(key.choices.begin(), key.choices.end(), text) != key.choices.end()) {
        return Status::OK();
      }
      return Error(ErrorCode::kInvalidArgument, "one of {} is expected, not '{}'",
                   fmt::join(key.choices, ", "), text);
  }
  return Status::OK();
}

/// Key to text of a lake.toml; nothing if the file does not exist.
Result<std::map<std::string, std::string>> ReadToml(const std::string& path) {
  std::map<std::string, std::string> values;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    // A file that cannot be seen may still be there: its settings must not be lost silently.
    return error ? Result<std::map<std::string, std::string>>(
                       PosixError(error.value(), "cannot look for the configuration", path))
                 : values;
  }
  toml::table table;
  try {
    table = toml::parse_file(path);
  } catch (const toml::parse_error& parse_error) {
    return Error(ErrorCode::kInvalidArgument, "cannot read {}, line {}: {}", path,
                 parse_error.source().begin.line, parse_error.description());
  }
  for (const auto& [toml_key, node] : table) {
    std::string key(toml_key.str());
    if (FindKey(key) == nullptr) return UnknownKey(key, path);
    if (key == kDataDir) {
      return Error(ErrorCode::kInvalidArgument,
                   "{} cannot be set in {}, which lies in that folder: use the flag or {}",
                   kDataDir, path, FindKey(kDataDir)->environment_variable());
    }
    if (const auto* text = node.as_string()) {
      values[key] = text->get();
    } else if (const auto* number = node.as_integer()) {
      values[key] = fmt::format("{}", number->get());
    } else {
      return Error(ErrorCode::kInvalidArgument, "setting in {} must be text or a whole number: {}",
                   path, key);
    }
  }
  return values;
}

/// The settings among the variables, by key.
Result<std::map<std::string, std::string>> ReadEnvironment(
    const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> values;
  for (const auto& [variable, text] : environment) {
    if (!variable.starts_with(kEnvironmentPrefix) || variable.starts_with(kTestPrefix)) continue;
    std::string name = variable.substr(kEnvironmentPrefix.size());
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const ConfigKey* key = FindKey(name);
    if (key == nullptr || key->environment_variable() != variable) {
      return UnknownKey(name, "environment variable " + variable);
    }
    values[name] = text;
  }
  return values;
}

}  // namespace

std::string ConfigKey::environment_variable() const {
  std::string variable(kEnvironmentPrefix);
  for (char c : name)
    variable.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  return variable;
}

const std::vector<ConfigKey>& ConfigKeys() {
  static const std::string memory_limit = fmt::format("{}", DefaultMemoryLimit());
  static const std::vector<ConfigKey> keys = {
      {kDataDir, ConfigType::kText, "lake-data", "The data folder"},
      {"time_zone", ConfigType::kText, "UTC", "Time zone of times that are written without one"},
      {"memory_limit", ConfigType::kBytes, memory_limit,
       "Memory for SQL, scans and writers (default: half of what the machine has)"},
      {"threads", ConfigType::kInteger, "0", "Threads of the SQL engine; 0: one per core"},
      {"write_buffer_bytes", ConfigType::kBytes, "256 MiB",
       "Bytes that one writer buffers before it closes its pages"},
      {"log_level",
       ConfigType::kChoice,
       "warning",
       "What is logged to standard error",
       {"debug", "info", "warning", "error", "off"}},
      {"log_format", ConfigType::kChoice, "text", "How log lines look", {"text", "json"}},
  };
  return keys;
}

Result<Config> Config::Load(const ConfigSources& sources) {
  for (const auto& [name, text] : sources.flags) {
    if (FindKey(name) == nullptr) return UnknownKey(name, "flag");
  }
  ARROW_ASSIGN_OR_RAISE(auto environment, ReadEnvironment(sources.environment));

  std::string data_dir(FindKey(kDataDir)->default_value);
  std::string name(kDataDir);
  if (environment.contains(name)) data_dir = environment[name];
  if (sources.flags.contains(name)) data_dir = sources.flags.at(name);
  const std::string toml_path = data_dir + "/lake.toml";
  ARROW_ASSIGN_OR_RAISE(auto file, ReadToml(toml_path));

  Config config;
  for (const ConfigKey& key : ConfigKeys()) {
    name = key.name;
    Value value{&key, std::string(key.default_value), "default"};
    if (sources.flags.contains(name)) {
      value.text = sources.flags.at(name);
      value.origin = "flag";
    } else if (environment.contains(name)) {
      value.text = environment[name];
      value.origin = "environment " + key.environment_variable();
    } else if (file.contains(name)) {
      value.text = file[name];
      value.origin = toml_path;
    }
    ARROW_RETURN_NOT_OK(WithContext(CheckValue(key, value.text),
                                    fmt::format("setting {} ({})", name, value.origin)));
    config.values_.push_back(std::move(value));
  }
  return config;
}

const Config::Value& Config::Find(std::string_view name) const {
  return *std::find_if(values_.begin(), values_.end(),
                       [&](const Value& value) { return value.key->name == name; });
}

const std::string& Config::Text(std::string_view name) const { return Find(name).text; }
int64_t Config::Bytes(std::string_view name) const { return *ParseBytes(Find(name).text); }
int64_t Config::Integer(std::string_view name) const { return *ParseInteger(Find(name).text); }

std::map<std::string, std::string> ProcessEnvironment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

Result<int64_t> ParseBytes(std::string_view text) {
  static const std::map<std::string_view, int64_t> kUnits = {{"", 1},
                                                             {"k", 1000},
                                                             {"M", 1000'000},
                                                             {"G", 1000'000'000},
                                                             {"T", int64_t{1000'000'000'000}},
                                                             {"Ki", int64_t{1} << 10},
                                                             {"Mi", int64_t{1} << 20},
                                                             {"Gi", int64_t{1} << 30},
                                                             {"Ti", int64_t{1} << 40}};
  Status malformed = Error(ErrorCode::kInvalidArgument,
                           "a size such as 65536, 256 MiB or 2 GB is expected, not '{}'", text);
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return malformed;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.ends_with('B')) unit.remove_suffix(1);
  // "KB" is so common that refusing it would only annoy.
  if (unit == "K") unit = "k";
  auto found = kUnits.find(unit);
  int64_t bytes = 0;
  if (found == kUnits.end() || __builtin_mul_overflow(number, found->second, &bytes))
    return malformed;
  return bytes;
}

}  // namespace lake
