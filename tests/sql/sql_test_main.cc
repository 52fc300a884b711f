// lake_sql_test [--xml FILE] (FOLDER | FILE.test)...: runs SQL test files, each against a data
// folder of its own, and exits 1 if one fails.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <span>

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <fmt/core.h>

#include "lake/query/engine.h"

#include "test_file.h"

namespace lake::sqltest {
namespace {

namespace fs = std::filesystem;

class StringReader : public objects::ByteReader {
 public:
  explicit StringReader(std::string text) : text_(std::move(text)) {}
  Result<size_t> Read(std::span<uint8_t> out) override {
    const size_t count = std::min(out.size(), text_.size() - position_);
    std::copy_n(text_.data() + position_, count, out.data());
    position_ += count;
    return count;
  }

 private:
  const std::string text_;
  size_t position_ = 0;
};

/// A folder that goes with this object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "lake-sql-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

char TypeLetter(const arrow::DataType& type) {
  // A sum of integers is a HUGEINT, which comes as a decimal without a fraction.
  const bool whole =
      arrow::is_decimal(type.id()) && static_cast<const arrow::DecimalType&>(type).scale() == 0;
  if (whole || arrow::is_integer(type.id()) || type.id() == arrow::Type::BOOL) return 'I';
  if (arrow::is_floating(type.id()) || arrow::is_decimal(type.id())) return 'R';
  return 'T';
}

template <typename T>
std::string ShortestText(T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end.ptr);
}

std::string ValueText(const arrow::Array& column, int64_t row) {
  if (column.IsNull(row)) return "NULL";
  switch (column.type_id()) {
    case arrow::Type::DOUBLE:
      return ShortestText(static_cast<const arrow::DoubleArray&>(column).Value(row));
    case arrow::Type::FLOAT:
      return ShortestText(static_cast<const arrow::FloatArray&>(column).Value(row));
    case arrow::Type::STRING: {
      const std::string text = static_cast<const arrow::StringArray&>(column).GetString(row);
      return text.empty() ? "(empty)" : text;
    }
    case arrow::Type::TIMESTAMP: {
      // Without tables of time zones: the instant in UTC.
      const auto& timestamp = static_cast<const arrow::TimestampType&>(*column.type());
      const auto naive = column.View(arrow::timestamp(timestamp.unit()));
      if (!naive.ok()) return naive.status().ToString();
      return (*(*naive)->GetScalar(row))->ToString() + (timestamp.timezone().empty() ? "" : "Z");
    }
    default: {
      const auto scalar = column.GetScalar(row);
      return scalar.ok() ? (*scalar)->ToString() : scalar.status().ToString();
    }
  }
}

struct Answer {
  std::string types;
  std::vector<std::string> rows;
  int64_t rows_changed = -1;
};

class FileRun {
 public:
  FileRun() : data_dir_(scratch_.path() / "data") {}

  /// The first failure, or an empty text.
  std::string Run(const std::string& path) {
    const auto records = ParseTestFile(path);
    if (!records.ok()) return ErrorText(records.status());
    const Status opened = Open();
    if (!opened.ok()) return ErrorText(opened);
    for (const Record& record : *records) {
      const std::string failure = RunRecord(record);
      if (!failure.empty()) return fmt::format("line {}: {}", record.line, failure);
    }
    return "";
  }

 private:
  Status Open() {
    ARROW_ASSIGN_OR_RAISE(lakehouse_, commit::Lakehouse::Open(context_, {data_dir_.string()}));
    query::EngineOptions options;
    options.allow_local_files = true;
    options.memory_limit = 512 << 20;
    options.threads = 2;
    return query::Engine::Open(context_, lakehouse_, options).Value(&engine_);
  }

  void Close() {
    sessions_.clear();
    engine_.reset();
    lakehouse_.reset();
  }

  Result<query::Session*> SessionFor(const std::string& name) {
    auto& session = sessions_[name];
    if (!session) {
      ARROW_ASSIGN_OR_RAISE(session, engine_->Connect(context_, principal_, {}));
    }
    return session.get();
  }

  /// ${TEMP}, ${DATA}, and ${name.uri|content_type|size_bytes|sha256} of uploads.
  std::string Substitute(std::string text) const {
    const auto replace = [&text](const std::string& from, const std::string& to) {
      for (size_t at = text.find(from); at != std::string::npos;
           at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
      }
    };
    replace("${TEMP}", scratch_.path().string());
    replace("${DATA}", data_dir_.string());
    for (const auto& [name, location] : uploads_) {
      replace("${" + name + ".uri}", location.uri);
      replace("${" + name + ".content_type}", location.content_type);
      replace("${" + name + ".size_bytes}", std::to_string(location.size_bytes));
      replace("${" + name + ".sha256}", location.sha256);
    }
    return text;
  }

  Result<std::vector<query::Parameter>> ParametersOf(const Record& record) const {
    std::vector<query::Parameter> values;
    for (const std::string& text : record.parameters) {
      if (text == "null") {
        values.emplace_back(std::monostate{});
      } else if (text.rfind("text:", 0) == 0) {
        values.emplace_back(Substitute(text.substr(5)));
      } else if (text.rfind("file:", 0) == 0 && uploads_.count(text.substr(5)) > 0) {
        values.emplace_back(uploads_.at(text.substr(5)));
      } else {
        return Error(ErrorCode::kInvalidArgument, "unknown parameter '{}'", text);
      }
    }
    return values;
  }

  Result<Answer> Execute(const Record& record) {
    ARROW_ASSIGN_OR_RAISE(query::Session * session, SessionFor(record.connection));
    ARROW_ASSIGN_OR_RAISE(const auto values, ParametersOf(record));
    ARROW_ASSIGN_OR_RAISE(const auto statements, session->Split(Substitute(record.sql)));
    Answer answer;
    for (const std::string& sql : statements) {
      answer = {};
      ARROW_ASSIGN_OR_RAISE(auto statement, session->Prepare(context_, sql));
      ARROW_ASSIGN_OR_RAISE(auto result, statement->Execute(context_, values));
      for (const auto& field : result->schema()->fields())
        answer.types += TypeLetter(*field->type());
      while (true) {
        ARROW_ASSIGN_OR_RAISE(const auto batch, result->Next());
        if (!batch) break;
        for (int64_t row = 0; row < batch->num_rows(); ++row) {
          std::string line;
          for (int column = 0; column < batch->num_columns(); ++column) {
            if (column > 0) line += "\t";
            line += ValueText(*batch->column(column), row);
          }
          answer.rows.push_back(std::move(line));
        }
      }
      answer.rows_changed = result->rows_changed();
    }
    return answer;
  }

  std::string RunRecord(const Record& record) {
    switch (record.kind) {
      case Record::Kind::kReconnect:
        sessions_.erase(record.connection);
        return "";
      case Record::Kind::kReopen: {
        Close();
        const Status opened = Open();
        return opened.ok() ? "" : ErrorText(opened);
      }
      case Record::Kind::kUpload:
        return Upload(record);
      case Record::Kind::kError: {
        const auto answer = Execute(record);
        if (answer.ok()) return "succeeded, but an error was expected: " + record.sql;
        const std::string text = fmt::format("{}: {}", ErrorCodeName(CodeOf(answer.status())),
                                             ErrorText(answer.status()));
        if (std::regex_search(text, std::regex(record.error_pattern))) return "";
        return fmt::format("another error than /{}/: {}", record.error_pattern, text);
      }
      default:
        break;
    }
    const auto answer = Execute(record);
    if (!answer.ok()) {
      return fmt::format("{}: {}\n  {}", ErrorCodeName(CodeOf(answer.status())),
                         ErrorText(answer.status()), record.sql);
    }
    if (record.kind == Record::Kind::kCount && answer->rows_changed != record.count) {
      return fmt::format("changed {} rows, not {}", answer->rows_changed, record.count);
    }
    return record.kind == Record::Kind::kQuery ? Compare(record, *answer) : "";
  }

  std::string Compare(const Record& record, Answer answer) const {
    if (answer.types != record.types) {
      return fmt::format("types {}, not {}\n  {}", answer.types, record.types, record.sql);
    }
    std::vector<std::string> expected;
    for (const std::string& row : record.expected) expected.push_back(Substitute(row));
    if (record.sort_rows) {
      std::sort(answer.rows.begin(), answer.rows.end());
      std::sort(expected.begin(), expected.end());
    }
    if (answer.rows == expected) return "";
    std::string text = record.sql + "\n  expected:\n";
    for (const auto& row : expected) text += "    " + row + "\n";
    text += "  got:\n";
    for (const auto& row : answer.rows) text += "    " + row + "\n";
    return text;
  }

  std::string Upload(const Record& record) {
    const auto stage = lakehouse_->StageFor(context_, principal_);
    if (!stage.ok()) return ErrorText(stage.status());
    StringReader reader(record.content);
    objects::UploadOptions options;
    options.content_type = "text/plain";
    const auto location = (*stage)->Upload(context_, &reader, options);
    if (!location.ok()) return ErrorText(location.status());
    uploads_[record.name] = *location;
    return "";
  }

  ScratchFolder scratch_;
  const fs::path data_dir_;
  const Context context_;
  const catalog::Principal principal_;
  std::map<std::string, objects::DataLocation> uploads_;
  std::shared_ptr<commit::Lakehouse> lakehouse_;
  std::unique_ptr<query::Engine> engine_;
  std::map<std::string, std::unique_ptr<query::Session>> sessions_;
};

std::string XmlText(const std::string& text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return result;
}

int Main(int argc, char** argv) {
  std::string xml_path;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--xml" && i + 1 < argc) {
      xml_path = argv[++i];
    } else if (fs::is_directory(argument)) {
      for (const auto& entry : fs::directory_iterator(argument)) {
        if (entry.path().extension() == ".test") files.push_back(entry.path());
      }
    } else {
      files.emplace_back(argument);
    }
  }
  std::sort(files.begin(), files.end());
  int failed = 0;
  std::string cases;
  for (const fs::path& file : files) {
    const auto start = std::chrono::steady_clock::now();
    const std::string failure = FileRun().Run(file.string());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const std::string name = "tests/sql/" + file.filename().string();
    fmt::print("{} {} ({:.2f} s)\n", failure.empty() ? "ok    " : "FAILED", name, seconds.count());
    if (!failure.empty()) {
      ++failed;
      fmt::print("  {}: {}\n", file.filename().string(), failure);
    }
    cases += fmt::format(
        "  <testcase classname=\"sql\" name=\"{}\" time=\"{:.3f}\">{}</testcase>\n", XmlText(name),
        seconds.count(), failure.empty() ? "" : "<failure>" + XmlText(failure) + "</failure>");
  }
  fmt::print("{} files, {} failed\n", files.size(), failed);
  if (!xml_path.empty()) {
    fs::create_directories(fs::path(xml_path).parent_path());
    std::ofstream xml(xml_path);
    xml << fmt::format("<testsuite name=\"sql\" tests=\"{}\" failures=\"{}\">\n{}</testsuite>\n",
                       files.size(), failed, cases);
    if (!xml.flush()) return 1;
  }
  return failed > 0 || files.empty() ? 1 : 0;
}

}  // namespace
}  // namespace lake::sqltest

int main(int argc, char** argv) {
  if (!arrow::compute::Initialize().ok()) return 1;
  return lake::sqltest::Main(argc, argv);
}
