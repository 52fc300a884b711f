#pragma once

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "lake/storage/object_store.h"

namespace lake::storage {

/// A way to make an empty store; whatever the store needs lives as long as it.
struct StoreFactory {
  std::string name;
  std::function<std::shared_ptr<ObjectStore>()> make;
};

/// What every ObjectStore promises. A store joins by
///   INSTANTIATE_TEST_SUITE_P(Memory, ObjectStoreConformance, ConformanceOf({"memory",
///   MakeMemoryStore}));
class ObjectStoreConformance : public ::testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override;

  /// Keys of the whole store, in the order of the listing.
  std::vector<std::string> Keys(const std::string& prefix = "");
  std::string Read(const std::string& key);
  void MustPut(const std::string& key, std::string_view bytes);

  Context context_;
  std::shared_ptr<ObjectStore> store_;
};

/// The parameter for INSTANTIATE_TEST_SUITE_P.
inline auto ConformanceOf(StoreFactory factory) { return ::testing::Values(std::move(factory)); }

void PrintTo(const StoreFactory& factory, std::ostream* out);

}  // namespace lake::storage
