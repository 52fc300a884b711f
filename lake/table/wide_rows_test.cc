// Rows of many bytes under a small memory budget: what is read at once follows their size.

#include <cstring>
#include <random>
#include <string>

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/expression.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include "lake/table/alter_columns.h"
#include "lake/table/change_feed.h"
#include "lake/table/compaction.h"
#include "lake/table/delete_rows.h"
#include "lake/table/merge_insert.h"
#include "lake/table/testing/table_fixture_internal.h"
#include "lake/table/verify.h"

namespace lake::table {
namespace {

namespace cp = arrow::compute;

constexpr int64_t kRows = 1024;
constexpr int64_t kValueBytes = 64 << 10;
constexpr int64_t kBudget = 16 << 20;

std::shared_ptr<arrow::Schema> WideSchema() {
  return arrow::schema({arrow::field("id", arrow::int64(), false),
                        arrow::field("tag", arrow::int32()),
                        arrow::field("image", arrow::binary())});
}

class WideRowsTest : public TableFixture {
 protected:
  /// A table of 64 MiB, rows of 64 KiB.
  void SetUp() override {
    const auto schema = format::SchemaFromArrow(*WideSchema()).ValueOrDie();
    auto writer = AppendWriter::Open(context(), store_, schema, {.max_rows_per_file = kRows / 2})
                      .ValueOrDie();
    std::mt19937_64 random(7);
    std::string value(kValueBytes, '\0');
    for (int64_t id = 0; id < kRows; ++id) {
      for (size_t i = 0; i < value.size(); i += sizeof(uint64_t)) {
        const uint64_t bits = random();
        std::memcpy(value.data() + i, &bits, sizeof(bits));
      }
      arrow::Int64Builder ids;
      arrow::Int32Builder tags;
      arrow::BinaryBuilder images;
      ASSERT_TRUE(ids.Append(id).ok());
      ASSERT_TRUE(tags.Append(0).ok());
      ASSERT_TRUE(images.Append(value).ok());
      ASSERT_TRUE(writer
                      ->Write(*arrow::RecordBatch::Make(
                          WideSchema(), 1,
                          {ids.Finish().ValueOrDie(), tags.Finish().ValueOrDie(),
                           images.Finish().ValueOrDie()}))
                      .ok());
    }
    Transaction create = MakeCreate(context(), schema, writer->Finish().ValueOrDie());
    std::get<OverwriteOperation>(create.operation).stable_row_ids = true;
    ASSERT_TRUE(Commit(context(), store_, create, {}).ok());

    limited_ = context();
    limited_.memory = MemoryBudget::Make(kBudget);
    limited_.memory_pool = &pool_;
  }

  std::shared_ptr<Dataset> OpenLimited() { return Dataset::Open(limited_, store_).ValueOrDie(); }

  /// The rows themselves are four times the budget, those of one fragment twice.
  void ExpectBounded() {
    EXPECT_GT(pool_.max_memory(), 0);
    EXPECT_LT(pool_.max_memory(), kBudget);
  }

  arrow::ProxyMemoryPool pool_{arrow::default_memory_pool()};
  Context limited_;
};

TEST_F(WideRowsTest, AreCompacted) {
  auto dataset = OpenLimited();
  CompactionOptions options;
  options.copy_pages = false;
  options.threads = 1;
  auto plan = PlanCompaction(limited_, *dataset, options).ValueOrDie();
  auto groups = RunCompaction(limited_, *dataset, plan, options).ValueOrDie();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].rows_written, static_cast<uint64_t>(kRows));
  ExpectBounded();
}

TEST_F(WideRowsTest, AreVerified) {
  VerifyOptions options;
  options.read_data = true;
  const VerifyReport report = Verify(limited_, store_, options).ValueOrDie();
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.rows_read, static_cast<uint64_t>(3 * kRows)) << "of each column";
  ExpectBounded();
}

TEST_F(WideRowsTest, AreMerged) {
  arrow::Int64Builder ids;
  arrow::Int32Builder tags;
  for (int64_t id = 0; id < kRows + 10; ++id) {
    ASSERT_TRUE(ids.Append(id).ok());
    ASSERT_TRUE(tags.Append(1).ok());
  }
  const auto schema = arrow::schema({WideSchema()->field(0), WideSchema()->field(1)});
  auto batch = arrow::RecordBatch::Make(schema, kRows + 10,
                                        {ids.Finish().ValueOrDie(), tags.Finish().ValueOrDie()});
  auto source = arrow::RecordBatchReader::Make({batch}, schema).ValueOrDie();
  MergeInsertOptions options;
  options.on = {"id"};
  options.when_matched = MergeInsertOptions::Matched::kUpdate;
  options.writer.max_buffered_bytes = kBudget / 4;
  PreparedChange change = MergeInsert(limited_, OpenLimited(), source.get(), options).ValueOrDie();
  EXPECT_EQ(change.num_updated, static_cast<uint64_t>(kRows));
  EXPECT_EQ(change.num_inserted, 10u);
  ExpectBounded();
}

TEST_F(WideRowsTest, GetComputedColumns) {
  PreparedChange change =
      AddComputedColumns(limited_, OpenLimited(), {{"copy", cp::field_ref("image"), nullptr}},
                         {.check = {}, .max_buffered_bytes = kBudget / 4})
          .ValueOrDie();
  EXPECT_EQ(change.transaction.new_objects.size(), 2u);
  ExpectBounded();
}

TEST_F(WideRowsTest, AreReadAsChanges) {
  // All rows went: their old values are changes.
  PreparedChange change = DeleteRows(context(), Open(), std::nullopt).ValueOrDie();
  ASSERT_TRUE(Commit(context(), store_, change.transaction, {}).ok());
  auto feed = ChangeFeed::Open(limited_, *OpenLimited(), 1, 2).ValueOrDie();
  uint64_t rows = 0;
  for (size_t piece = 0; piece < feed->num_pieces(); ++piece) {
    auto batch = feed->Read(limited_, piece).ValueOrDie();
    EXPECT_EQ(static_cast<uint64_t>(batch->num_rows()), feed->piece_rows(piece));
    rows += feed->piece_rows(piece);
  }
  EXPECT_EQ(rows, static_cast<uint64_t>(kRows));
  ExpectBounded();
}

TEST_F(WideRowsTest, CountWhereOnlyAFilterReadsThem) {
  ScanOptions options;
  options.columns = {{"id"}};
  options.filter = cp::is_valid(cp::field_ref("image"));
  options.prefetch = Prefetch::kNever;
  auto scanner = OpenLimited()->Scan(limited_, options).ValueOrDie();
  int64_t rows = 0;
  for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
    rows += scanner->Read(limited_, morsel).ValueOrDie()->num_rows();
  }
  EXPECT_EQ(rows, kRows);
  ExpectBounded();
}

TEST_F(WideRowsTest, CountWhereTheManifestDoesNotSayHowLargeFilesAre) {
  Foreign([](pb::Manifest* manifest, pb::Transaction*) {
    for (pb::DataFragment& fragment : *manifest->mutable_fragments()) {
      fragment.mutable_files(0)->clear_file_size_bytes();
    }
  });
  ScanOptions options;
  options.prefetch = Prefetch::kNever;
  auto scanner = OpenLimited()->Scan(limited_, options).ValueOrDie();
  EXPECT_LE(scanner->morsel_bytes(), static_cast<uint64_t>(kBudget / 16));
  for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
    ASSERT_TRUE(scanner->Read(limited_, morsel).ok());
  }
  ExpectBounded();
}

}  // namespace
}  // namespace lake::table
