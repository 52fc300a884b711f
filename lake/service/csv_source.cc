#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/csv/api.h>
#include <arrow/csv/parser.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/service/folder_walk.h"
#include "lake/service/row_source.h"

namespace lake::service {
namespace {

// Types are inferred from one block, and a row must fit into one. Arrow reads up to 32 blocks
// ahead.
constexpr int64_t kMinBlockBytes = 1 << 20;
constexpr int64_t kMaxBlockBytes = 4 << 20;
constexpr int64_t kBlocksPerBudget = 64;

int32_t BlockBytes(const Context& context) {
  return static_cast<int32_t>(
      std::clamp(context.memory->limit() / kBlocksPerBudget, kMinBlockBytes, kMaxBlockBytes));
}

// The types that Arrow reads from text.
bool IsReadFromText(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::DECIMAL128:
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::FIXED_SIZE_BINARY:
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
      return true;
    default:
      return false;
  }
}

// Arrow names columns by number ("In CSV column #3: Row #7: ..."); people know their names.
Status NameColumn(const Status& status, const std::string& path,
                  const std::vector<std::string>& names) {
  if (status.ok() || CodeOf(status) == ErrorCode::kOutOfMemory) return status;
  constexpr std::string_view kPrefix = "In CSV column #";
  std::string_view text = status.message();
  std::string column;
  if (text.starts_with(kPrefix)) {
    std::string_view rest = text.substr(kPrefix.size());
    size_t index = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    if (error == std::errc() && index < names.size()) {
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
      if (rest.starts_with(": ")) rest.remove_prefix(2);
      column = fmt::format("column '{}', ", names[index]);
      text = rest;
    }
  }
  return Error(ErrorCode::kInvalidArgument, "cannot read the CSV file: '{}': {}{}",
               DisplayName(path), column, text);
}

class CsvSource : public RowSource {
 public:
  CsvSource(std::string path, std::vector<std::string> names,
            std::shared_ptr<arrow::csv::StreamingReader> reader)
      : path_(std::move(path)),
        names_(std::move(names)),
        reader_(std::move(reader)),
        schema_(reader_->schema()) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(NameColumn(reader_->ReadNext(&batch), path_, names_));
    return batch;
  }

  uint64_t bytes_read() const override { return static_cast<uint64_t>(reader_->bytes_read()); }
  uint64_t first_row_number() const override { return 2; }

 private:
  const std::string path_;
  const std::vector<std::string> names_;
  const std::shared_ptr<arrow::csv::StreamingReader> reader_;
  const std::shared_ptr<arrow::Schema> schema_;
};

using ColumnTypes = std::unordered_map<std::string, std::shared_ptr<arrow::DataType>>;

arrow::csv::ParseOptions ParseOptions(char delimiter) {
  auto options = arrow::csv::ParseOptions::Defaults();
  options.delimiter = delimiter;
  options.newlines_in_values = true;
  return options;
}

Result<std::shared_ptr<arrow::csv::StreamingReader>> OpenReader(
    const Context& context, const std::shared_ptr<arrow::io::RandomAccessFile>& file,
    char delimiter, const ColumnTypes& types) {
  // A stream of its own for each reader: one that was dropped may still read ahead on another
  // thread.
  ARROW_ASSIGN_OR_RAISE(int64_t size, file->GetSize());
  ARROW_ASSIGN_OR_RAISE(auto stream, arrow::io::RandomAccessFile::GetStream(file, 0, size));
  auto read = arrow::csv::ReadOptions::Defaults();
  // With one thread errors can tell the row.
  read.use_threads = false;
  read.block_size = BlockBytes(context);
  auto convert = arrow::csv::ConvertOptions::Defaults();
  // An empty field is NULL, "" in quotes is an empty text; no other text means NULL.
  convert.null_values = {""};
  convert.strings_can_be_null = true;
  convert.quoted_strings_can_be_null = false;
  convert.column_types = types;
  return arrow::csv::StreamingReader::Make(arrow::io::IOContext(context.pool()), std::move(stream),
                                           read, ParseOptions(delimiter), convert);
}

// The names in the header; none if it cannot be read, which opening a reader will tell better.
Result<std::vector<std::string>> ReadNames(const Context& context,
                                           const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                           char delimiter) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> block, file->ReadAt(0, BlockBytes(context)));
  std::string_view text(reinterpret_cast<const char*>(block->data()),
                        static_cast<size_t>(block->size()));
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  arrow::csv::BlockParser parser(context.pool(), ParseOptions(delimiter), /*num_cols=*/-1,
                                 /*first_row=*/1, /*max_num_rows=*/1);
  uint32_t parsed = 0;
  bool whole_file = block->size() < BlockBytes(context);
  Status status = whole_file ? parser.ParseFinal(text, &parsed) : parser.Parse(text, &parsed);
  std::vector<std::string> names;
  if (!status.ok() || parser.num_rows() != 1) return names;
  ARROW_RETURN_NOT_OK(parser.VisitLastRow([&](const uint8_t* data, uint32_t size, bool, bool) {
    names.emplace_back(reinterpret_cast<const char*>(data), size);
    return Status::OK();
  }));
  return names;
}

}  // namespace

Result<std::unique_ptr<RowSource>> OpenCsvSource(const Context& context,
                                                 std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                 const std::string& path, char delimiter,
                                                 const arrow::Schema* wanted) {
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> names, ReadNames(context, file, delimiter));
  ColumnTypes types;
  for (const std::string& name : names) {
    auto field = wanted != nullptr ? wanted->GetFieldByName(name) : nullptr;
    if (field != nullptr && IsReadFromText(*field->type())) types[name] = field->type();
  }
  auto reader = OpenReader(context, file, delimiter, types);
  ARROW_RETURN_NOT_OK(NameColumn(reader.status(), path, names));
  bool retyped = false;
  for (const auto& field : (*reader)->schema()->fields()) {
    if (field->type()->id() != arrow::Type::NA) continue;
    types[field->name()] = arrow::utf8();
    retyped = true;
  }
  if (retyped) {
    reader = OpenReader(context, file, delimiter, types);
    ARROW_RETURN_NOT_OK(NameColumn(reader.status(), path, names));
  }
  return std::make_unique<CsvSource>(path, std::move(names), *std::move(reader));
}

}  // namespace lake::service
