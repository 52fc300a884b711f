#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/error.h"

namespace lake {

/// What a configuration value has to look like.
enum class ConfigType {
  kText,     ///< Not empty
  kBytes,    ///< A size greater than 0: "256 MiB", "2 GB", "65536"
  kInteger,  ///< A whole number, not negative
  kChoice,   ///< One of ConfigKey::choices
};

/// One known setting. `name` is its key in lake.toml; the environment variable is LAKE_ and the
/// name in capitals.
struct ConfigKey {
  std::string_view name;
  ConfigType type;
  std::string_view default_value;
  std::string_view help;
  std::vector<std::string_view> choices = {};

  std::string environment_variable() const;
};

/// All settings that this lake knows, in the order in which they are shown.
const std::vector<ConfigKey>& ConfigKeys();

/// Where values are looked for, strongest first: flags, environment, lake.toml, defaults.
struct ConfigSources {
  /// Key to text, as given on the command line.
  std::map<std::string, std::string> flags;
  /// The environment, whole, so that misspelt LAKE_* variables are noticed. See ProcessEnvironment.
  std::map<std::string, std::string> environment;
};

/// The configuration of a process. Immutable.
class Config {
 public:
  /// Reads all sources; lake.toml lies in the data folder and may be missing. kInvalidArgument
  /// names the source, the key and what is expected; for an unknown key, the nearest known one.
  static Result<Config> Load(const ConfigSources& sources);

  struct Value {
    const ConfigKey* key;
    std::string text;
    /// "flag", "environment LAKE_...", the path of lake.toml, or "default".
    std::string origin;
  };
  /// One per known key, in their order.
  const std::vector<Value>& values() const { return values_; }

  /// Typed access. REQUIRES: `name` is known and of that type.
  const std::string& Text(std::string_view name) const;
  int64_t Bytes(std::string_view name) const;
  int64_t Integer(std::string_view name) const;

 private:
  const Value& Find(std::string_view name) const;

  std::vector<Value> values_;
};

/// The variables of this process.
std::map<std::string, std::string> ProcessEnvironment();

/// Reads "65536", "64 KiB", "2GB", ...: decimal (k, M, G, T) and binary (Ki, Mi, Gi, Ti) units, B
/// or none behind them.
Result<int64_t> ParseBytes(std::string_view text);

}  // namespace lake
