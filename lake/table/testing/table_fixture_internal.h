#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "lake/storage/memory_store.h"
#include "lake/table/append_writer.h"
#include "lake/table/commit.h"
#include "lake/table/dataset.h"
#include "lake/table/testing/fake_table_internal.h"

namespace lake::table {

/// Rows of SmallSchema: id from `first`, name "n<id>" or null where id % 7 == 0.
std::shared_ptr<arrow::RecordBatch> Rows(int64_t first, int64_t count);

/// The values of an int64 column.
std::vector<int64_t> Ids(const arrow::RecordBatch& batch, const std::string& name = "id");

/// first, first + 1, ... below last.
std::vector<int64_t> Range(int64_t first, int64_t last);

/// A table with real data files in a store in memory.
class TableFixture : public ::testing::Test {
 protected:
  const Context& context() const { return surroundings_.context(); }

  /// Makes the table: `rows` rows in fragments of `per_fragment`.
  void Create(int64_t rows, uint64_t per_fragment);

  /// Deletes rows of a fragment in a new version of a foreign program, by a bitmap that the
  /// manifest says holds `told` rows.
  void Delete(uint64_t fragment, const std::vector<uint32_t>& rows, uint64_t told = UINT64_MAX);

  /// Makes a new version as a foreign program would.
  void Foreign(const ForeignEdit& edit);

  std::shared_ptr<Dataset> Open(const OpenOptions& options = {});

  /// All batches of a scan, each checked.
  std::vector<std::shared_ptr<arrow::RecordBatch>> ScanAll(const ScanOptions& options);
  std::vector<int64_t> ScanIds(const ScanOptions& options);

  FakeSurroundings surroundings_;
  std::shared_ptr<storage::ObjectStore> store_ = storage::MakeMemoryStore();
};

}  // namespace lake::table
