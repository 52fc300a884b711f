#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/expression.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <roaring/roaring.h>

#include "lake/storage/memory_store.h"
#include "lake/storage/testing/recording_store.h"
#include "lake/table/append_writer.h"
#include "lake/table/commit.h"
#include "lake/table/dataset.h"
#include "lake/table/testing/fake_table_internal.h"
#include "lake/table/transaction_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {
namespace {

namespace cp = arrow::compute;
using ::testing::HasSubstr;

/// A row of the tests' table: id, name = "n<id>" or null where id % 7 == 0.
std::shared_ptr<arrow::RecordBatch> Rows(int64_t first, int64_t count) {
  arrow::Int64Builder ids;
  arrow::StringBuilder names;
  for (int64_t id = first; id < first + count; ++id) {
    EXPECT_TRUE(ids.Append(id).ok());
    EXPECT_TRUE((id % 7 == 0 ? names.AppendNull() : names.Append(fmt::format("n{}", id))).ok());
  }
  return arrow::RecordBatch::Make(format::ToArrow(SmallSchema()).ValueOrDie(), count,
                                  {ids.Finish().ValueOrDie(), names.Finish().ValueOrDie()});
}

std::vector<int64_t> Ids(const arrow::RecordBatch& batch, const std::string& name = "id") {
  auto column = std::static_pointer_cast<arrow::Int64Array>(batch.GetColumnByName(name));
  return {column->raw_values(), column->raw_values() + column->length()};
}

class ScannerTest : public ::testing::Test {
 protected:
  const Context& context() const { return surroundings_.context(); }

  /// A table of `rows` rows in fragments of `per_fragment`.
  void Create(int64_t rows, uint64_t per_fragment) {
    auto writer =
        AppendWriter::Open(context(), store_, SmallSchema(), {.max_rows_per_file = per_fragment})
            .ValueOrDie();
    // Batches that do not end where fragments end.
    for (int64_t first = 0; first < rows; first += 333) {
      ASSERT_TRUE(writer->Write(*Rows(first, std::min<int64_t>(333, rows - first))).ok());
    }
    Transaction create = MakeCreate(context(), SmallSchema(), writer->Finish().ValueOrDie());
    ASSERT_TRUE(Commit(context(), store_, create, {}).ok());
  }

  /// Deletes rows of a fragment in a new foreign version.
  void Delete(uint64_t fragment, const std::vector<uint32_t>& rows, uint64_t told = UINT64_MAX) {
    roaring_bitmap_t* bitmap = roaring_bitmap_of_ptr(rows.size(), rows.data());
    std::string bytes(roaring_bitmap_portable_size_in_bytes(bitmap), '\0');
    roaring_bitmap_portable_serialize(bitmap, bytes.data());
    roaring_bitmap_free(bitmap);
    ASSERT_TRUE(store_
                    ->Put(context(), fmt::format("_deletions/{}-1-5.bin", fragment), bytes,
                          storage::PutCondition::kNone)
                    .ok());
    ASSERT_TRUE(PutForeignVersion(
                    context(), store_.get(),
                    [&](pb::Manifest* manifest, pb::Transaction* transaction) {
                      transaction->mutable_delete_();
                      auto* file = manifest->mutable_fragments(fragment)->mutable_deletion_file();
                      file->set_file_type(pb::DeletionFile::BITMAP);
                      file->set_read_version(1);
                      file->set_id(5);
                      file->set_num_deleted_rows(told == UINT64_MAX ? rows.size() : told);
                      manifest->set_reader_feature_flags(1);
                      manifest->set_writer_feature_flags(1);
                    })
                    .ok());
  }

  std::shared_ptr<Dataset> Open(const OpenOptions& options = {}) {
    return Dataset::Open(context(), store_, options).ValueOrDie();
  }

  std::vector<std::shared_ptr<arrow::RecordBatch>> ScanAll(const ScanOptions& options) {
    auto scanner = Open()->Scan(context(), options).ValueOrDie();
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (size_t i = 0; i < scanner->num_morsels(); ++i) {
      auto batch = scanner->Read(context(), i).ValueOrDie();
      if (batch == nullptr) continue;
      EXPECT_TRUE(batch->ValidateFull().ok());
      EXPECT_TRUE(batch->schema()->Equals(*scanner->schema()));
      EXPECT_LE(batch->num_rows(), static_cast<int64_t>(scanner->morsel_rows(i)));
      batches.push_back(batch);
    }
    return batches;
  }

  std::vector<int64_t> ScanIds(const ScanOptions& options) {
    std::vector<int64_t> ids;
    for (const auto& batch : ScanAll(options)) {
      std::vector<int64_t> some = Ids(*batch);
      ids.insert(ids.end(), some.begin(), some.end());
    }
    return ids;
  }

  FakeSurroundings surroundings_;
  std::shared_ptr<storage::ObjectStore> store_ = storage::MakeMemoryStore();
};

std::vector<int64_t> Range(int64_t first, int64_t last) {
  std::vector<int64_t> ids(last - first);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

cp::Expression Less(const char* column, int64_t bound) {
  return cp::less(cp::field_ref(column), cp::literal(bound));
}

TEST_F(ScannerTest, ReadsAllRowsInOrderWhateverTheMorsels) {
  Create(2500, 1000);
  EXPECT_EQ(Open()->manifest().fragments().size(), 3u);
  for (uint64_t morsel_rows : {1ull, 7ull, 1000ull, 1ull << 20}) {
    ScanOptions options;
    options.morsel_rows = morsel_rows;
    EXPECT_EQ(ScanIds(options), Range(0, 2500)) << morsel_rows;
  }
}

TEST_F(ScannerTest, ProjectsInTheOrderAsked) {
  Create(100, 60);
  ScanOptions options;
  options.columns = {{"name", "id"}};
  auto batches = ScanAll(options);
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0]->schema()->field_names(), (std::vector<std::string>{"name", "id"}));
  EXPECT_TRUE(batches[1]->column(0)->Equals(Rows(60, 40)->column(1)));

  options.columns = {std::vector<std::string>()};
  batches = ScanAll(options);
  EXPECT_EQ(batches[0]->num_columns(), 0);
  EXPECT_EQ(batches[0]->num_rows() + batches[1]->num_rows(), 100);

  options.columns = {{"nme"}};
  Status refused = Open()->Scan(context(), options).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kNotFound);
  EXPECT_THAT(refused.message(), HasSubstr("nme"));
}

TEST_F(ScannerTest, FiltersAtEverySelectivity) {
  Create(2500, 1000);
  Delete(1, {0, 1, 2, 500, 999});
  std::vector<int64_t> expected = Range(0, 2500);
  std::erase_if(expected, [](int64_t id) {
    return id == 1000 || id == 1001 || id == 1002 || id == 1500 || id == 1999;
  });
  for (int64_t bound : {0, 1, 37, 999, 1001, 1003, 1700, 2499, 2500, 9999}) {
    std::vector<int64_t> some = expected;
    std::erase_if(some, [&](int64_t id) { return id >= bound; });
    for (bool id_is_output : {true, false}) {
      ScanOptions options;
      options.morsel_rows = 300;
      options.filter = Less("id", bound);
      if (id_is_output) {
        EXPECT_EQ(ScanIds(options), some) << bound;
        continue;
      }
      options.columns = {{"name"}};
      int64_t row = 0;
      for (const auto& batch : ScanAll(options)) {
        const auto& names = static_cast<const arrow::StringArray&>(*batch->column(0));
        for (int64_t i = 0; i < names.length(); ++i, ++row) {
          const int64_t id = some[row];
          if (id % 7 == 0) {
            EXPECT_TRUE(names.IsNull(i));
          } else {
            EXPECT_EQ(names.GetView(i), fmt::format("n{}", id));
          }
        }
      }
      EXPECT_EQ(row, static_cast<int64_t>(some.size()));
    }
  }
}

TEST_F(ScannerTest, ANullOfTheFilterDropsTheRow) {
  Create(50, 50);
  ScanOptions options;
  options.filter = cp::not_equal(cp::field_ref("name"), cp::literal("n3"));
  std::vector<int64_t> expected = Range(0, 50);
  std::erase_if(expected, [](int64_t id) { return id % 7 == 0 || id == 3; });
  EXPECT_EQ(ScanIds(options), expected);

  options.filter = cp::is_null(cp::field_ref("name"));
  expected = Range(0, 50);
  std::erase_if(expected, [](int64_t id) { return id % 7 != 0; });
  EXPECT_EQ(ScanIds(options), expected);
}

TEST_F(ScannerTest, TakesLiteralFiltersAndRefusesOthersByReason) {
  Create(50, 20);
  ScanOptions options;
  options.filter = cp::literal(true);
  EXPECT_EQ(ScanIds(options), Range(0, 50));
  options.filter = cp::literal(false);
  EXPECT_EQ(ScanIds(options), Range(0, 0));
  options.filter = cp::literal(std::make_shared<arrow::BooleanScalar>());
  EXPECT_EQ(ScanIds(options), Range(0, 0));

  options.filter = Less("absent", 3);
  EXPECT_EQ(CodeOf(Open()->Scan(context(), options).status()), ErrorCode::kNotFound);
  options.filter = cp::field_ref("id");
  EXPECT_THAT(Open()->Scan(context(), options).status().message(), HasSubstr("must be boolean"));
  options.filter = cp::call("no_such_function", {cp::field_ref("id")});
  EXPECT_EQ(CodeOf(Open()->Scan(context(), options).status()), ErrorCode::kInvalidArgument);
}

TEST_F(ScannerTest, LimitsOverAllMorsels) {
  Create(2500, 1000);
  Delete(0, {0, 1});
  for (bool filtered : {false, true}) {
    for (uint64_t limit : {0ull, 1ull, 999ull, 1000ull, 2498ull, 9999ull}) {
      ScanOptions options;
      options.limit = limit;
      options.morsel_rows = 100;
      if (filtered) options.filter = Less("id", 5000);
      const int64_t end = 2 + std::min<int64_t>(limit, 2498);
      EXPECT_EQ(ScanIds(options), Range(2, end)) << limit;
    }
  }
}

TEST_F(ScannerTest, ALimitStopsReadingEarly) {
  Create(2500, 1000);
  auto recording = std::make_shared<storage::RecordingStore>(store_);
  store_ = recording;
  ScanOptions options;
  options.limit = 10;
  ASSERT_EQ(ScanIds(options).size(), 10u);
  std::set<std::string> files;
  for (const auto& call : recording->calls()) {
    if (call.key.starts_with("data/")) files.insert(call.key);
  }
  EXPECT_EQ(files.size(), 1u);
}

TEST_F(ScannerTest, OtherColumnsAreReadOnlyWhereRowsSurvive) {
  Create(5000, 5000);
  auto recording = std::make_shared<storage::RecordingStore>(store_);
  store_ = recording;
  auto bytes_of = [&](std::optional<cp::Expression> filter) {
    auto dataset = Open();
    ScanOptions options;
    options.filter = std::move(filter);
    auto scanner = dataset->Scan(context(), options).ValueOrDie();
    recording->Clear();
    EXPECT_TRUE(scanner->Read(context(), 0).ok());
    uint64_t bytes = 0;
    for (const auto& call : recording->calls()) {
      for (const auto& range : call.ranges) bytes += range.length;
    }
    return bytes;
  };
  EXPECT_LT(bytes_of(Less("id", 0)), bytes_of(std::nullopt));
}

TEST_F(ScannerTest, ManyThreadsShareOneScanner) {
  Create(20'000, 3000);
  Delete(2, {5, 6, 7});
  ScanOptions options;
  options.morsel_rows = 500;
  options.filter = cp::not_(cp::is_null(cp::field_ref("name")));
  options.limit = 10'000;
  auto scanner = Open()->Scan(context(), options).ValueOrDie();
  std::atomic<size_t> next{0};
  std::atomic<int64_t> rows{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (size_t i; (i = next++) < scanner->num_morsels();) {
        auto batch = scanner->Read(context(), i).ValueOrDie();
        if (batch != nullptr) rows += batch->num_rows();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rows, 10'000);
}

TEST_F(ScannerTest, RowAddressesLeadBackToTheirRows) {
  Create(2500, 1000);
  Delete(1, {0, 3});
  ScanOptions options;
  options.with_row_address = true;
  options.filter = cp::greater(cp::field_ref("id"), cp::literal(900));
  std::vector<RowAddress> addresses;
  std::vector<int64_t> ids;
  for (const auto& batch : ScanAll(options)) {
    EXPECT_EQ(batch->schema()->fields().back()->name(), "_rowaddr");
    std::vector<int64_t> some = Ids(*batch);
    ids.insert(ids.end(), some.begin(), some.end());
    const auto& column = static_cast<const arrow::UInt64Array&>(*batch->columns().back());
    addresses.insert(addresses.end(), column.raw_values(), column.raw_values() + column.length());
  }
  EXPECT_EQ(addresses[98], 98u + 901);
  EXPECT_EQ(addresses[99], (1ull << 32) + 1);
  // In any order, with repetitions.
  std::vector<size_t> order(addresses.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 engine(3);
  std::shuffle(order.begin(), order.end(), engine);
  order.push_back(order.front());
  std::vector<RowAddress> wanted;
  std::vector<int64_t> expected;
  for (size_t i : order) {
    wanted.push_back(addresses[i]);
    expected.push_back(ids[i]);
  }
  auto taken = Open()->Take(context(), wanted, {"id"}).ValueOrDie();
  EXPECT_EQ(Ids(*taken), expected);
  EXPECT_TRUE(taken->ValidateFull().ok());
}

TEST_F(ScannerTest, TakeRefusesRowsThatAreNotThere) {
  Create(2500, 1000);
  Delete(1, {0});
  auto dataset = Open();
  auto take = [&](std::vector<RowAddress> addresses) {
    return dataset->Take(context(), addresses, {"id"}).status();
  };
  EXPECT_THAT(take({1ull << 32}).message(), HasSubstr("row is deleted"));
  EXPECT_THAT(take({1000}).message(), HasSubstr("behind its fragment"));
  EXPECT_THAT(take({0, 9ull << 32}).message(), HasSubstr("no fragment"));
  for (Status status : {take({1ull << 32}), take({1000}), take({9ull << 32})}) {
    EXPECT_EQ(CodeOf(status), ErrorCode::kNotFound);
  }
  auto none = dataset->Take(context(), {}, {"name", "id"}).ValueOrDie();
  EXPECT_EQ(none->num_rows(), 0);
  EXPECT_EQ(none->num_columns(), 2);
}

TEST_F(ScannerTest, CountsFromTheManifestAlone) {
  Create(2500, 1000);
  Delete(1, {0, 3, 4});
  auto recording = std::make_shared<storage::RecordingStore>(store_);
  store_ = recording;
  auto dataset = Open();
  recording->Clear();
  EXPECT_EQ(dataset->CountRows(context()).ValueOrDie(), 2497u);
  EXPECT_TRUE(recording->calls().empty());
}

TEST_F(ScannerTest, CountsFromFilesWhereTheManifestIsSilent) {
  Create(2500, 1000);
  Delete(1, {0, 3, 4}, /*told=*/0);
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest* m, pb::Transaction*) {
                m->mutable_fragments(0)->set_physical_rows(0);
              }).ok());
  EXPECT_EQ(Open()->CountRows(context()).ValueOrDie(), 2497u);
  EXPECT_EQ(ScanIds({}).size(), 2497u);
}

TEST_F(ScannerTest, AWrongCountOfDeletedRowsIsCorrupt) {
  Create(100, 100);
  Delete(0, {1, 2, 3}, /*told=*/4);
  auto scanner = Open()->Scan(context(), {}).ValueOrDie();
  Status refused = scanner->Read(context(), 0).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kCorrupt);
  EXPECT_THAT(refused.message(), HasSubstr("_deletions/0-1-5.bin"));
}

TEST_F(ScannerTest, AColumnThatNoFileHoldsIsNull) {
  Create(100, 60);
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest* m, pb::Transaction* t) {
                t->mutable_merge();
                auto* field = m->add_fields();
                field->set_id(2);
                field->set_parent_id(-1);
                field->set_name("more");
                field->set_logical_type("string");
                field->set_nullable(true);
              }).ok());
  ScanOptions options;
  options.columns = {{"more", "id"}};
  for (const auto& batch : ScanAll(options)) {
    EXPECT_EQ(batch->column(0)->null_count(), batch->num_rows());
    EXPECT_TRUE(batch->column(0)->type()->Equals(arrow::utf8()));
  }
  options.filter = cp::is_valid(cp::field_ref("more"));
  EXPECT_TRUE(ScanIds(options).empty());
}

TEST_F(ScannerTest, FieldsAreFoundByIdNotByName) {
  Create(100, 60);
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest* m, pb::Transaction* t) {
                t->mutable_project();
                m->mutable_fields(0)->set_name("number");
                m->mutable_fields()->SwapElements(0, 1);
              }).ok());
  ScanOptions options;
  options.columns = {{"number"}};
  std::vector<int64_t> ids;
  for (const auto& batch : ScanAll(options)) {
    std::vector<int64_t> some = Ids(*batch, "number");
    ids.insert(ids.end(), some.begin(), some.end());
  }
  EXPECT_EQ(ids, Range(0, 100));
}

TEST_F(ScannerTest, RowIdsOfTablesWithStableOnesAreRefused) {
  Create(10, 10);
  ScanOptions options;
  options.columns = {{"_rowid"}};
  EXPECT_TRUE(Open()->Scan(context(), options).ok());
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest* m, pb::Transaction*) {
                m->set_reader_feature_flags(2);
                m->set_writer_feature_flags(2);
              }).ok());
  Status refused = Open()->Scan(context(), options).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("_rowid"));
  EXPECT_EQ(ScanIds({}), Range(0, 10));
}

TEST_F(ScannerTest, FilesThatDoNotFitTheManifestAreCorrupt) {
  struct Case {
    const char* reason;
    ErrorCode code;
    ForeignEdit edit;
  };
  const Case cases[] = {
      {"another number of rows", ErrorCode::kCorrupt,
       [](pb::Manifest* m, pb::Transaction*) { m->mutable_fragments(0)->set_physical_rows(11); }},
      {"two columns of a fragment", ErrorCode::kCorrupt,
       [](pb::Manifest* m, pb::Transaction*) {
         m->mutable_fragments(0)->mutable_files(0)->set_fields(1, 0);
       }},
      {"data/", ErrorCode::kCorrupt,
       [](pb::Manifest* m, pb::Transaction*) {
         m->mutable_fragments(0)->mutable_files(0)->set_column_indices(0, 5);
       }},
      {"never null", ErrorCode::kCorrupt,
       [](pb::Manifest* m, pb::Transaction*) {
         m->mutable_fragments(0)->mutable_files(0)->set_fields(0, -2);
       }},
      {"another base folder", ErrorCode::kUnsupported,
       [](pb::Manifest* m, pb::Transaction*) {
         m->mutable_fragments(0)->mutable_files(0)->set_base_id(0);
       }},
      {"2.0", ErrorCode::kUnsupported,
       [](pb::Manifest* m, pb::Transaction*) {
         m->mutable_fragments(0)->mutable_files(0)->set_file_minor_version(0);
       }},
      {"absent.lance", ErrorCode::kNotFound,
       [](pb::Manifest* m, pb::Transaction*) {
         m->mutable_fragments(0)->mutable_files(0)->set_path("absent.lance");
       }},
  };
  for (const Case& test : cases) {
    store_ = storage::MakeMemoryStore();
    Create(10, 10);
    ASSERT_TRUE(PutForeignVersion(context(), store_.get(), test.edit).ok());
    auto scanner = Open()->Scan(context(), {}).ValueOrDie();
    ASSERT_EQ(scanner->num_morsels(), 1u);
    Status refused = scanner->Read(context(), 0).status();
    EXPECT_EQ(CodeOf(refused), test.code) << test.reason << ": " << refused;
    EXPECT_THAT(refused.message(), HasSubstr(test.reason));
  }
}

class DatasetTest : public ScannerTest {};

TEST_F(DatasetTest, NoTableIsNotFound) {
  EXPECT_EQ(CodeOf(Dataset::Open(context(), store_).status()), ErrorCode::kNotFound);
}

TEST_F(DatasetTest, OpensByVersionAndByTime) {
  Create(10, 10);
  std::vector<int64_t> times{Open()->manifest().timestamp_nanos()};
  for (int i = 0; i < 4; ++i) {
    surroundings_.clock().Advance(std::chrono::seconds(10));
    auto writer = AppendWriter::Open(context(), store_, SmallSchema()).ValueOrDie();
    ASSERT_TRUE(writer->Write(*Rows(100 * i, 5)).ok());
    ASSERT_TRUE(
        Commit(context(), store_, MakeAppend(context(), 1 + i, writer->Finish().ValueOrDie()), {})
            .ok());
    times.push_back(Open()->manifest().timestamp_nanos());
  }
  for (uint64_t version = 1; version <= 5; ++version) {
    auto dataset = Open({.version = version, .as_of_nanos = {}});
    EXPECT_EQ(dataset->manifest().version(), version);
    EXPECT_EQ(dataset->CountRows(context()).ValueOrDie(), 10 + 5 * (version - 1));
    // At the time and up to the next one; one nanosecond before is the version before.
    const int64_t time = times[version - 1];
    EXPECT_EQ(Open({.version = {}, .as_of_nanos = time})->manifest().version(), version);
    EXPECT_EQ(Open({.version = {}, .as_of_nanos = time + 9'999'999'999})->manifest().version(),
              version);
    if (version > 1) {
      EXPECT_EQ(Open({.version = {}, .as_of_nanos = time - 1})->manifest().version(), version - 1);
    }
  }
  Status early =
      Dataset::Open(context(), store_, {.version = {}, .as_of_nanos = times[0] - 1}).status();
  EXPECT_EQ(CodeOf(early), ErrorCode::kNotFound);
  EXPECT_THAT(early.message(), HasSubstr("the oldest is version 1"));
  EXPECT_EQ(CodeOf(Dataset::Open(context(), store_, {.version = 6, .as_of_nanos = {}}).status()),
            ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(Dataset::Open(context(), store_, {.version = 1, .as_of_nanos = 1}).status()),
            ErrorCode::kInvalidArgument);
}

TEST_F(DatasetTest, ListsRetainedVersionsAcrossGaps) {
  Create(10, 10);
  Delete(0, {1, 2});
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest*, pb::Transaction* t) {
                t->clear_operation();
              }).ok());
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest*, pb::Transaction* t) {
                t->mutable_create_index();
              }).ok());
  auto versions = Open()->Versions(context()).ValueOrDie();
  ASSERT_EQ(versions.size(), 4u);
  EXPECT_EQ(versions[0].operation, "overwrite");
  EXPECT_EQ(versions[0].num_rows, 10u);
  EXPECT_EQ(versions[1].operation, "delete");
  EXPECT_EQ(versions[1].num_rows, 8u);
  EXPECT_EQ(versions[2].operation, "unknown");
  EXPECT_EQ(versions[3].operation, "create_index");
  ASSERT_TRUE(store_->Delete(context(), ManifestKey(2, ManifestNaming::kV2)).ok());
  versions = Open()->Versions(context()).ValueOrDie();
  ASSERT_EQ(versions.size(), 3u);
  EXPECT_EQ(versions[1].version, 3u);
}

TEST_F(DatasetTest, OtherNamesInTheFolderArePassedOver) {
  Create(10, 10);
  for (const char* name :
       {"_versions/18446744073709551613.manifest#1",
        "_versions/18446744073709551613.manifest-0b2c7e0a-4b1d-4d56-9d2b-0123456789ab",
        "_versions/.tmp18446744073709551613.manifest", "_versions/d9223372036854775809.manifest",
        "_versions/x/18446744073709551613.manifest", "_versions/latest_version_hint.json"}) {
    ASSERT_TRUE(store_->Put(context(), name, "x", storage::PutCondition::kNone).ok());
  }
  EXPECT_EQ(Open()->manifest().version(), 1u);
}

TEST_F(DatasetTest, BothNamingsAreRefused) {
  Create(10, 10);
  ASSERT_TRUE(
      store_->Put(context(), "_versions/1.manifest", "x", storage::PutCondition::kNone).ok());
  Status refused = Dataset::Open(context(), store_).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("both ways of naming"));
}

TEST_F(DatasetTest, AManifestUnderAnothersNameIsCorrupt) {
  Create(10, 10);
  auto bytes = store_->GetAll(context(), ManifestKey(1, ManifestNaming::kV2), 1 << 20).ValueOrDie();
  ASSERT_TRUE(PutManifest(context(), store_.get(), 2, bytes->ToString()).ok());
  EXPECT_EQ(CodeOf(Dataset::Open(context(), store_).status()), ErrorCode::kCorrupt);
}

TEST_F(DatasetTest, ColumnTypesThatAreNotReadAreRefusedByName) {
  Create(10, 10);
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest* m, pb::Transaction*) {
                auto* field = m->add_fields();
                field->set_id(2);
                field->set_parent_id(-1);
                field->set_name("half");
                field->set_logical_type("halffloat");
                field->set_nullable(true);
              }).ok());
  Status refused = Dataset::Open(context(), store_).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("half"));
}

class AppendWriterTest : public ScannerTest {};

TEST_F(AppendWriterTest, NamesFilesAsUpstreamDoes) {
  Create(10, 10);
  const std::string path = Open()->manifest().fragments()[0].files[0].path;
  EXPECT_THAT(path, ::testing::MatchesRegex("[01]+[0-9a-f]+\\.lance"));
  EXPECT_EQ(path.size(), 24 + 26 + 6u);
}

TEST_F(AppendWriterTest, CutsFilesByRowsAndBytes) {
  auto writer =
      AppendWriter::Open(context(), store_, SmallSchema(), {.max_rows_per_file = 100}).ValueOrDie();
  ASSERT_TRUE(writer->Write(*Rows(0, 250)).ok());
  EXPECT_EQ(writer->num_rows(), 250u);
  auto fragments = writer->Finish().ValueOrDie();
  ASSERT_EQ(fragments.size(), 3u);
  EXPECT_EQ(fragments[2].physical_rows, 50u);
  EXPECT_GT(fragments[0].files[0].size_bytes, 0u);
  EXPECT_EQ(fragments[0].files[0].field_ids, (std::vector<int32_t>{0, 1}));
  EXPECT_FALSE(writer->Finish().ok());

  writer =
      AppendWriter::Open(context(), store_, SmallSchema(), {.max_bytes_per_file = 1}).ValueOrDie();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer->Write(*Rows(i, 1)).ok());
  EXPECT_EQ(writer->Finish().ValueOrDie().size(), 3u);
}

TEST_F(AppendWriterTest, NoRowsAreNoFragments) {
  auto writer = AppendWriter::Open(context(), store_, SmallSchema()).ValueOrDie();
  ASSERT_TRUE(writer->Write(*Rows(0, 0)).ok());
  EXPECT_TRUE(writer->Finish().ValueOrDie().empty());
  EXPECT_TRUE(storage::ListAll(store_.get(), context(), "").ValueOrDie().empty());
}

TEST_F(AppendWriterTest, UnfinishedLeavesNothing) {
  {
    auto writer = AppendWriter::Open(context(), store_, SmallSchema(), {.max_rows_per_file = 10})
                      .ValueOrDie();
    ASSERT_TRUE(writer->Write(*Rows(0, 35)).ok());
    EXPECT_EQ(storage::ListAll(store_.get(), context(), "data/").ValueOrDie().size(), 3u);
  }
  EXPECT_TRUE(storage::ListAll(store_.get(), context(), "").ValueOrDie().empty());
}

TEST_F(AppendWriterTest, UncommittedFilesCanBeRemoved) {
  auto writer =
      AppendWriter::Open(context(), store_, SmallSchema(), {.max_rows_per_file = 10}).ValueOrDie();
  ASSERT_TRUE(writer->Write(*Rows(0, 35)).ok());
  auto fragments = writer->Finish().ValueOrDie();
  EXPECT_TRUE(RemoveUncommitted(context(), store_.get(), fragments).ok());
  EXPECT_TRUE(storage::ListAll(store_.get(), context(), "").ValueOrDie().empty());
}

}  // namespace
}  // namespace lake::table
