#include "lake/format/testing/fixtures.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <boost/json.hpp>
#include <fmt/core.h>

#include "lake/format/testing/fixture_check.h"
#include "lake/storage/memory_store.h"

namespace lake::format {
namespace {

[[noreturn]] void Fail(const std::string& text) {
  fmt::print(stderr, "fixtures: {}\n", text);
  std::abort();
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Texts(const boost::json::object& expect, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto* found = expect.if_contains(key)) {
    for (const auto& text : found->as_array()) texts.emplace_back(text.as_string());
  }
  return texts;
}

// A folder is called <name>_<pylance version>_<file version>.
Fixture LoadOne(const std::filesystem::path& folder, bool with_rows) {
  Fixture fixture;
  const auto expect = boost::json::parse(ReadFile(folder / "expect.json")).as_object();
  fixture.writer = expect.at("pylance").as_string();
  const std::string version(expect.at("file_version").as_string());
  const std::string end = "_" + fixture.writer + "_" + version;
  fixture.name = folder.filename().string();
  if (!fixture.name.ends_with(end)) Fail(folder.string() + " is not called ..." + end);
  fixture.name.resize(fixture.name.size() - end.size());
  fixture.name += "-" + version;
  fixture.bytes = ReadFile(folder / "file.lance");
  fixture.contains = Texts(expect, "contains");
  fixture.refused = Texts(expect, "refused");
  if (with_rows) fixture.rows = ReadFixtureRows(folder / "rows.arrow");
  return fixture;
}

std::vector<Fixture> Load(const std::filesystem::path& folder, bool with_rows) {
  std::vector<Fixture> fixtures;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    fixtures.push_back(LoadOne(entry.path(), with_rows));
  }
  if (fixtures.empty()) Fail("there are none in " + folder.string());
  std::sort(fixtures.begin(), fixtures.end(),
            [](const Fixture& a, const Fixture& b) { return a.name < b.name; });
  return fixtures;
}

class CappedPool : public arrow::MemoryPool {
 public:
  explicit CappedPool(int64_t limit) : limit_(limit) {}

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    ARROW_RETURN_NOT_OK(Check(size));
    return inner_->Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                           uint8_t** ptr) override {
    ARROW_RETURN_NOT_OK(Check(new_size - old_size));
    return inner_->Reallocate(old_size, new_size, alignment, ptr);
  }
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override {
    used_ -= size;
    inner_->Free(buffer, size, alignment);
  }
  int64_t bytes_allocated() const override { return used_; }
  int64_t total_bytes_allocated() const override { return used_; }
  int64_t num_allocations() const override { return 0; }
  std::string backend_name() const override { return "capped"; }

 private:
  arrow::Status Check(int64_t more) {
    if (used_ + more > limit_) return arrow::Status::OutOfMemory("cap of ", limit_, " bytes");
    used_ += more;
    return arrow::Status::OK();
  }

  const int64_t limit_;
  int64_t used_ = 0;
  arrow::MemoryPool* const inner_ = arrow::default_memory_pool();
};

}  // namespace

const std::vector<Fixture>& Fixtures() {
  static const std::vector<Fixture>* const fixtures =
      new std::vector(Load(FixtureFolder() / "files", true));
  return *fixtures;
}

const std::vector<Fixture>& RefusedFixtures() {
  static const std::vector<Fixture>* const fixtures =
      new std::vector(Load(FixtureFolder() / "refused", false));
  return *fixtures;
}

const Fixture& FindFixture(const std::string& name) {
  for (const Fixture& fixture : Fixtures()) {
    if (fixture.name == name) return fixture;
  }
  Fail("there is no fixture " + name);
}

std::shared_ptr<storage::ObjectStore> StoreWith(const std::string& key, const std::string& bytes) {
  auto store = storage::MakeMemoryStore();
  const Status status = store->Put(Context(), key, bytes, storage::PutCondition::kNone);
  if (!status.ok()) Fail(status.ToString());
  return store;
}

Result<std::shared_ptr<FileReader>> OpenBytes(const std::string& bytes, const Context& context) {
  return FileReader::Open(context, StoreWith("test.lance", bytes), "test.lance");
}

std::unique_ptr<arrow::MemoryPool> MakeCappedPool(int64_t limit) {
  return std::make_unique<CappedPool>(limit);
}

}  // namespace lake::format
