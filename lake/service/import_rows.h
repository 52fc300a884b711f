#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/context.h"
#include "lake/commit/lakehouse.h"
#include "lake/objects/data_location.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace lake::service {

/// A file that was uploaded and has no row yet.
struct ImportedFile {
  std::string path;
  int64_t modified_nanos = 0;
  objects::DataLocation location;
};

/// OK if the columns path, kind, size, modified and content that `schema` has are of types that an
/// import can fill, and all others are nullable; else kInvalidArgument naming the column.
Status CheckImportColumns(const arrow::Schema& schema);

/// The rows of `files` for a table with this schema. REQUIRES: CheckImportColumns is OK.
Result<std::shared_ptr<arrow::RecordBatch>> MakeImportRows(
    const Context& context, const std::shared_ptr<arrow::Schema>& schema,
    const std::vector<ImportedFile>& files);

/// The files that a table has rows for, known by path, size and time (as far as it has these
/// columns). Takes 16 bytes of the memory budget for each row. Immutable after loading.
class KnownFiles {
 public:
  static Result<KnownFiles> Load(const Context& context, const commit::OpenTable& table);

  bool Contains(std::string_view path, uint64_t size, int64_t modified_nanos) const;

 private:
  using Key = std::array<uint8_t, 16>;

  Key KeyOf(std::string_view path, uint64_t size, int64_t modified_micros) const;
  // Adds the rows of a batch with the columns `path` and, as far as they exist, `size` and
  // `modified`.
  Status Add(const arrow::RecordBatch& batch);

  bool has_path_ = false;
  bool has_size_ = false;
  bool has_modified_ = false;
  MemoryReservation reservation_;
  std::vector<Key> keys_;  // ascending
};

}  // namespace lake::service
