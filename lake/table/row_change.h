#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "lake/base/context.h"
#include "lake/table/append_writer.h"
#include "lake/table/dataset.h"
#include "lake/table/transaction.h"

namespace lake::table {

/// What an operation worked out, to be committed by lake/commit.
struct PreparedChange {
  Transaction transaction;
  /// Nothing changes: no version is made of it.
  bool is_empty = false;
  uint64_t num_deleted = 0;
  uint64_t num_updated = 0;
  uint64_t num_inserted = 0;
};

/// Looks at values on their way into a table, all columns of the batch new ones; an error ends the
/// operation. lake/commit checks FILE values with it. May be called from several threads.
using RowCheck = std::function<Status(const arrow::RecordBatch& new_values)>;

struct RowChangeOptions {
  AppendWriterOptions writer;
  /// Top-level columns whose values Update may change; nothing: all.
  std::optional<std::set<std::string>> changed_columns;
  /// Sees rows of Insert, and of Update the columns that change.
  RowCheck check;
};

/// Rows taken out, changed and added by one statement, on their way into one transaction: what
/// delete, update and merge-insert, ours and SQL's, write into. Data files are written as rows
/// come; the memory budget holds at most two bytes for each row that is taken out, and with stable
/// row ids ten for one that is changed. Not thread-safe. Destruction without Finish removes what
/// was written.
class RowChange {
 public:
  /// On top of `dataset`'s version. Nothing is written before rows come.
  static Result<std::unique_ptr<RowChange>> Open(const Context& context,
                                                 std::shared_ptr<const Dataset> dataset,
                                                 RowChangeOptions options = {});
  virtual ~RowChange() = default;

  /// Takes rows out. One that is taken out twice counts once.
  virtual Status Delete(std::span<const RowAddress> addresses) = 0;
  /// Takes out all rows that are left in the table.
  virtual Status DeleteAll() = 0;

  /// Puts `rows` in place of those at `addresses`, one by one; columns are the table's in order. A
  /// column of blobs holds new values, or the places of those that the rows had, which are kept. A
  /// row that is changed twice, or changed and taken out, fails Finish.
  virtual Status Update(std::span<const RowAddress> addresses, const arrow::RecordBatch& rows) = 0;

  virtual Status Insert(const arrow::RecordBatch& rows) = 0;

  struct Summary {
    /// Kept in the transaction of a delete, for people.
    std::string predicate;
    /// See UpdateOperation::inserted_by_key.
    bool inserted_by_key = false;
  };
  /// Writes the deletion files and ends the data files. kNotFound for an address that names no row
  /// of the version, kInvalidArgument for a row that is changed twice.
  virtual Result<PreparedChange> Finish(const Summary& summary) = 0;
};

}  // namespace lake::table
