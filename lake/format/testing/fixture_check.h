#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "lake/base/error.h"
#include "lake/format/row_selection.h"

namespace lake::format {

/// tests/fixtures/ of the source tree.
std::filesystem::path FixtureFolder();

/// All rows of an Arrow IPC stream, in one batch. Ends the process if it cannot be read.
std::shared_ptr<arrow::RecordBatch> ReadFixtureRows(const std::filesystem::path& path);

/// A line of tests/fixtures/not_read.txt: patterns of fixture and column, and a text of the error.
struct NotRead {
  std::string fixture;
  std::string column;
  std::string text;

  bool Matches(const std::string& fixture_name, const std::string& column_name) const;
};

const std::vector<NotRead>& NotReadList();

/// The line that says why this column is not read, or null. Borrowed, lives forever.
const NotRead* FindNotRead(const std::string& fixture, const std::string& column);

/// Fails the test unless `actual` is a valid array of the same values as `expected`. Dictionaries
/// and extension types are compared by their values; NaN equals NaN, and -0.0 does not equal 0.0.
void ExpectSameValues(const std::shared_ptr<arrow::Array>& expected,
                      const std::shared_ptr<arrow::Array>& actual);

/// The rows of `selection`.
std::shared_ptr<arrow::Array> PickRows(const std::shared_ptr<arrow::Array>& array,
                                       const RowSelection& selection);

}  // namespace lake::format
