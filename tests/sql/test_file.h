#pragma once

#include <string>
#include <vector>

#include "lake/base/error.h"

namespace lake::sqltest {

/// One step of a test file.
struct Record {
  enum class Kind {
    kOk,         ///< statement ok
    kError,      ///< statement error <regular expression>
    kCount,      ///< statement count <rows changed>
    kQuery,      ///< query <types> [nosort|rowsort]
    kUpload,     ///< upload <name> <content>
    kReconnect,  ///< reconnect: a new session
    kReopen,     ///< reopen: the engine and the data folder are closed and opened again
  };
  Kind kind = Kind::kOk;
  int line = 0;
  /// The session that runs it; empty for the first.
  std::string connection;
  std::string sql;
  /// Values of the statement's parameters: `param text:...`, `param null`, `param file:<name of an
  /// upload>`.
  std::vector<std::string> parameters;
  std::string error_pattern;
  int64_t count = 0;
  /// I integer or boolean, R real or decimal, T anything else; one per column.
  std::string types;
  bool sort_rows = false;
  std::vector<std::string> expected;
  std::string name;
  std::string content;
};

/// Reads a test file. An error names the line.
Result<std::vector<Record>> ParseTestFile(const std::string& path);

}  // namespace lake::sqltest
