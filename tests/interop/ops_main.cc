// Operations on a Lance table, one at a time, between Arrow IPC streams and a folder:
//
//   create DIR IN [rows=PER FILE] [stable] [version=FILE VERSION]
//   append DIR IN | overwrite DIR IN [version=FILE VERSION]
//   delete DIR EXPRESSION | truncate DIR
//   update DIR COLUMN=EXPRESSION... [where=EXPRESSION]
//   merge DIR IN on=a,b [matched=update|delete|fail|nothing] [update_if=EXPRESSION] [insert=no]
//         [by_source=delete] [by_source_if=EXPRESSION]
//   add DIR COLUMN=EXPRESSION... | add_null DIR IN (its schema) | add_from DIR IN
//   drop DIR a,b | rename DIR OLD NEW | cast DIR COLUMN TYPE | nullable DIR COLUMN yes|no
//   replace DIR COLUMN=EXPRESSION
//   config|table_metadata|schema_metadata DIR KEY=VALUE|KEY... | field_metadata DIR COLUMN
//       KEY=VALUE...
//   restore DIR VERSION
//   scan DIR OUT [columns=a,b] [filter=EXPRESSION] [version=N]
//   changes DIR OUT FROM TO [columns=a,b]
//   take_ids DIR OUT ID,... COLUMN,... | take DIR OUT ADDRESS,... COLUMN,...
//   compact DIR TARGET_ROWS [decode]
//   race DIR STEP ARGUMENTS...   works the operation out, prints "ready", commits at a line of
//       input
//   batch                   does the steps that lines of input hold, parts separated by tabs; after
//                           each prints "end", its exit code and the error's text
//
// Expressions are s-expressions: (and (> id 5) (= name "x")), with numbers, strings, true, false,
// null and names of Arrow's compute functions. A changing step prints "version deleted updated
// inserted", version 0 where nothing changed. read=N makes it work on version N. Exit code 0; 1
// with the error's text; 3 with it if the commit's state is unknown.

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include <arrow/compute/expression.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include "lake/storage/local_store.h"
#include "lake/table/alter_columns.h"
#include "lake/table/append_writer.h"
#include "lake/table/change_feed.h"
#include "lake/table/column_files.h"
#include "lake/table/commit.h"
#include "lake/table/compaction.h"
#include "lake/table/dataset.h"
#include "lake/table/delete_rows.h"
#include "lake/table/live_rows.h"
#include "lake/table/merge_insert.h"
#include "lake/table/update_rows.h"

namespace lake::table {
namespace {

namespace cp = arrow::compute;
using Arguments = std::vector<std::string>;

constexpr int kMaxRuns = 100;

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

/// The value of "name=value" among `arguments`.
std::optional<std::string> Option(const Arguments& arguments, const std::string& name) {
  for (const std::string& argument : arguments) {
    if (argument == name) return "";
    if (argument.starts_with(name + "=")) return argument.substr(name.size() + 1);
  }
  return std::nullopt;
}

/// "name=value" from argument `first` on, without those of `options`.
std::vector<std::pair<std::string, std::optional<std::string>>> Pairs(
    const Arguments& arguments, size_t first, const std::vector<std::string>& options = {}) {
  std::vector<std::pair<std::string, std::optional<std::string>>> pairs;
  for (size_t i = first; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].find('=');
    std::string name = arguments[i].substr(0, equals);
    if (name == "read" || std::find(options.begin(), options.end(), name) != options.end()) {
      continue;
    }
    std::optional<std::string> value;
    if (equals != std::string::npos) value = arguments[i].substr(equals + 1);
    pairs.emplace_back(std::move(name), std::move(value));
  }
  return pairs;
}

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string text) : text_(std::move(text)) {}

  Result<cp::Expression> Parse() {
    ARROW_ASSIGN_OR_RAISE(cp::Expression expression, Term());
    return expression;
  }

 private:
  static std::string FunctionName(const std::string& name) {
    static const std::map<std::string, std::string> names = {
        {"<", "less"},     {"<=", "less_equal"},  {">", "greater"},    {">=", "greater_equal"},
        {"=", "equal"},    {"!=", "not_equal"},   {"+", "add"},        {"-", "subtract"},
        {"*", "multiply"}, {"and", "and_kleene"}, {"or", "or_kleene"}, {"not", "invert"}};
    auto found = names.find(name);
    return found == names.end() ? name : found->second;
  }

  std::string Word() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const size_t start = at_;
    if (at_ < text_.size() && (text_[at_] == '(' || text_[at_] == ')')) {
      return text_.substr(at_++, 1);
    }
    if (at_ < text_.size() && text_[at_] == '"') {
      at_ = text_.find('"', at_ + 1) + 1;
    } else {
      at_ = std::min(text_.find_first_of(" ()", at_), text_.size());
    }
    return text_.substr(start, at_ - start);
  }

  Result<cp::Expression> Term() {
    std::string word = Word();
    if (word == "(") {
      const std::string name = FunctionName(Word());
      std::vector<cp::Expression> arguments;
      for (;;) {
        const size_t before = at_;
        word = Word();
        if (word == ")") break;
        if (word.empty()) return Error(ErrorCode::kInvalidArgument, "unbalanced: {}", text_);
        at_ = before;
        ARROW_ASSIGN_OR_RAISE(arguments.emplace_back(), Term());
      }
      if (name == "mod") {
        // a - (a / b) * b
        cp::Expression quotient = cp::call("divide", {arguments[0], arguments[1]});
        return cp::call("subtract", {arguments[0], cp::call("multiply", {quotient, arguments[1]})});
      }
      if (name == "concat") {
        arguments.push_back(cp::literal(std::make_shared<arrow::StringScalar>("")));
        return cp::call("binary_join_element_wise", std::move(arguments));
      }
      return cp::call(name, std::move(arguments));
    }
    if (word.front() == '"') {
      return cp::literal(std::make_shared<arrow::StringScalar>(word.substr(1, word.size() - 2)));
    }
    if (word == "true") return cp::literal(true);
    if (word == "false") return cp::literal(false);
    if (word == "null") return cp::literal(std::make_shared<arrow::NullScalar>());
    const bool number = isdigit(word.front()) != 0 || (word.size() > 1 && word.front() == '-');
    if (number && word.find('.') != std::string::npos) return cp::literal(std::stod(word));
    if (number) return cp::literal(static_cast<int64_t>(std::stoll(word)));
    const size_t dot = word.find('.');
    if (dot != std::string::npos) {
      return cp::field_ref(arrow::FieldRef(word.substr(0, dot), word.substr(dot + 1)));
    }
    return cp::field_ref(word);
  }

  const std::string text_;
  size_t at_ = 0;
};

Result<cp::Expression> ParseExpression(const std::string& text) {
  return ExpressionParser(text).Parse();
}

Result<std::optional<cp::Expression>> OptionalExpression(const Arguments& arguments,
                                                         const std::string& name) {
  std::optional<std::string> text = Option(arguments, name);
  if (!text) return std::optional<cp::Expression>();
  return ParseExpression(*text);
}

Result<std::shared_ptr<arrow::RecordBatchReader>> OpenStream(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  return arrow::ipc::RecordBatchStreamReader::Open(file);
}

Status WriteStream(const std::string& path, const std::shared_ptr<arrow::Schema>& schema,
                   const arrow::RecordBatchVector& batches) {
  ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::FileOutputStream::Open(path));
  ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeStreamWriter(sink, schema));
  for (const auto& batch : batches) {
    if (batch == nullptr) continue;
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
  }
  ARROW_RETURN_NOT_OK(writer->Close());
  return sink->Close();
}

struct Written {
  std::vector<Fragment> fragments;
  std::vector<std::string> new_objects;
};

Result<Written> Write(const Context& context, std::shared_ptr<storage::ObjectStore> store,
                      const format::Schema& schema, const format::FileVersion& file_version,
                      arrow::RecordBatchReader* reader, const Arguments& arguments) {
  AppendWriterOptions options;
  options.file_version = file_version;
  if (auto rows = Option(arguments, "rows")) options.max_rows_per_file = std::stoull(*rows);
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<AppendWriter> writer,
                        AppendWriter::Open(context, store, schema, options));
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
    if (batch == nullptr) break;
    ARROW_RETURN_NOT_OK(writer->Write(*batch));
  }
  Written written;
  ARROW_ASSIGN_OR_RAISE(written.fragments, writer->Finish());
  written.new_objects = writer->new_objects();
  return written;
}

/// "version=2.1", if it is there; else `otherwise`.
Result<format::FileVersion> FileVersionOf(const Arguments& arguments,
                                          const Result<format::FileVersion>& otherwise) {
  const auto version = Option(arguments, "version");
  return version ? format::FileVersion::Parse(*version) : otherwise;
}

using Step = std::function<Result<PreparedChange>(const Context&, std::shared_ptr<const Dataset>,
                                                  const Arguments&)>;

PreparedChange Simple(const Context& context, const Dataset& dataset, Operation operation,
                      std::vector<std::string> new_objects = {}) {
  PreparedChange change;
  change.transaction = NewTransaction(context, dataset.manifest().version(), std::move(operation),
                                      std::move(new_objects));
  return change;
}

Result<PreparedChange> Append(const Context& context, std::shared_ptr<const Dataset> dataset,
                              const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto reader, OpenStream(arguments[2]));
  ARROW_ASSIGN_OR_RAISE(const format::FileVersion version,
                        VersionOfNewFiles(dataset->manifest(), arguments[1]));
  ARROW_ASSIGN_OR_RAISE(Written written,
                        Write(context, dataset->store(), dataset->manifest().schema(), version,
                              reader.get(), arguments));
  return Simple(context, *dataset, AppendOperation{std::move(written.fragments)},
                std::move(written.new_objects));
}

Result<PreparedChange> Overwrite(const Context& context, std::shared_ptr<const Dataset> dataset,
                                 const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto reader, OpenStream(arguments[2]));
  OverwriteOperation overwrite;
  ARROW_ASSIGN_OR_RAISE(overwrite.schema, format::SchemaFromArrow(
                                              *reader->schema(), NextFieldId(dataset->manifest())));
  ARROW_ASSIGN_OR_RAISE(
      const format::FileVersion version,
      FileVersionOf(arguments, VersionOfNewFiles(dataset->manifest(), arguments[1])));
  ARROW_ASSIGN_OR_RAISE(Written written, Write(context, dataset->store(), overwrite.schema, version,
                                               reader.get(), arguments));
  overwrite.file_version = version;
  overwrite.fragments = std::move(written.fragments);
  return Simple(context, *dataset, std::move(overwrite), std::move(written.new_objects));
}

Result<PreparedChange> Delete(const Context& context, std::shared_ptr<const Dataset> dataset,
                              const Arguments& arguments) {
  if (arguments[0] == "truncate") return DeleteRows(context, dataset, std::nullopt);
  ARROW_ASSIGN_OR_RAISE(cp::Expression filter, ParseExpression(arguments[2]));
  return DeleteRows(context, dataset, filter);
}

Result<PreparedChange> Update(const Context& context, std::shared_ptr<const Dataset> dataset,
                              const Arguments& arguments) {
  UpdateRowsOptions options;
  ARROW_ASSIGN_OR_RAISE(options.filter, OptionalExpression(arguments, "where"));
  for (const auto& [column, text] : Pairs(arguments, 2, {"where"})) {
    ARROW_ASSIGN_OR_RAISE(cp::Expression value, ParseExpression(*text));
    options.assignments.emplace(column, std::move(value));
  }
  return UpdateRows(context, dataset, options);
}

Result<PreparedChange> Merge(const Context& context, std::shared_ptr<const Dataset> dataset,
                             const Arguments& arguments) {
  using Matched = MergeInsertOptions::Matched;
  static const std::map<std::string, Matched> matched = {{"update", Matched::kUpdate},
                                                         {"delete", Matched::kDelete},
                                                         {"fail", Matched::kFail},
                                                         {"nothing", Matched::kNothing}};
  ARROW_ASSIGN_OR_RAISE(auto reader, OpenStream(arguments[2]));
  MergeInsertOptions options;
  options.on = Split(*Option(arguments, "on"));
  options.when_matched = matched.at(Option(arguments, "matched").value_or("nothing"));
  options.insert_not_matched = Option(arguments, "insert") != "no";
  options.delete_not_matched_by_source = Option(arguments, "by_source") == "delete";
  ARROW_ASSIGN_OR_RAISE(options.update_if, OptionalExpression(arguments, "update_if"));
  ARROW_ASSIGN_OR_RAISE(options.by_source_if, OptionalExpression(arguments, "by_source_if"));
  return MergeInsert(context, dataset, reader.get(), options);
}

Result<PreparedChange> AddColumns(const Context& context, std::shared_ptr<const Dataset> dataset,
                                  const Arguments& arguments) {
  if (arguments[0] != "add") {
    ARROW_ASSIGN_OR_RAISE(auto reader, OpenStream(arguments[2]));
    if (arguments[0] == "add_null") return AddNullColumns(context, dataset, *reader->schema());
    return AddColumnsFrom(context, dataset, reader.get());
  }
  std::vector<ComputedColumn> columns;
  for (const auto& [name, text] : Pairs(arguments, 2)) {
    ARROW_ASSIGN_OR_RAISE(cp::Expression expression, ParseExpression(*text));
    columns.push_back({name, std::move(expression), nullptr});
  }
  return AddComputedColumns(context, dataset, columns);
}

Result<PreparedChange> Alter(const Context& context, std::shared_ptr<const Dataset> dataset,
                             const Arguments& arguments) {
  static const std::map<std::string, std::shared_ptr<arrow::DataType>> types = {
      {"int8", arrow::int8()},     {"int32", arrow::int32()},    {"int64", arrow::int64()},
      {"float", arrow::float32()}, {"double", arrow::float64()}, {"string", arrow::utf8()}};
  if (arguments[0] == "drop") return DropColumns(context, dataset, Split(arguments[2]));
  ColumnAlteration alteration;
  alteration.column = arguments[2];
  if (arguments[0] == "rename") alteration.new_name = arguments[3];
  if (arguments[0] == "cast") alteration.new_type = types.at(arguments[3]);
  if (arguments[0] == "nullable") alteration.nullable = arguments[3] == "yes";
  return AlterColumns(context, dataset, {alteration});
}

Result<PreparedChange> Replace(const Context& context, std::shared_ptr<const Dataset> dataset,
                               const Arguments& arguments) {
  const auto pair = Pairs(arguments, 2).at(0);
  ARROW_ASSIGN_OR_RAISE(cp::Expression expression, ParseExpression(*pair.second));
  return ReplaceColumn(context, dataset, pair.first, expression);
}

Result<PreparedChange> Config(const Context& context, std::shared_ptr<const Dataset> dataset,
                              const Arguments& arguments) {
  const bool field = arguments[0] == "field_metadata";
  MapUpdate update;
  for (const auto& [key, value] : Pairs(arguments, field ? 3 : 2)) update.entries[key] = value;
  UpdateConfigOperation operation;
  if (arguments[0] == "config") operation.config = update;
  if (arguments[0] == "table_metadata") operation.table_metadata = update;
  if (arguments[0] == "schema_metadata") operation.schema_metadata = update;
  if (field) {
    operation.field_metadata[dataset->manifest().schema().Find(arguments[2])->id] = update;
  }
  return Simple(context, *dataset, std::move(operation));
}

Result<PreparedChange> Restore(const Context& context, std::shared_ptr<const Dataset> dataset,
                               const Arguments& arguments) {
  return Simple(context, *dataset, RestoreOperation{std::stoull(arguments[2])});
}

const std::map<std::string, Step>& Steps() {
  static const std::map<std::string, Step> steps = {
      {"append", Append},          {"overwrite", Overwrite},
      {"delete", Delete},          {"truncate", Delete},
      {"update", Update},          {"merge", Merge},
      {"add", AddColumns},         {"add_null", AddColumns},
      {"add_from", AddColumns},    {"drop", Alter},
      {"rename", Alter},           {"cast", Alter},
      {"nullable", Alter},         {"replace", Replace},
      {"config", Config},          {"table_metadata", Config},
      {"schema_metadata", Config}, {"field_metadata", Config},
      {"restore", Restore}};
  return steps;
}

/// Works the step out on the newest version and commits, again from the start where another commit
/// came first.
Status Change(const Context& context, const Arguments& arguments, bool race) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(arguments[1]));
  OpenOptions open;
  if (auto version = Option(arguments, "read")) open.version = std::stoull(*version);
  int lost = 0;
  for (int run = 1;; ++run) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Dataset> dataset, Dataset::Open(context, store, open));
    ARROW_ASSIGN_OR_RAISE(PreparedChange change,
                          Steps().at(arguments[0])(context, dataset, arguments));
    if (race) {
      std::string line;
      std::cout << "ready" << std::endl;
      std::getline(std::cin, line);
      race = false;
    }
    if (change.is_empty) {
      std::cout << "0 0 0 0 " << lost << std::endl;
      return Status::OK();
    }
    Result<CommitResult> result = Commit(context, store, change.transaction, {});
    if (result.ok()) {
      std::cout << result->version << " " << change.num_deleted << " " << change.num_updated << " "
                << change.num_inserted << " " << lost + result->lost_attempts << std::endl;
      return Status::OK();
    }
    ++lost;
    if (open.version || !IsRetryable(result.status()) || run == kMaxRuns ||
        CodeOf(result.status()) != ErrorCode::kConflict) {
      return result.status();
    }
  }
}

Status Create(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(arguments[1]));
  ARROW_ASSIGN_OR_RAISE(auto reader, OpenStream(arguments[2]));
  OverwriteOperation create;
  create.stable_row_ids = Option(arguments, "stable").has_value();
  ARROW_ASSIGN_OR_RAISE(create.schema, format::SchemaFromArrow(*reader->schema()));
  ARROW_ASSIGN_OR_RAISE(create.file_version, FileVersionOf(arguments, format::kFileVersion22));
  ARROW_ASSIGN_OR_RAISE(Written written, Write(context, store, create.schema, *create.file_version,
                                               reader.get(), arguments));
  create.fragments = std::move(written.fragments);
  ARROW_ASSIGN_OR_RAISE(
      CommitResult result,
      Commit(context, store, NewTransaction(context, 0, create, written.new_objects), {}));
  std::cout << result.version << " 0 0 0 0\n";
  return Status::OK();
}

Status Compact(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(arguments[1]));
  ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Open(context, store));
  CompactionOptions options;
  options.target_rows = std::stoull(arguments[2]);
  options.copy_pages = !Option(arguments, "decode");
  ARROW_ASSIGN_OR_RAISE(CompactionPlan plan, PlanCompaction(context, *dataset, options));
  ARROW_ASSIGN_OR_RAISE(auto groups, RunCompaction(context, *dataset, plan, options));
  uint32_t count = 0;
  RewriteOperation rewrite;
  std::vector<std::string> new_objects;
  for (const CompactedGroup& group : groups) {
    count += static_cast<uint32_t>(group.group.new_fragments.size());
    new_objects.insert(new_objects.end(), group.new_objects.begin(), group.new_objects.end());
  }
  if (groups.empty()) {
    std::cout << "0 0 0 0 0\n";
    return Status::OK();
  }
  uint64_t version = plan.read_version;
  if (count > 0) {
    ARROW_ASSIGN_OR_RAISE(
        CommitResult reserved,
        Commit(context, store, NewTransaction(context, version, ReserveFragmentsOperation{count}),
               {}));
    version = reserved.version;
    AssignFragmentIds(uint64_t{*reserved.manifest->max_fragment_id()} + 1 - count, &groups);
  }
  for (const CompactedGroup& group : groups) rewrite.groups.push_back(group.group);
  ARROW_ASSIGN_OR_RAISE(
      CommitResult result,
      Commit(context, store,
             NewTransaction(context, version, std::move(rewrite), std::move(new_objects)), {}));
  std::cout << result.version << " 0 0 0 0\n";
  return Status::OK();
}

Status Scan(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(arguments[1]));
  OpenOptions open;
  if (auto version = Option(arguments, "version")) open.version = std::stoull(*version);
  ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Open(context, store, open));
  ScanOptions options;
  if (auto columns = Option(arguments, "columns")) options.columns = Split(*columns);
  ARROW_ASSIGN_OR_RAISE(options.filter, OptionalExpression(arguments, "filter"));
  ARROW_ASSIGN_OR_RAISE(auto scanner, dataset->Scan(context, options));
  arrow::RecordBatchVector batches(scanner->num_morsels());
  for (size_t i = 0; i < batches.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(batches[i], scanner->Read(context, i));
  }
  return WriteStream(arguments[2], scanner->schema(), batches);
}

Status Changes(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(arguments[1]));
  ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Open(context, store));
  std::optional<std::vector<std::string>> columns;
  if (auto names = Option(arguments, "columns")) columns = Split(*names);
  ARROW_ASSIGN_OR_RAISE(auto feed, ChangeFeed::Open(context, *dataset, std::stoull(arguments[3]),
                                                    std::stoull(arguments[4]), columns));
  arrow::RecordBatchVector batches(feed->num_pieces());
  for (size_t i = 0; i < batches.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(batches[i], feed->Read(context, i));
  }
  return WriteStream(arguments[2], feed->schema(), batches);
}

Status TakeRows(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(arguments[1]));
  ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Open(context, store));
  std::vector<RowAddress> addresses;
  for (const std::string& number : Split(arguments[3])) addresses.push_back(std::stoull(number));
  if (arguments[0] == "take_ids") {
    ARROW_ASSIGN_OR_RAISE(addresses, AddressesOf(context, *dataset, addresses));
  }
  ARROW_ASSIGN_OR_RAISE(auto batch, dataset->Take(context, addresses, Split(arguments[4])));
  return WriteStream(arguments[2], batch->schema(), {batch});
}

Status Run(Arguments arguments) {
  Context context;
  if (arguments[0] == "create") return Create(context, arguments);
  if (arguments[0] == "compact") return Compact(context, arguments);
  if (arguments[0] == "scan") return Scan(context, arguments);
  if (arguments[0] == "changes") return Changes(context, arguments);
  if (arguments[0] == "take_ids" || arguments[0] == "take") return TakeRows(context, arguments);
  const bool race = arguments[0] == "race";
  if (race) {
    // race DIR STEP ... -> STEP DIR ...
    arguments.erase(arguments.begin());
    std::swap(arguments[0], arguments[1]);
  }
  if (!Steps().contains(arguments[0])) {
    return Error(ErrorCode::kInvalidArgument, "unknown step: {}", arguments[0]);
  }
  return Change(context, arguments, race);
}

int ExitCode(const Status& status) {
  if (status.ok()) return 0;
  return IsCommitStateUnknown(status) ? 3 : 1;
}

std::string ErrorLine(const Status& status) {
  if (status.ok()) return "";
  return fmt::format("{}: {}", ErrorCodeName(CodeOf(status)), ErrorText(status));
}

int Batch() {
  for (std::string line; std::getline(std::cin, line);) {
    Arguments arguments;
    std::istringstream in(line);
    for (std::string part; std::getline(in, part, '\t');) arguments.push_back(part);
    const Status status = Run(std::move(arguments));
    std::string error = ErrorLine(status);
    std::replace(error.begin(), error.end(), '\n', ' ');
    std::cout << "end " << ExitCode(status) << " " << error << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace lake::table

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "batch") return lake::table::Batch();
  if (arguments.size() < 2) {
    std::cerr << "usage: see the head of ops_main.cc\n";
    return 2;
  }
  const lake::Status status = lake::table::Run(std::move(arguments));
  if (!status.ok()) std::cerr << lake::table::ErrorLine(status) << "\n";
  return lake::table::ExitCode(status);
}
