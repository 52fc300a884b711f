#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arrow/compute/expression.h>
#include <arrow/type_fwd.h>

#include "lake/commit/lakehouse.h"
#include "lake/query/engine.h"

namespace lake::bench {

/// What an operation did, beside the time that it took.
struct Answer {
  int64_t rows = 0;
  /// Bytes that the operation moved, where that is what it is about.
  uint64_t bytes = 0;
};

/// Lake's operations by name, in one process that keeps tables open. A TABLE is "namespace.name" in
/// the lakehouse, or the path of a dataset.
///
///   load    SOURCE PATH              reads an Arrow IPC file into memory
///   write   TABLE SOURCE             creates the table from what was loaded
///   sql     TEXT                     runs it and reads all rows
///   open    TABLE                    opens the dataset anew
///   scan    TABLE COLUMNS FILTER     reads and drops all batches; "*" for all columns, "" for no
///                                    filter, else "column<number" or "column=number"
///   count   TABLE FILTER
///   take    TABLE COLUMNS INDEX,...  by position in the table
///   blobs   TABLE                    all blobs of its column "blob", whole
///   blob_ranges TABLE INDEX,... N    N bytes of each such blob, one call for each
///   append  TABLE SOURCE             the first row of what was loaded
///   appends TABLE SOURCE THREADS N   N such appends by each of THREADS threads
///   many    TABLE SOURCE N           creates the table with N + 1 fragments of one row
///   update  TABLE COLUMN FILTER      adds 1 to the column
///   delete  TABLE FILTER
///   merge   TABLE SOURCE KEY         changes rows with the key of one that was loaded, adds the
///                                    rest
///   compact TABLE
///   pread   TABLE                    the bytes of its data files, into buffers that are used again
///   sync    FOLDER COUNT             makes COUNT small files and their folder durable in one round
///   import  PATH                     uploads a file into the stage
class Worker {
 public:
  static Result<std::unique_ptr<Worker>> Open(const std::string& data_dir, int threads);

  /// Runs one operation. kInvalidArgument for one that there is not.
  Result<Answer> Run(const std::vector<std::string>& fields);

 private:
  Result<std::shared_ptr<const commit::OpenTable>> OpenByName(const std::string& table);
  /// Kept open.
  Result<std::shared_ptr<table::Dataset>> DatasetOf(const std::string& table);

  Result<Answer> Load(const std::string& source, const std::string& path);
  Result<Answer> Write(const std::string& table, const std::string& source);
  Result<Answer> Sql(const std::string& text);
  Result<Answer> OpenAnew(const std::string& table);
  Result<Answer> Scan(const std::string& table, const std::string& columns,
                      const std::string& filter);
  Result<Answer> Count(const std::string& table, const std::string& filter);
  Result<Answer> Take(const std::string& table, const std::string& columns,
                      const std::string& indices);
  static Result<std::vector<table::RowAddress>> AddressesOf(const table::Dataset& dataset,
                                                            const std::string& indices);
  Result<Answer> Blobs(const std::string& table);
  Result<Answer> BlobRanges(const std::string& table, const std::string& indices, uint64_t length);
  Result<Answer> Append(const std::string& table, const std::string& source);
  Result<Answer> Appends(const std::string& table, const std::string& source, int threads,
                         int count);
  Result<Answer> Many(const std::string& table, const std::string& source, int count);
  /// Changes the newest version of `table` by what `make` works out.
  Result<Answer> Change(const std::string& table, const commit::ChangeMaker& make);
  Result<Answer> Update(const std::string& table, const std::string& column,
                        const std::string& filter);
  Result<Answer> Delete(const std::string& table, const std::string& filter);
  Result<Answer> Merge(const std::string& table, const std::string& source, const std::string& key);
  Result<Answer> Compact(const std::string& table);
  Result<Answer> Pread(const std::string& table);
  Result<Answer> Sync(const std::string& folder, int count);
  Result<Answer> Import(const std::string& path);

  Context context_;
  int threads_ = 1;
  catalog::Principal principal_;
  std::shared_ptr<commit::Lakehouse> lakehouse_;
  std::unique_ptr<query::Engine> engine_;
  std::unique_ptr<query::Session> session_;
  std::map<std::string, std::shared_ptr<arrow::Table>> sources_;
  std::map<std::string, std::shared_ptr<table::Dataset>> datasets_;
};

/// "column<number" or "column=number" as an expression.
arrow::compute::Expression ParseFilter(const std::string& text);

std::vector<std::string> Split(const std::string& text, char separator);

}  // namespace lake::bench
