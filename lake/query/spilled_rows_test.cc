#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/query/spilled_rows_internal.h"

namespace lake::query {
namespace {

class RowPartitionerTest : public ::testing::Test {
 protected:
  /// Chunks of what `query` gives; the first column is the row's number.
  duckdb::unique_ptr<duckdb::MaterializedQueryResult> Query(const std::string& query) {
    auto result = connection_.Query(query);
    EXPECT_FALSE(result->HasError()) << result->GetError();
    return result;
  }

  /// The rows that `query` gives by way of a partitioner, as texts in order; each with its
  /// partition.
  std::vector<std::pair<std::string, size_t>> ThroughFiles(const std::string& query, int level,
                                                           uint64_t buffer_bytes) {
    auto result = Query(query);
    std::vector<std::pair<std::string, size_t>> rows;
    connection_.context->RunFunctionInTransaction([&] {
      RowPartitioner partitioner(*connection_.context, result->types, folder_.path(), level,
                                 buffer_bytes);
      while (auto chunk = result->Fetch()) {
        duckdb::Vector hashes(duckdb::LogicalType::HASH);
        duckdb::VectorOperations::Hash(chunk->data[0], hashes, chunk->size());
        partitioner.Append(*chunk, hashes);
      }
      duckdb::DataChunk chunk;
      chunk.Initialize(duckdb::Allocator::DefaultAllocator(), result->types);
      auto partitions = partitioner.Finish();
      EXPECT_EQ(partitions.size(), RowPartitioner::kPartitions);
      for (size_t i = 0; i < partitions.size(); ++i) {
        const uint64_t expected = partitions[i].num_rows;
        uint64_t count = 0;
        SpilledRowsReader reader(std::move(partitions[i]));
        while (reader.Next(&chunk)) {
          for (duckdb::idx_t row = 0; row < chunk.size(); ++row) {
            rows.emplace_back(Text(chunk, row), i);
          }
          count += chunk.size();
        }
        EXPECT_EQ(count, expected);
      }
    });
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  std::vector<std::string> Direct(const std::string& query) {
    auto result = Query(query);
    std::vector<std::string> rows;
    while (auto chunk = result->Fetch()) {
      for (duckdb::idx_t row = 0; row < chunk->size(); ++row) rows.push_back(Text(*chunk, row));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  static std::string Text(const duckdb::DataChunk& chunk, duckdb::idx_t row) {
    std::string text;
    for (duckdb::idx_t column = 0; column < chunk.ColumnCount(); ++column) {
      text += chunk.GetValue(column, row).ToString() + "|";
    }
    return text;
  }

  const TestFolder folder_{FastTestParent()};
  duckdb::DuckDB database_;
  duckdb::Connection connection_{database_};
};

constexpr char kAllTypes[] =
    "SELECT i, CASE WHEN i % 3 > 0 THEN repeat('text ', i % 40) END, i::VARCHAR::BLOB, i % 2 = 0, "
    "CASE WHEN i % 4 > 0 THEN [i, NULL, -i] END, [[i::VARCHAR], NULL, []], "
    "{'a': i, 'b': [md5(i::VARCHAR)], 'c': NULL}, MAP {i: 'value'}, array_value(i, i + 1, NULL), "
    "i::HUGEINT * 1180591620717411303424, (i / 7)::DECIMAL(30, 3), to_days(i::INTEGER), NULL, "
    "(CASE WHEN i % 2 = 0 THEN 'yes' ELSE 'no' END)::ENUM ('yes', 'no'), DATE '2026-01-01' + "
    "i::INTEGER, TIMESTAMP '2026-01-01' + to_seconds(i), ['constant'], 1.5::FLOAT "
    "FROM range(10000) r(i)";

TEST_F(RowPartitionerTest, RowsOfEveryTypeComeBack) {
  const auto expected = Direct(kAllTypes);
  // One buffer for all, one for a few chunks, one for each.
  for (const uint64_t buffer_bytes : {uint64_t{1} << 30, uint64_t{1} << 20, uint64_t{1}}) {
    const auto rows = ThroughFiles(kAllTypes, 0, buffer_bytes);
    ASSERT_EQ(rows.size(), expected.size());
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].first, expected[i]);
  }
}

TEST_F(RowPartitionerTest, EqualHashesStayTogether) {
  std::map<std::string, size_t> partition_of;
  for (const auto& [row, partition] :
       ThroughFiles("SELECT i % 500 FROM range(10000) r(i)", 0, 1 << 10)) {
    EXPECT_EQ(partition_of.emplace(row, partition).first->second, partition);
  }
  EXPECT_EQ(partition_of.size(), 500U);
}

TEST_F(RowPartitionerTest, EachLevelSplitsThePartitionsOfTheOneBefore) {
  const std::string query = "SELECT i FROM range(60000) r(i)";
  for (int level = 1; level < RowPartitioner::kLevels; ++level) {
    const auto before = ThroughFiles(query, level - 1, 1 << 20);
    const auto after = ThroughFiles(query, level, 1 << 20);
    std::vector<std::vector<size_t>> counts(RowPartitioner::kPartitions,
                                            std::vector<size_t>(RowPartitioner::kPartitions));
    for (size_t i = 0; i < before.size(); ++i) ++counts[before[i].second][after[i].second];
    for (const std::vector<size_t>& parts : counts) {
      // Some 4 in each.
      EXPECT_LT(*std::max_element(parts.begin(), parts.end()), 40U);
    }
  }
}

TEST_F(RowPartitionerTest, FilesHaveNoName) {
  auto result = Query("SELECT i FROM range(10000) r(i)");
  connection_.context->RunFunctionInTransaction([&] {
    RowPartitioner partitioner(*connection_.context, result->types, folder_.path(), 0, 1);
    auto chunk = result->Fetch();
    duckdb::Vector hashes(duckdb::LogicalType::HASH);
    duckdb::VectorOperations::Hash(chunk->data[0], hashes, chunk->size());
    partitioner.Append(*chunk, hashes);
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  });
}

TEST_F(RowPartitionerTest, AFolderThatIsNotThereIsNamed) {
  const auto file = SpillFile::Make(folder_ / "missing");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find("missing"), std::string::npos) << file.status();
}

}  // namespace
}  // namespace lake::query
