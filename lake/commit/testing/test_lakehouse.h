#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/testing/test_folder.h"
#include "lake/catalog/testing/faulty_metastore.h"
#include "lake/commit/lakehouse_impl.h"
#include "lake/storage/object_store.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace lake::commit {

/// A lakehouse over any store, with a SQLite metastore and a local stage in a folder of its own.
class TestLakehouse {
 public:
  explicit TestLakehouse(std::shared_ptr<storage::ObjectStore> store, Context context = {});

  /// The metastore in between, on which faults can be put.
  catalog::FaultyMetastore& metastore() { return *metastore_; }

  LakehouseImpl* get() { return lakehouse_.get(); }
  LakehouseImpl* operator->() { return lakehouse_.get(); }
  LakehouseImpl& operator*() { return *lakehouse_; }
  const std::shared_ptr<LakehouseCore>& core() { return core_; }
  const std::string& metastore_path() const { return metastore_path_; }

  /// A second lakehouse over `store` and the same metastore: another process.
  std::shared_ptr<LakehouseImpl> OpenSecond(std::shared_ptr<storage::ObjectStore> store);

  /// The core of a second lakehouse.
  std::shared_ptr<LakehouseCore> MakeCore(std::shared_ptr<storage::ObjectStore> store,
                                          std::shared_ptr<catalog::Metastore> metastore);

 private:
  TestFolder folder_{FastTestParent()};
  Context context_;
  std::string metastore_path_;
  std::shared_ptr<catalog::FaultyMetastore> metastore_;
  std::shared_ptr<LakehouseCore> core_;
  std::shared_ptr<LakehouseImpl> lakehouse_;
};

/// A schema of one column `x` of int64, and rows of it.
std::shared_ptr<arrow::Schema> NumbersSchema();
std::shared_ptr<arrow::RecordBatch> Numbers(const std::vector<int64_t>& values);

/// All values of `x`, ascending.
Result<std::vector<int64_t>> ReadNumbers(const Context& context, const table::Dataset& dataset);

/// Makes a table of numbers; appends to it. `operation` may be empty.
Result<CommitOutcome> CreateNumbers(const Context& context, Lakehouse* lakehouse,
                                    const std::string& name, const std::vector<int64_t>& values,
                                    const OperationKey& operation = {});
Result<CommitOutcome> AppendNumbers(const Context& context, Lakehouse* lakehouse,
                                    const std::string& name, const std::vector<int64_t>& values,
                                    const OperationKey& operation = {});
/// Adds `step` to each number that is at least `from`.
Result<CommitOutcome> UpdateNumbers(const Context& context, Lakehouse* lakehouse,
                                    const std::string& name, int64_t from, int64_t step,
                                    const OperationKey& operation = {});
/// Puts `values` in place of all numbers.
Result<CommitOutcome> ReplaceNumbers(const Context& context, Lakehouse* lakehouse,
                                     const std::string& name, const std::vector<int64_t>& values,
                                     const OperationKey& operation = {});
/// The numbers of the newest version of the table called `name` in `main`.
Result<std::vector<int64_t>> NumbersOf(const Context& context, Lakehouse* lakehouse,
                                       const std::string& name);

}  // namespace lake::commit
