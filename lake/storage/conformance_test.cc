#include "lake/storage/testing/conformance.h"

#include "lake/base/testing/test_folder.h"
#include "lake/storage/local_store.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"
#include "lake/storage/testing/loses_unsynced_store.h"
#include "lake/storage/testing/recording_store.h"
#include "lake/storage/testing/slow_store.h"

namespace lake::storage {
namespace {

/// A local store over a fresh folder that goes away with it.
std::shared_ptr<ObjectStore> LocalStoreOverTestFolder(bool with_temp_dir) {
  auto folder = std::make_shared<TestFolder>();
  LocalStoreOptions options;
  if (with_temp_dir) {
    options.temp_dir = *folder / "tmp";
    std::filesystem::create_directory(options.temp_dir);
  }
  auto store = OpenLocalStore(*folder / "root", options);
  if (!store.ok()) {
    ADD_FAILURE() << store.status().ToString();
    return nullptr;
  }
  ObjectStore* raw = store->get();
  return {raw, [folder, owner = *std::move(store)](ObjectStore*) {}};
}

INSTANTIATE_TEST_SUITE_P(Memory, ObjectStoreConformance,
                         ConformanceOf({"memory", [] { return MakeMemoryStore(); }}));
INSTANTIATE_TEST_SUITE_P(Local, ObjectStoreConformance,
                         ConformanceOf({"local", [] { return LocalStoreOverTestFolder(false); }}));
INSTANTIATE_TEST_SUITE_P(LocalWithTempDir, ObjectStoreConformance,
                         ConformanceOf({"local", [] { return LocalStoreOverTestFolder(true); }}));
INSTANTIATE_TEST_SUITE_P(PrefixOfMemory, ObjectStoreConformance,
                         ConformanceOf({"prefix", [] {
                                          auto inner = MakePrefixStore(MakeMemoryStore(), "some");
                                          return MakePrefixStore(inner, "prefix/deep");
                                        }}));
INSTANTIATE_TEST_SUITE_P(PrefixOfLocal, ObjectStoreConformance,
                         ConformanceOf({"prefix", [] {
                                          return MakePrefixStore(LocalStoreOverTestFolder(true),
                                                                 "some/prefix");
                                        }}));
INSTANTIATE_TEST_SUITE_P(Faulty, ObjectStoreConformance,
                         ConformanceOf({"faulty", [] {
                                          return std::make_shared<FaultyStore>(MakeMemoryStore());
                                        }}));
INSTANTIATE_TEST_SUITE_P(Recording, ObjectStoreConformance,
                         ConformanceOf({"recording", [] {
                                          return std::make_shared<RecordingStore>(
                                              MakeMemoryStore());
                                        }}));
INSTANTIATE_TEST_SUITE_P(Slow, ObjectStoreConformance,
                         ConformanceOf({"slow", [] {
                                          return std::make_shared<SlowStore>(
                                              MakeMemoryStore(), std::chrono::nanoseconds(0));
                                        }}));
INSTANTIATE_TEST_SUITE_P(LosesUnsynced, ObjectStoreConformance,
                         ConformanceOf({"loses_unsynced",
                                        [] { return std::make_shared<LosesUnsyncedStore>(); }}));

}  // namespace
}  // namespace lake::storage
