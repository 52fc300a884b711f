// The worker of bench/run.py. Reads one operation per line, runs it, answers with one line:
// "ok <seconds> <rows>" or "error <text>". Fields are separated by tabs.
//
//   sql     TEXT                     runs it and reads all rows
//   take    TABLE COLUMNS INDEX,...  rows of the first fragment by address; COLUMNS with commas
//   import  PATH                     uploads a file into the stage

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>
#include <fmt/core.h>

#include "lake/commit/lakehouse.h"
#include "lake/query/engine.h"

namespace {

using lake::Context;
using lake::Result;
using lake::Status;

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

class Worker {
 public:
  static Result<std::unique_ptr<Worker>> Open(const std::string& data_dir, int threads) {
    auto worker = std::make_unique<Worker>();
    ARROW_ASSIGN_OR_RAISE(worker->lakehouse_,
                          lake::commit::Lakehouse::Open(worker->context_, {.data_dir = data_dir}));
    ARROW_ASSIGN_OR_RAISE(worker->engine_, lake::query::Engine::Open(
                                               worker->context_, worker->lakehouse_,
                                               {.threads = threads, .allow_local_files = true}));
    ARROW_ASSIGN_OR_RAISE(worker->session_,
                          worker->engine_->Connect(worker->context_, worker->principal_, {}));
    return worker;
  }

  /// Runs one line; the number of rows it gave.
  Result<int64_t> Run(const std::vector<std::string>& fields) {
    if (fields[0] == "sql" && fields.size() == 2) return Sql(fields[1]);
    if (fields[0] == "take" && fields.size() == 4) return Take(fields[1], fields[2], fields[3]);
    if (fields[0] == "import" && fields.size() == 2) return Import(fields[1]);
    return lake::Error(lake::ErrorCode::kInvalidArgument, "unknown operation: {}", fields[0]);
  }

 private:
  Result<int64_t> Sql(const std::string& text) {
    ARROW_ASSIGN_OR_RAISE(auto statement, session_->Prepare(context_, text));
    ARROW_ASSIGN_OR_RAISE(auto stream, statement->Execute(context_, {}));
    int64_t rows = 0;
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
      if (!batch) return rows;
      rows += batch->num_rows();
    }
  }

  Result<int64_t> Take(const std::string& table, const std::string& columns,
                       const std::string& indices) {
    std::vector<std::string> name = Split(table, '.');
    ARROW_ASSIGN_OR_RAISE(auto open,
                          lakehouse_->OpenByName(context_, principal_, {name.at(0), name.at(1)},
                                                 lake::catalog::NameMatch::kExact));
    std::vector<lake::table::RowAddress> addresses;
    for (const std::string& index : Split(indices, ',')) addresses.push_back(std::stoull(index));
    ARROW_ASSIGN_OR_RAISE(auto batch,
                          open->dataset->Take(context_, addresses, Split(columns, ',')));
    return batch->num_rows();
  }

  Result<int64_t> Import(const std::string& path) {
    ARROW_ASSIGN_OR_RAISE(auto stage, lakehouse_->StageFor(context_, principal_));
    ARROW_RETURN_NOT_OK(stage->UploadFile(context_, path, {}).status());
    return 1;
  }

  Context context_;
  lake::catalog::Principal principal_;
  std::shared_ptr<lake::commit::Lakehouse> lakehouse_;
  std::unique_ptr<lake::query::Engine> engine_;
  std::unique_ptr<lake::query::Session> session_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: lake_bench DATA_DIR THREADS\n";
    return 2;
  }
  auto worker = Worker::Open(argv[1], std::stoi(argv[2]));
  if (!worker.ok()) {
    std::cerr << lake::ErrorText(worker.status()) << "\n";
    return 1;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    auto begin = std::chrono::steady_clock::now();
    Result<int64_t> rows = (*worker)->Run(Split(line, '\t'));
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::cout << (rows.ok() ? fmt::format("ok\t{:.6f}\t{}", seconds.count(), *rows)
                            : fmt::format("error\t{}", lake::ErrorText(rows.status())))
              << std::endl;
  }
  return 0;
}
