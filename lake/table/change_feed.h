#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/table/dataset.h"

namespace lake::table {

/// What became of a row between two versions.
enum class ChangeKind { kInserted, kUpdated, kDeleted };

/// "insert", "update", "delete"
std::string_view ChangeKindName(ChangeKind kind);

inline constexpr char kChangeColumn[] = "_change_type";

/// The rows that differ between two versions of a table with stable row ids: those only in the
/// newer one (inserted), those only in the older one (deleted, with their old values), and those in
/// both that were changed since (with their new values). A row that came and went in between is in
/// neither. Read piece by piece by any number of threads, in any order. Thread-safe.
class ChangeFeed {
 public:
  /// Between version `from` (exclusive) and `to` (inclusive) of the table that `dataset` is a
  /// version of. `columns` are names of the newer version's own columns (nothing: all); a column
  /// that the older one lacks under its id and type is null for deleted rows. kUnsupported without
  /// stable row ids; kNotFound for a version that is gone; kInvalidArgument if from > to.
  static Result<std::shared_ptr<ChangeFeed>> Open(
      const Context& context, const Dataset& dataset, uint64_t from, uint64_t to,
      const std::optional<std::vector<std::string>>& columns = {});
  virtual ~ChangeFeed() = default;

  /// The columns, then `_change_type` (string), `_rowid` and `_row_last_updated_at_version`
  /// (uint64; for a deleted row, of its last state).
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual size_t num_pieces() const = 0;
  virtual uint64_t piece_rows(size_t piece) const = 0;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Read(const Context& context,
                                                           size_t piece) = 0;
};

}  // namespace lake::table
