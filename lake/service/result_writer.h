#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lake/base/error.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace lake::service {

enum class ResultFormat { kTable, kJson, kJsonLines, kCsv, kArrow };

/// Reads "table", "json", "jsonl", "csv" or "arrow"; else kInvalidArgument naming them.
Result<ResultFormat> ParseResultFormat(const std::string& text);

/// Takes the bytes of a rendered result. Its error ends the rendering and is handed on.
using ByteSink = std::function<Status(std::string_view bytes)>;

/// Renders the rows of one result:
///   table  aligned columns with a row count, for people
///   json   one array of objects
///   jsonl  one object a line
///   csv    RFC 4180 with a header; null is an empty field, an empty string is ""
///   arrow  an Arrow IPC stream
/// Memory is bounded: a table's column widths come from its first rows (lines stay whole, later
/// rows may stand out). Not thread-safe.
class ResultWriter {
 public:
  static std::unique_ptr<ResultWriter> Make(ResultFormat format, ByteSink sink);
  virtual ~ResultWriter() = default;

  /// Must be called first, once.
  virtual Status Begin(const std::shared_ptr<arrow::Schema>& schema) = 0;
  virtual Status Write(const arrow::RecordBatch& batch) = 0;
  virtual Status Finish() = 0;
};

}  // namespace lake::service
