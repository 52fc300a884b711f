#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/compute/expression.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/storage/testing/recording_store.h"
#include "lake/table/dataset.h"
#include "lake/table/testing/table_fixture_internal.h"

namespace lake::table {
namespace {

namespace cp = arrow::compute;
using ::testing::HasSubstr;

class ScannerTest : public TableFixture {};

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

TEST_F(ScannerTest, CountsWithoutReadingWhatItDoesNotShow) {
  Create(2500, 1000);
  Delete(1, {0, 3});
  ScanOptions options;
  options.columns.emplace();
  options.filter = Less("id", 1500);
  auto count = [&] {
    int64_t rows = 0;
    for (const auto& batch : ScanAll(options)) {
      EXPECT_EQ(batch->num_columns(), 0);
      rows += batch->num_rows();
    }
    return rows;
  };
  EXPECT_EQ(count(), 1498);
  options.limit = 700;
  EXPECT_EQ(count(), 700);
  options.limit.reset();
  options.filter = cp::is_null(cp::field_ref("name"));
  EXPECT_EQ(count(), 358);
}

TEST_F(ScannerTest, FragmentsWithoutAColumnOfTheFilterAreNotRead) {
  Create(30, 10);
  // As if the first two fragments had been written before `name` was added.
  Foreign([](pb::Manifest* manifest, pb::Transaction*) {
    for (int i = 0; i < 2; ++i) {
      manifest->mutable_fragments(i)->mutable_files(0)->set_fields(1, -2);
    }
  });
  auto morsels = [&](cp::Expression filter) {
    ScanOptions options;
    options.filter = std::move(filter);
    return Open()->Scan(context(), options).ValueOrDie()->num_morsels();
  };
  const cp::Expression name = cp::field_ref("name");
  EXPECT_EQ(morsels(cp::equal(name, cp::literal("n25"))), 1u);
  EXPECT_EQ(morsels(cp::and_(Less("id", 5), cp::equal(name, cp::literal("n25")))), 1u);
  EXPECT_EQ(morsels(cp::is_null(name)), 3u);
  EXPECT_EQ(morsels(cp::or_(Less("id", 5), cp::equal(name, cp::literal("n25")))), 3u);
  ScanOptions options;
  options.filter = cp::equal(name, cp::literal("n25"));
  EXPECT_EQ(ScanIds(options), Range(25, 26));
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

TEST_F(ScannerTest, TakesManyRowsInAnyOrder) {
  Create(2500, 1000);
  auto dataset = Open();
  const auto address_of = [](int64_t id) {
    return static_cast<RowAddress>(id / 1000) << 32 | static_cast<RowAddress>(id % 1000);
  };
  for (const bool in_order : {true, false}) {
    std::vector<int64_t> ids;
    std::vector<RowAddress> addresses;
    for (int64_t i = 0; i < 2500; ++i) {
      // Out of order most rows are wanted once, some several times, some not at all.
      ids.push_back(in_order ? i : (i * 1777 + i / 3) % 2500);
      addresses.push_back(address_of(ids.back()));
    }
    auto taken = dataset->Take(context(), addresses, {"name", "id"}).ValueOrDie();
    ASSERT_TRUE(taken->ValidateFull().ok());
    EXPECT_EQ(Ids(*taken), ids);
    const auto& names = static_cast<const arrow::StringArray&>(*taken->column(0));
    for (int64_t i = 0; i < names.length(); ++i) {
      ASSERT_EQ(names.IsNull(i), ids[i] % 7 == 0) << i;
      if (names.IsValid(i)) ASSERT_EQ(names.GetString(i), "n" + std::to_string(ids[i]));
    }
  }
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

TEST_F(ScannerTest, RowIdsThatTheManifestDoesNotHoldAreRefused) {
  Create(10, 10);
  ScanOptions options;
  options.columns = {{"_rowid"}};
  EXPECT_TRUE(Open()->Scan(context(), options).ValueOrDie()->Read(context(), 0).ok());
  options.columns = {{"_row_created_at_version"}};
  Status refused = Open()->Scan(context(), options).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("stable row ids"));
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest* m, pb::Transaction*) {
                m->set_reader_feature_flags(2);
                m->set_writer_feature_flags(2);
              }).ok());
  options.columns = {{"_rowid"}};
  refused = Open()->Scan(context(), options).ValueOrDie()->Read(context(), 0).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("row ids"));
  EXPECT_EQ(ScanIds({}), Range(0, 10));
}

TEST_F(ScannerTest, FilesThatListNoColumnsAreRefusedByName) {
  Create(10, 10);
  Foreign([](pb::Manifest* manifest, pb::Transaction*) {
    // As before version 2.0. What such a file lists must not be taken for missing, that is null.
    pb::DataFile* file = manifest->mutable_fragments(0)->mutable_files(0);
    file->set_file_major_version(0);
    file->set_file_minor_version(1);
    file->clear_column_indices();
    manifest->mutable_fields(0)->set_nullable(true);
  });
  ScanOptions filtered;
  filtered.filter = Less("id", 5);
  for (const ScanOptions& options : {ScanOptions(), filtered}) {
    auto scanner = Open()->Scan(context(), options).ValueOrDie();
    ASSERT_EQ(scanner->num_morsels(), 1u);
    Status refused = scanner->Read(context(), 0).status();
    EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("0.1"));
  }
  EXPECT_EQ(CodeOf(Open()->Take(context(), std::vector<RowAddress>{3}, {"name"}).status()),
            ErrorCode::kUnsupported);
}

TEST_F(ScannerTest, AWidthThatNoNumberHoldsIsNoCrash) {
  Create(10, 10);
  Foreign([](pb::Manifest* manifest, pb::Transaction*) {
    // 2^64 - 1 bytes.
    manifest->mutable_fields(1)->set_logical_type(
        "fixed_size_list:fixed_size_list:fixed_size_list:uint8:65535:6700417:42009217");
  });
  auto dataset = Dataset::Open(context(), store_);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  auto scanner = (*dataset)->Scan(context(), {});
  ASSERT_TRUE(scanner.ok()) << scanner.status();
  EXPECT_EQ((*scanner)->num_morsels(), 10u) << "a row each";
  EXPECT_FALSE((*scanner)->Read(context(), 0).ok());

  // Nor is a number of such rows that no memory holds.
  Foreign([](pb::Manifest* manifest, pb::Transaction*) {
    manifest->mutable_fragments(0)->set_physical_rows(1ull << 32);
  });
  scanner = Open()->Scan(context(), {});
  ASSERT_TRUE(scanner.ok()) << scanner.status();
  EXPECT_EQ((*scanner)->num_morsels(), 1ull << 32);
  EXPECT_EQ((*scanner)->morsel_rows((1ull << 32) - 1), 1u);
  EXPECT_FALSE((*scanner)->Read(context(), (1ull << 32) - 1).ok());
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
      {"base that the manifest lacks", ErrorCode::kCorrupt,
       [](pb::Manifest* m, pb::Transaction*) {
         m->mutable_fragments(0)->mutable_files(0)->set_base_id(0);
       }},
      {"a folder outside of it", ErrorCode::kUnsupported,
       [](pb::Manifest* m, pb::Transaction*) {
         m->mutable_fragments(0)->mutable_files(0)->set_base_id(3);
         m->add_base_paths()->set_id(3);
         m->mutable_base_paths(0)->set_path("/etc");
       }},
      {"another version", ErrorCode::kCorrupt,
       [](pb::Manifest* m, pb::Transaction*) {
         m->mutable_fragments(0)->mutable_files(0)->set_file_minor_version(0);
       }},
      {"2.3", ErrorCode::kCorrupt,
       [](pb::Manifest* m, pb::Transaction*) {
         m->mutable_fragments(0)->mutable_files(0)->set_file_minor_version(3);
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

}  // namespace
}  // namespace lake::table
