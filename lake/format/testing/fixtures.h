#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "lake/base/context.h"
#include "lake/format/file_reader.h"
#include "lake/storage/object_store.h"

namespace lake::format {

/// A small Lance file that upstream wrote (tests/fixtures/), and what it holds.
struct Fixture {
  /// Name and file version, such as "flat-2.2".
  std::string name;
  /// The version of pylance that wrote it.
  std::string writer;
  /// The file's bytes.
  std::string bytes;
  /// The rows that upstream reads from it, in one batch; null for a file that must be refused.
  std::shared_ptr<arrow::RecordBatch> rows;
  /// Texts that must stand in the description of some page.
  std::vector<std::string> contains;
  /// For a file that must be refused: texts that must stand in the error.
  std::vector<std::string> refused;
};

/// All fixtures in tests/fixtures/files/, by name. Ends the process if one is missing or broken.
const std::vector<Fixture>& Fixtures();

/// The fixtures that must be refused by name: tests/fixtures/refused/.
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
