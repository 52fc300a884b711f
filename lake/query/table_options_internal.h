#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/version.h"

namespace lake::query {

/// What `CREATE TABLE ... WITH (...)` may say.
struct TableOptions {
  std::optional<format::FileVersion> file_version;
};

/// SQL without the options of its tables: DuckDB's parser forgets them, and refuses them where AS
/// follows.
struct TextWithoutOptions {
  /// The text as it was given, but for spaces outside of ASCII, which the parser takes out as well.
  std::string whole;
  /// As long as `whole`, with spaces where options were.
  std::string sql;
  /// What stood between the parentheses, a text for each CREATE TABLE that had some.
  std::vector<std::string> options;
};
TextWithoutOptions TakeTableOptions(const std::string& sql);

/// kInvalidArgument, by name, for an option or a value that does not exist.
Result<TableOptions> ParseTableOptions(const std::string& text);

}  // namespace lake::query
