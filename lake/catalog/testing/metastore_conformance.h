#pragma once

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/base/testing/fake_random.h"
#include "lake/catalog/metastore.h"

namespace lake::catalog::testing {

/// One fresh, empty metastore database.
class MetastoreUnderTest {
 public:
  virtual ~MetastoreUnderTest() = default;

  /// A new client of the database, as another process would be one.
  virtual Result<std::shared_ptr<Metastore>> Open(const Context& context) = 0;
};

/// How a backend enters the suite.
struct MetastoreBackend {
  std::string name;
  std::function<std::unique_ptr<MetastoreUnderTest>()> make;
};

/// The suite that pins the contract of lake/catalog/metastore.h, for every backend:
///
///   INSTANTIATE_TEST_SUITE_P(Sqlite, MetastoreConformance, testing::Values(backend), BackendName);
class MetastoreConformance : public ::testing::TestWithParam<MetastoreBackend> {
 protected:
  void SetUp() override;

  /// A row that could be created as `name`.
  Entry NewEntry(const std::string& name, const std::string& name_space = kMainNamespace);
  /// Creates a live table.
  Entry MakeTable(const std::string& name, const std::string& name_space = kMainNamespace);
  Result<Entry> Find(const std::string& name, NameMatch match = NameMatch::kExact);

  FakeClock clock_;
  FakeRandom random_{20261129};
  Context context_;
  std::unique_ptr<MetastoreUnderTest> under_test_;
  std::shared_ptr<Metastore> metastore_;
  std::unique_ptr<View> view_;
};

std::string BackendName(const ::testing::TestParamInfo<MetastoreBackend>& info);

}  // namespace lake::catalog::testing
