#include "test_file.h"

#include <fstream>
#include <sstream>
#include <utility>

namespace lake::sqltest {
namespace {

class FileParser {
 public:
  explicit FileParser(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  Result<std::vector<Record>> Parse() {
    std::vector<Record> records;
    while (next_ < lines_.size()) {
      const std::string& line = lines_[next_];
      if (line.empty() || line[0] == '#') {
        ++next_;
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(Record record, ParseRecord());
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  Status Fail(const std::string& what) const {
    return Error(ErrorCode::kInvalidArgument, "line {}: {}", next_ + 1, what);
  }

  Result<Record> ParseRecord() {
    Record record;
    record.line = static_cast<int>(next_ + 1);
    while (next_ < lines_.size() && lines_[next_].rfind("param ", 0) == 0) {
      record.parameters.push_back(lines_[next_++].substr(6));
    }
    if (next_ == lines_.size()) return Fail("parameters without a statement");
    std::istringstream head(lines_[next_]);
    std::string command;
    head >> command;
    if (command.rfind("@", 0) == 0) {
      record.connection = command.substr(1);
      head >> command;
    }
    if (command == "statement") return ParseStatement(std::move(record), head);
    if (command == "query") return ParseQuery(std::move(record), head);
    ++next_;
    if (command == "reconnect") {
      record.kind = Record::Kind::kReconnect;
    } else if (command == "reopen") {
      record.kind = Record::Kind::kReopen;
    } else if (command == "upload") {
      record.kind = Record::Kind::kUpload;
      head >> record.name;
      std::getline(head >> std::ws, record.content);
    } else {
      --next_;
      return Fail("unknown command '" + command + "'");
    }
    return record;
  }

  Result<Record> ParseStatement(Record record, std::istringstream& head) {
    std::string what;
    head >> what;
    if (what == "ok") {
      record.kind = Record::Kind::kOk;
    } else if (what == "error") {
      record.kind = Record::Kind::kError;
      std::getline(head >> std::ws, record.error_pattern);
      if (record.error_pattern.empty()) return Fail("statement error wants a regular expression");
    } else if (what == "count") {
      record.kind = Record::Kind::kCount;
      if (!(head >> record.count)) return Fail("statement count wants a number");
    } else {
      return Fail("statement wants ok, error or count");
    }
    ++next_;
    record.sql = TakeSql();
    if (record.sql.empty()) return Fail("a statement without SQL");
    return record;
  }

  Result<Record> ParseQuery(Record record, std::istringstream& head) {
    record.kind = Record::Kind::kQuery;
    std::string sort;
    head >> record.types >> sort;
    if (record.types.find_first_not_of("IRT") != std::string::npos || record.types.empty()) {
      return Fail("query wants types out of I, R and T");
    }
    if (sort == "rowsort") {
      record.sort_rows = true;
    } else if (!sort.empty() && sort != "nosort") {
      return Fail("unknown sort mode '" + sort + "'");
    }
    ++next_;
    record.sql = TakeSql();
    if (next_ >= lines_.size() || lines_[next_] != "----") return Fail("query wants ---- and rows");
    ++next_;
    while (next_ < lines_.size() && !lines_[next_].empty())
      record.expected.push_back(lines_[next_++]);
    return record;
  }

  std::string TakeSql() {
    std::string sql;
    while (next_ < lines_.size() && !lines_[next_].empty() && lines_[next_] != "----") {
      if (!sql.empty()) sql += "\n";
      sql += lines_[next_++];
    }
    return sql;
  }

  const std::vector<std::string> lines_;
  size_t next_ = 0;
};

}  // namespace

Result<std::vector<Record>> ParseTestFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error(ErrorCode::kNotFound, "cannot read '{}'", path);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(file, line)) lines.push_back(line);
  return FileParser(std::move(lines)).Parse();
}

}  // namespace lake::sqltest
