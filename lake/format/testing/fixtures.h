#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "lake/base/context.h"
#include "lake/format/file_reader.h"
#include "lake/storage/object_store.h"

namespace lake::format {

/// A small Lance file that upstream wrote (lake/format/testdata/make_fixtures.py), and what it
/// holds.
struct Fixture {
  /// Name without version of the writer and ending, such as "flat-2.2".
  std::string name;
  /// The file's bytes.
  std::string bytes;
  /// The rows that must be read from it, in one batch; null for a file that must be refused.
  std::shared_ptr<arrow::RecordBatch> rows;
};

/// All fixtures in lake/format/testdata/, by name. Ends the process if one is missing or broken.
const std::vector<Fixture>& Fixtures();

/// The fixtures that must be refused by name.
const std::vector<Fixture>& RefusedFixtures();

/// REQUIRES: there is one of that name.
const Fixture& FindFixture(const std::string& name);

/// A store in memory with `bytes` under `key`.
std::shared_ptr<storage::ObjectStore> StoreWith(const std::string& key, const std::string& bytes);

/// Opens `bytes` as file "test.lance".
Result<std::shared_ptr<FileReader>> OpenBytes(const std::string& bytes,
                                              const Context& context = Context());

/// A pool that gives out at most `limit` bytes in all; OutOfMemory beyond.
std::unique_ptr<arrow::MemoryPool> MakeCappedPool(int64_t limit);

}  // namespace lake::format
