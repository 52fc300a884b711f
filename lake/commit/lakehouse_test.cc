#include "lake/commit/lakehouse.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/commit/testing/status_matchers.h"
#include "lake/commit/testing/test_lakehouse.h"

namespace lake::commit {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

catalog::QualifiedName InMain(const std::string& name) { return {catalog::kMainNamespace, name}; }

// Over a real folder.
class LakehouseTest : public ::testing::Test {
 protected:
  Result<std::shared_ptr<Lakehouse>> Open(const std::string& name = "data") {
    return Lakehouse::Open(context_, {.data_dir = path(name)});
  }
  std::string path(const std::string& name = "data") const { return folder_.path() + "/" + name; }

  TestFolder folder_;
  Context context_;
};

TEST_F(LakehouseTest, CreateAppendRead) {
  auto lakehouse = Open().ValueOrDie();
  CommitOutcome created = CreateNumbers(context_, lakehouse.get(), "t", {3, 1}).ValueOrDie();
  EXPECT_EQ(created.version, 1u);
  EXPECT_EQ(created.num_rows, 2u);
  EXPECT_FALSE(created.replayed);
  CommitOutcome appended = AppendNumbers(context_, lakehouse.get(), "t", {2}).ValueOrDie();
  EXPECT_EQ(appended.version, 2u);
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "t").ValueOrDie(), ElementsAre(1, 2, 3));

  table::OpenOptions first;
  first.version = 1;
  auto old = lakehouse->OpenByName(context_, {}, InMain("T"), catalog::NameMatch::kSql, first)
                 .ValueOrDie();
  EXPECT_THAT(ReadNumbers(context_, *old->dataset).ValueOrDie(), ElementsAre(1, 3));
  EXPECT_EQ(old->entry.version_hint, 2u);
  EXPECT_EQ(old->entry.name.name, "t");
}

TEST_F(LakehouseTest, AnotherLakehouseOnTheFolderSeesEveryCommit) {
  auto one = Open().ValueOrDie();
  auto two = Open().ValueOrDie();
  EXPECT_NE(one->temp_dir(), two->temp_dir());
  ASSERT_OK(CreateNumbers(context_, one.get(), "t", {1}));
  ASSERT_OK(AppendNumbers(context_, two.get(), "t", {2}));
  EXPECT_THAT(NumbersOf(context_, one.get(), "t").ValueOrDie(), ElementsAre(1, 2));
  EXPECT_CODE(ErrorCode::kAlreadyExists, CreateNumbers(context_, two.get(), "T", {}));
}

TEST_F(LakehouseTest, AnEmptyTableHasAVersionAndAnEmptyAppendMakesNone) {
  auto lakehouse = Open().ValueOrDie();
  EXPECT_EQ(CreateNumbers(context_, lakehouse.get(), "t", {})->version, 1u);
  EXPECT_EQ(AppendNumbers(context_, lakehouse.get(), "t", {})->version, 1u);
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "t").ValueOrDie(), IsEmpty());
}

TEST_F(LakehouseTest, AbortGivesTheNameBackAndLeavesNoFile) {
  auto lakehouse = Open().ValueOrDie();
  {
    auto write =
        lakehouse->Create(context_, {}, InMain("t"), *NumbersSchema(), {}, {}).ValueOrDie();
    ASSERT_OK(write->Write(*Numbers({1})));
    EXPECT_CODE(ErrorCode::kAlreadyExists, CreateNumbers(context_, lakehouse.get(), "t", {}));
    ASSERT_OK(write->Abort(context_));
    ASSERT_OK(write->Abort(context_));
    EXPECT_CODE(ErrorCode::kInvalidArgument, write->Commit(context_));
  }
  {
    // Destruction gives up, too.
    auto write =
        lakehouse->Create(context_, {}, InMain("t"), *NumbersSchema(), {}, {}).ValueOrDie();
    ASSERT_OK(write->Write(*Numbers({1})));
  }
  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "t", {7}));
  EXPECT_THAT(lakehouse->FindLeftovers(context_).ValueOrDie(), IsEmpty());
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "t").ValueOrDie(), ElementsAre(7));
}

TEST_F(LakehouseTest, DropAndUndrop) {
  auto lakehouse = Open().ValueOrDie();
  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "t", {1}));
  auto old =
      lakehouse->OpenByName(context_, {}, InMain("t"), catalog::NameMatch::kExact).ValueOrDie();
  auto late = lakehouse->Append(context_, {}, old, {}).ValueOrDie();
  ASSERT_OK(late->Write(*Numbers({2})));
  ASSERT_OK(lakehouse->Drop(context_, {}, old->entry));
  EXPECT_CODE(ErrorCode::kNotFound, NumbersOf(context_, lakehouse.get(), "t"));
  // An append that lands after the drop belongs to the dropped table.
  ASSERT_OK(late->Commit(context_));

  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "t", {10}));
  EXPECT_CODE(ErrorCode::kAlreadyExists, lakehouse->Undrop(context_, {}, InMain("t"), {}));
  ASSERT_OK(lakehouse->Undrop(context_, {}, InMain("t"), InMain("old")));
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "old").ValueOrDie(), ElementsAre(1, 2));
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "t").ValueOrDie(), ElementsAre(10));
  EXPECT_CODE(ErrorCode::kNotFound, lakehouse->Undrop(context_, {}, InMain("t"), {}));
}

TEST_F(LakehouseTest, UndropTakesTheLatestOrTheOneThatIsNamed) {
  auto lakehouse = Open().ValueOrDie();
  std::vector<catalog::Entry> entries;
  for (int64_t value : {1, 2, 3}) {
    ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "t", {value}));
    entries.push_back(*lakehouse->metastore().ViewFor({})->Find(context_, InMain("t"),
                                                                catalog::NameMatch::kExact));
    ASSERT_OK(lakehouse->Drop(context_, {}, entries.back()));
  }
  ASSERT_OK(lakehouse->Undrop(context_, {}, InMain("t"), {}));
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "t").ValueOrDie(), ElementsAre(3));
  ASSERT_OK(lakehouse->Undrop(context_, {}, InMain("t"), InMain("first"), entries[0].incarnation));
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "first").ValueOrDie(), ElementsAre(1));
}

TEST_F(LakehouseTest, RenameKeepsTheFolder) {
  auto lakehouse = Open().ValueOrDie();
  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "t", {1}));
  auto table =
      lakehouse->OpenByName(context_, {}, InMain("t"), catalog::NameMatch::kExact).ValueOrDie();
  ASSERT_OK(lakehouse->metastore().CreateNamespace(context_, "archive"));
  auto renamed = lakehouse->Rename(context_, {}, table->entry, {"archive", "u"}).ValueOrDie();
  EXPECT_EQ(renamed.location, table->entry.location);
  // A write that began before goes on.
  auto write = lakehouse->Append(context_, {}, table, {}).ValueOrDie();
  ASSERT_OK(write->Write(*Numbers({2})));
  ASSERT_OK(write->Commit(context_));
  auto found = lakehouse->OpenByName(context_, {}, {"archive", "u"}, catalog::NameMatch::kExact)
                   .ValueOrDie();
  EXPECT_THAT(ReadNumbers(context_, *found->dataset).ValueOrDie(), ElementsAre(1, 2));
}

TEST_F(LakehouseTest, TheFolderCanBeMovedAndCopied) {
  auto make = [&](const std::string& name) {
    auto lakehouse = Open(name).ValueOrDie();
    EXPECT_TRUE(CreateNumbers(context_, lakehouse.get(), "t ä%", {1}).ok());
  };
  make("a b%#\u00e4");
  fs::copy(path("a b%#\u00e4"), path("copy #2 %20"), fs::copy_options::recursive);
  fs::rename(path("a b%#\u00e4"), path("moved \u00df"));
  for (const char* name : {"copy #2 %20", "moved \u00df"}) {
    auto lakehouse = Open(name).ValueOrDie();
    ASSERT_OK(AppendNumbers(context_, lakehouse.get(), "t ä%", {2}));
    EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "t ä%").ValueOrDie(), ElementsAre(1, 2));
  }
}

TEST_F(LakehouseTest, ManagedObjectsAreFoundAfterAMove) {
  auto lakehouse = Open("a b").ValueOrDie();
  std::ofstream(path("video")) << "moving pictures";
  auto stage = lakehouse->StageFor(context_, {}).ValueOrDie();
  objects::DataLocation location = stage->UploadFile(context_, path("video"), {}).ValueOrDie();
  stage.reset();
  lakehouse.reset();
  fs::rename(path("a b"), path("c d"));
  lakehouse = Open("c d").ValueOrDie();
  stage = lakehouse->StageFor(context_, {}).ValueOrDie();
  ASSERT_OK(stage->CheckExists(context_, location));
  EXPECT_THAT(stage->uri(), HasSubstr("/a%20b/managed-objects"));
}

TEST_F(LakehouseTest, AFolderMustExistUnlessItMayBeMade) {
  EXPECT_CODE(ErrorCode::kNotFound,
              Lakehouse::Open(context_, {.data_dir = path(), .create_if_missing = false}));
  fs::create_directory(path());
  EXPECT_CODE(ErrorCode::kNotFound,
              Lakehouse::Open(context_, {.data_dir = path(), .create_if_missing = false}));
  EXPECT_TRUE(fs::is_empty(path()));
  std::ofstream(path("file")) << "x";
  EXPECT_CODE(ErrorCode::kInvalidArgument, Open("file"));
  EXPECT_CODE(ErrorCode::kInvalidArgument, Lakehouse::Open(context_, {.data_dir = ""}));
  ASSERT_OK(Open("deep/er/folder/"));
  EXPECT_EQ(fs::status(path("deep/er")).permissions(), fs::perms::owner_all);
}

TEST_F(LakehouseTest, ANewerFolderIsRefusedUntouched) {
  {
    Open().ValueOrDie();
  }
  std::ofstream(path() + "/lake.json") << R"({"format_version": 99, "other": true})";
  EXPECT_CODE(ErrorCode::kUnsupported, Open());
  EXPECT_TRUE(fs::is_empty(path() + "/tmp"));
}

TEST_F(LakehouseTest, AFolderThatLostItsIdentityIsRefused) {
  {
    Open().ValueOrDie();
  }
  fs::remove(path() + "/lake.json");
  Status status = Open().status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kCorrupt);
  EXPECT_THAT(status.message(), HasSubstr("lake.json"));
}

TEST_F(LakehouseTest, ManyProcessesMayMakeOneFolder) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      auto lakehouse = Open();
      ASSERT_TRUE(lakehouse.ok()) << lakehouse.status().ToString();
      Status status =
          CreateNumbers(context_, lakehouse->get(), "t" + std::to_string(i), {i}).status();
      EXPECT_TRUE(status.ok()) << status.ToString();
    });
  }
  for (std::thread& thread : threads) thread.join();
  auto lakehouse = Open().ValueOrDie();
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "t" + std::to_string(i)).ValueOrDie(),
                ElementsAre(i));
  }
}

TEST_F(LakehouseTest, TemporariesOfDeadProcessesAreSwept) {
  auto lakehouse = Open().ValueOrDie();
  std::string dead = path() + "/tmp/018f0000-0000-7000-8000-000000000000";
  fs::create_directory(dead);
  std::ofstream(dead + "/spill") << "x";
  auto second = Open().ValueOrDie();
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(lakehouse->temp_dir()));
  std::string own = second->temp_dir();
  second.reset();
  EXPECT_FALSE(fs::exists(own));
}

TEST_F(LakehouseTest, AReplacedTableIsRefused) {
  auto lakehouse = Open().ValueOrDie();
  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "t", {1}));
  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "u", {2}));
  auto t =
      lakehouse->OpenByName(context_, {}, InMain("t"), catalog::NameMatch::kExact).ValueOrDie();
  auto u =
      lakehouse->OpenByName(context_, {}, InMain("u"), catalog::NameMatch::kExact).ValueOrDie();
  auto write = lakehouse->Append(context_, {}, t, {}).ValueOrDie();
  ASSERT_OK(write->Write(*Numbers({3})));

  const std::string t_folder = path() + "/" + t->entry.location;
  const std::string u_folder = path() + "/" + u->entry.location;
  fs::remove_all(t_folder + "/_versions");
  EXPECT_CODE(ErrorCode::kTableReplaced, NumbersOf(context_, lakehouse.get(), "t"));
  fs::copy(u_folder + "/_versions", t_folder + "/_versions", fs::copy_options::recursive);
  EXPECT_CODE(ErrorCode::kTableReplaced, NumbersOf(context_, lakehouse.get(), "t"));
  EXPECT_CODE(ErrorCode::kTableReplaced, write->Commit(context_));
  // What stands in the folder was not touched.
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "u").ValueOrDie(), ElementsAre(2));
}

TEST_F(LakehouseTest, TheMetastoreMayBeRolledBack) {
  auto lakehouse = Open().ValueOrDie();
  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "t", {1}));
  lakehouse.reset();
  // Closing the last connection folded the write-ahead log into the file.
  fs::copy_file(path() + "/metastore.db", path("yesterday"));
  lakehouse = Open().ValueOrDie();
  ASSERT_OK(AppendNumbers(context_, lakehouse.get(), "t", {2}));
  ASSERT_OK(AppendNumbers(context_, lakehouse.get(), "t", {3}));
  lakehouse.reset();
  fs::copy_file(path("yesterday"), path() + "/metastore.db", fs::copy_options::overwrite_existing);

  lakehouse = Open().ValueOrDie();
  auto table =
      lakehouse->OpenByName(context_, {}, InMain("t"), catalog::NameMatch::kExact).ValueOrDie();
  EXPECT_EQ(table->entry.version_hint, 1u);
  EXPECT_EQ(table->dataset->manifest().version(), 3u);
  EXPECT_EQ(AppendNumbers(context_, lakehouse.get(), "t", {4})->version, 4u);
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "t").ValueOrDie(), ElementsAre(1, 2, 3, 4));
}

TEST_F(LakehouseTest, AWrongHintChangesNothing) {
  auto lakehouse = Open().ValueOrDie();
  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "t", {1}));
  auto table =
      lakehouse->OpenByName(context_, {}, InMain("t"), catalog::NameMatch::kExact).ValueOrDie();
  int64_t next = 2;
  for (uint64_t hint : {uint64_t{0}, uint64_t{1000}}) {
    ASSERT_OK(lakehouse->metastore().AdvanceHint(context_, table->entry.incarnation, hint));
    ASSERT_OK(NumbersOf(context_, lakehouse.get(), "t"));
    EXPECT_EQ(AppendNumbers(context_, lakehouse.get(), "t", {next})->version,
              static_cast<uint64_t>(next));
    ++next;
  }
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "t").ValueOrDie(), ElementsAre(1, 2, 3));
}

TEST_F(LakehouseTest, OfRacingCreatesOneWins) {
  auto one = Open().ValueOrDie();
  auto two = Open().ValueOrDie();
  for (int round = 0; round < 10; ++round) {
    std::string name = "t" + std::to_string(round);
    std::vector<Result<CommitOutcome>> outcomes(2);
    std::thread other([&] { outcomes[1] = CreateNumbers(context_, two.get(), name, {2}); });
    outcomes[0] = CreateNumbers(context_, one.get(), name, {1});
    other.join();
    ASSERT_NE(outcomes[0].ok(), outcomes[1].ok());
    int winner = outcomes[0].ok() ? 0 : 1;
    EXPECT_CODE(ErrorCode::kAlreadyExists, outcomes[1 - winner]);
    EXPECT_THAT(NumbersOf(context_, one.get(), name).ValueOrDie(), ElementsAre(winner + 1));
  }
}

TEST_F(LakehouseTest, RacingAppendsAllLand) {
  auto one = Open().ValueOrDie();
  auto two = Open().ValueOrDie();
  ASSERT_OK(CreateNumbers(context_, one.get(), "t", {}));
  constexpr int kAppends = 10;
  auto append = [&](Lakehouse* lakehouse, int64_t first) {
    for (int64_t i = 0; i < kAppends; ++i) {
      Status status = AppendNumbers(context_, lakehouse, "t", {first + i}).status();
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
  };
  std::thread other([&] { append(two.get(), 100); });
  append(one.get(), 0);
  other.join();
  EXPECT_EQ(NumbersOf(context_, one.get(), "t")->size(), size_t{2 * kAppends});
}

TEST_F(LakehouseTest, DropRacingAppendsLosesNoAcknowledgedRow) {
  auto one = Open().ValueOrDie();
  auto two = Open().ValueOrDie();
  for (int round = 0; round < 10; ++round) {
    ASSERT_OK(CreateNumbers(context_, one.get(), "t", {}));
    auto entry =
        *one->metastore().ViewFor({})->Find(context_, InMain("t"), catalog::NameMatch::kExact);
    std::vector<int64_t> acknowledged;
    std::thread appender([&] {
      for (int64_t i = 0;; ++i) {
        Status status = AppendNumbers(context_, two.get(), "t", {i}).status();
        if (!status.ok()) {
          EXPECT_EQ(CodeOf(status), ErrorCode::kNotFound) << status.ToString();
          return;
        }
        acknowledged.push_back(i);
      }
    });
    Status dropped = one->Drop(context_, {}, entry);
    appender.join();
    ASSERT_OK(dropped);
    std::string name = "undropped" + std::to_string(round);
    ASSERT_OK(one->Undrop(context_, {}, InMain("t"), InMain(name)));
    EXPECT_EQ(NumbersOf(context_, one.get(), name).ValueOrDie(), acknowledged);
  }
}

TEST_F(LakehouseTest, BadSchemasAreRefusedAndReserveNoName) {
  auto lakehouse = Open().ValueOrDie();
  struct Case {
    std::shared_ptr<arrow::Schema> schema;
    ErrorCode code;
  };
  const auto file = objects::DataLocationType();
  const Case cases[] = {
      {arrow::schema({}), ErrorCode::kInvalidArgument},
      {arrow::schema({arrow::field("", arrow::int64())}), ErrorCode::kInvalidArgument},
      {arrow::schema({arrow::field("a.b", arrow::int64())}), ErrorCode::kInvalidArgument},
      {arrow::schema({arrow::field("_rowid", arrow::int64())}), ErrorCode::kInvalidArgument},
      {arrow::schema({arrow::field("a", arrow::int64()), arrow::field("A", arrow::int64())}),
       ErrorCode::kInvalidArgument},
      {arrow::schema({arrow::field("a", arrow::month_day_nano_interval())}),
       ErrorCode::kUnsupported},
      {arrow::schema({arrow::field("a", arrow::list(file))}), ErrorCode::kUnsupported},
      {arrow::schema({arrow::field("a", arrow::struct_({arrow::field("f", file)}))}),
       ErrorCode::kUnsupported},
  };
  for (const Case& c : cases) {
    EXPECT_CODE(c.code, lakehouse->Create(context_, {}, InMain("t"), *c.schema, {}, {}));
  }
  EXPECT_CODE(ErrorCode::kInvalidArgument,
              lakehouse->Create(context_, {}, InMain("__t"), *NumbersSchema(), {}, {}));
  EXPECT_CODE(ErrorCode::kNotFound,
              lakehouse->Create(context_, {}, {"nowhere", "t"}, *NumbersSchema(), {}, {}));
  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "t", {1}));
}

TEST_F(LakehouseTest, PropertiesAreKept) {
  auto lakehouse = Open().ValueOrDie();
  auto write = lakehouse->Create(context_, {}, InMain("t"), *NumbersSchema(), {{"owner", "me"}}, {})
                   .ValueOrDie();
  ASSERT_OK(write->Commit(context_));
  auto table =
      lakehouse->OpenByName(context_, {}, InMain("t"), catalog::NameMatch::kExact).ValueOrDie();
  EXPECT_EQ(table->entry.properties.at("owner"), "me");
  EXPECT_EQ(table->dataset->manifest().table_metadata().at("lake.incarnation"),
            table->entry.incarnation.ToString());
  EXPECT_TRUE(table->dataset->manifest().config().empty());
}

TEST_F(LakehouseTest, ACancelledWriteDoesNothing) {
  auto lakehouse = Open().ValueOrDie();
  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "t", {1}));
  Context cancelled = context_;
  cancelled.cancel = CancelToken();
  auto table =
      lakehouse->OpenByName(context_, {}, InMain("t"), catalog::NameMatch::kExact).ValueOrDie();
  auto append = lakehouse->Append(cancelled, {}, table, {}).ValueOrDie();
  auto create =
      lakehouse->Create(cancelled, {}, InMain("u"), *NumbersSchema(), {}, {}).ValueOrDie();
  ASSERT_OK(append->Write(*Numbers({2})));
  ASSERT_OK(create->Write(*Numbers({2})));
  cancelled.cancel.Cancel();
  EXPECT_CODE(ErrorCode::kCancelled, append->Commit(cancelled));
  EXPECT_CODE(ErrorCode::kCancelled, create->Commit(cancelled));
  EXPECT_THAT(NumbersOf(context_, lakehouse.get(), "t").ValueOrDie(), ElementsAre(1));
  // The name is free again.
  ASSERT_OK(CreateNumbers(context_, lakehouse.get(), "u", {3}));
  EXPECT_THAT(lakehouse->FindLeftovers(context_).ValueOrDie(), IsEmpty());
}

}  // namespace
}  // namespace lake::commit
