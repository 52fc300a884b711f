#include "lake/service/result_writer.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <fmt/format.h>
#include <utf8proc.h>

#include "lake/service/value_text.h"

namespace lake::service {
namespace {

/// Output is handed on in pieces of about this size.
constexpr size_t kFlushBytes = 64 * 1024;

class TextBuffer {
 public:
  explicit TextBuffer(ByteSink sink) : sink_(std::move(sink)) {}

  std::string* out() { return &buffer_; }

  Status FlushIfLarge() { return buffer_.size() >= kFlushBytes ? Flush() : Status::OK(); }

  Status Flush() {
    ARROW_RETURN_NOT_OK(sink_(buffer_));
    buffer_.clear();
    return Status::OK();
  }

 private:
  ByteSink sink_;
  std::string buffer_;
};

/// One JSON object per row; subclasses frame them.
class JsonWriter : public ResultWriter {
 public:
  JsonWriter(ByteSink sink, bool lines) : text_(std::move(sink)), lines_(lines) {}

  Status Begin(const std::shared_ptr<arrow::Schema>& schema) override {
    for (const auto& field : schema->fields()) {
      std::string name;
      AppendJsonString(field->name(), &name);
      names_.push_back(std::move(name));
    }
    if (!lines_) text_.out()->push_back('[');
    return Status::OK();
  }

  Status Write(const arrow::RecordBatch& batch) override {
    std::string* out = text_.out();
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      if (!lines_) out->append(first_ ? "\n" : ",\n");
      first_ = false;
      out->push_back('{');
      for (int i = 0; i < batch.num_columns(); ++i) {
        if (i > 0) out->push_back(',');
        out->append(names_[i]);
        out->push_back(':');
        AppendValueJson(*batch.column(i), row, out);
      }
      out->push_back('}');
      if (lines_) out->push_back('\n');
      ARROW_RETURN_NOT_OK(text_.FlushIfLarge());
    }
    return Status::OK();
  }

  Status Finish() override {
    if (!lines_) text_.out()->append(first_ ? "]\n" : "\n]\n");
    return text_.Flush();
  }

 private:
  TextBuffer text_;
  const bool lines_;
  bool first_ = true;
  std::vector<std::string> names_;
};

class CsvWriter : public ResultWriter {
 public:
  explicit CsvWriter(ByteSink sink) : text_(std::move(sink)) {}

  Status Begin(const std::shared_ptr<arrow::Schema>& schema) override {
    for (int i = 0; i < schema->num_fields(); ++i) {
      if (i > 0) text_.out()->push_back(',');
      AppendField(schema->field(i)->name());
    }
    text_.out()->append("\r\n");
    return Status::OK();
  }

  Status Write(const arrow::RecordBatch& batch) override {
    std::string value;
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      for (int i = 0; i < batch.num_columns(); ++i) {
        if (i > 0) text_.out()->push_back(',');
        if (batch.column(i)->IsNull(row)) continue;
        value.clear();
        AppendValueText(*batch.column(i), row, &value);
        AppendField(value);
      }
      text_.out()->append("\r\n");
      ARROW_RETURN_NOT_OK(text_.FlushIfLarge());
    }
    return Status::OK();
  }

  Status Finish() override { return text_.Flush(); }

 private:
  void AppendField(std::string_view value) {
    std::string* out = text_.out();
    if (!value.empty() && value.find_first_of(",\"\r\n") == std::string_view::npos) {
      out->append(value);
      return;
    }
    // An empty string is quoted, so that it differs from null.
    out->push_back('"');
    for (char c : value) {
      if (c == '"') out->push_back('"');
      out->push_back(c);
    }
    out->push_back('"');
  }

  TextBuffer text_;
};

/// Columns that `text` takes on a terminal.
size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto size = static_cast<utf8proc_ssize_t>(text.size());
  for (utf8proc_ssize_t i = 0; i < size;) {
    utf8proc_int32_t code_point;
    utf8proc_ssize_t used = utf8proc_iterate(bytes + i, size - i, &code_point);
    if (used <= 0) {
      ++i;
      ++width;
      continue;
    }
    i += used;
    width += static_cast<size_t>(std::max(0, utf8proc_charwidth(code_point)));
  }
  return width;
}

/// Line breaks and other control characters would tear a table apart.
std::string OneLine(std::string text) {
  std::string line;
  line.reserve(text.size());
  for (char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  return line;
}

class TableWriter : public ResultWriter {
 public:
  explicit TableWriter(ByteSink sink) : text_(std::move(sink)) {}

  Status Begin(const std::shared_ptr<arrow::Schema>& schema) override {
    for (const auto& field : schema->fields()) {
      header_.push_back(OneLine(field->name()));
      right_.push_back(IsNumeric(*field->type()));
      widths_.push_back(DisplayWidth(header_.back()));
    }
    return Status::OK();
  }

  Status Write(const arrow::RecordBatch& batch) override {
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      std::vector<std::string> cells;
      cells.reserve(header_.size());
      for (int i = 0; i < batch.num_columns(); ++i) {
        std::string cell;
        if (batch.column(i)->IsNull(row)) {
          cell = "NULL";
        } else {
          AppendValueText(*batch.column(i), row, &cell);
        }
        cells.push_back(OneLine(std::move(cell)));
      }
      ++num_rows_;
      if (header_written_) {
        AppendRow(cells);
      } else {
        head_.push_back(std::move(cells));
        if (head_.size() >= kWidthRows) AppendHead();
      }
      ARROW_RETURN_NOT_OK(text_.FlushIfLarge());
    }
    return Status::OK();
  }

  Status Finish() override {
    if (!header_written_) AppendHead();
    fmt::format_to(std::back_inserter(*text_.out()), "({} row{})\n", num_rows_,
                   num_rows_ == 1 ? "" : "s");
    return text_.Flush();
  }

 private:
  /// Rows that decide the widths.
  static constexpr size_t kWidthRows = 1000;

  void AppendHead() {
    for (const auto& cells : head_) {
      for (size_t i = 0; i < cells.size(); ++i) {
        widths_[i] = std::max(widths_[i], DisplayWidth(cells[i]));
      }
    }
    AppendRow(header_);
    std::string* out = text_.out();
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (i > 0) out->push_back('+');
      out->append(widths_[i] + 2, '-');
    }
    out->push_back('\n');
    for (const auto& cells : head_) AppendRow(cells);
    head_.clear();
    header_written_ = true;
  }

  void AppendRow(const std::vector<std::string>& cells) {
    std::string* out = text_.out();
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out->append(" |");
      size_t width = DisplayWidth(cells[i]);
      size_t padding = widths_[i] > width ? widths_[i] - width : 0;
      out->push_back(' ');
      if (right_[i]) out->append(padding, ' ');
      out->append(cells[i]);
      // No blanks at the end of a line.
      if (!right_[i] && i + 1 < cells.size()) out->append(padding, ' ');
    }
    out->push_back('\n');
  }

  TextBuffer text_;
  std::vector<std::string> header_;
  std::vector<bool> right_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> head_;
  bool header_written_ = false;
  int64_t num_rows_ = 0;
};

/// Hands an Arrow stream's bytes to a sink.
class SinkStream : public arrow::io::OutputStream {
 public:
  explicit SinkStream(ByteSink sink) : sink_(std::move(sink)) {}

  using arrow::io::OutputStream::Write;
  Status Write(const void* data, int64_t size) override {
    position_ += size;
    return sink_({static_cast<const char*>(data), static_cast<size_t>(size)});
  }
  Status Close() override {
    closed_ = true;
    return Status::OK();
  }
  Result<int64_t> Tell() const override { return position_; }
  bool closed() const override { return closed_; }

 private:
  ByteSink sink_;
  int64_t position_ = 0;
  bool closed_ = false;
};

class ArrowWriter : public ResultWriter {
 public:
  explicit ArrowWriter(ByteSink sink) : stream_(std::move(sink)) {}

  Status Begin(const std::shared_ptr<arrow::Schema>& schema) override {
    ARROW_ASSIGN_OR_RAISE(writer_, arrow::ipc::MakeStreamWriter(&stream_, schema));
    return Status::OK();
  }
  Status Write(const arrow::RecordBatch& batch) override {
    return writer_->WriteRecordBatch(batch);
  }
  Status Finish() override { return writer_->Close(); }

 private:
  SinkStream stream_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

}  // namespace

Result<ResultFormat> ParseResultFormat(const std::string& text) {
  if (text == "table") return ResultFormat::kTable;
  if (text == "json") return ResultFormat::kJson;
  if (text == "jsonl") return ResultFormat::kJsonLines;
  if (text == "csv") return ResultFormat::kCsv;
  if (text == "arrow") return ResultFormat::kArrow;
  return Error(ErrorCode::kInvalidArgument,
               "unknown format (table, json, jsonl, csv or arrow is expected): '{}'", text);
}

std::unique_ptr<ResultWriter> ResultWriter::Make(ResultFormat format, ByteSink sink) {
  switch (format) {
    case ResultFormat::kJson:
      return std::make_unique<JsonWriter>(std::move(sink), false);
    case ResultFormat::kJsonLines:
      return std::make_unique<JsonWriter>(std::move(sink), true);
    case ResultFormat::kCsv:
      return std::make_unique<CsvWriter>(std::move(sink));
    case ResultFormat::kArrow:
      return std::make_unique<ArrowWriter>(std::move(sink));
    case ResultFormat::kTable:
      break;
  }
  return std::make_unique<TableWriter>(std::move(sink));
}

}  // namespace lake::service
