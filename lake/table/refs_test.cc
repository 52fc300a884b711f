#include "lake/table/refs.h"

#include <gtest/gtest.h>

#include "lake/storage/testing/faulty_store.h"
#include "lake/table/clone.h"
#include "lake/table/ref_files_internal.h"
#include "lake/table/testing/table_fixture_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {
namespace {

class RefsTest : public TableFixture {
 protected:
  void SetUp() override {
    Create(20, 10);
    Foreign([](pb::Manifest*, pb::Transaction*) {});
  }

  Result<Branch> MakeBranch(const std::string& name, const OpenOptions& options = {}) {
    return CreateBranch(context(), *Open(options), name, store_->description());
  }

  Status Append(const std::shared_ptr<Dataset>& dataset, int64_t first, int64_t count) {
    ARROW_ASSIGN_OR_RAISE(auto writer,
                          AppendWriter::Open(context(), dataset->store(), SmallSchema()));
    ARROW_RETURN_NOT_OK(writer->Write(*Rows(first, count)));
    ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> fragments, writer->Finish());
    return Commit(context(), dataset->store(),
                  MakeAppend(context(), dataset->manifest().version(), std::move(fragments)), {})
        .status();
  }
};

TEST_F(RefsTest, ReopeningStaysOnTheLine) {
  ASSERT_TRUE(MakeBranch("dev").ok());
  OpenOptions on_branch;
  on_branch.branch = "dev";
  const std::shared_ptr<Dataset> branch = Open(on_branch);
  const uint64_t begin = branch->manifest().version();
  ASSERT_TRUE(Append(branch, 20, 5).ok());
  const auto count = [&](const Dataset& dataset) {
    ScanOptions options;
    options.with_row_address = true;
    auto scanner = dataset.Scan(context(), options).ValueOrDie();
    int64_t rows = 0;
    for (size_t i = 0; i < scanner->num_morsels(); ++i) {
      rows += scanner->Read(context(), i).ValueOrDie()->num_rows();
    }
    return rows;
  };
  const std::shared_ptr<Dataset> newest = branch->Reopen(context()).ValueOrDie();
  EXPECT_EQ(newest->branch(), "dev");
  EXPECT_EQ(newest->manifest().version(), begin + 1);
  // Also the files of the main line, which lie in its folder.
  EXPECT_EQ(count(*newest), 25);
  EXPECT_EQ(newest->root_store()->description(), store_->description());
  EXPECT_EQ(count(*newest->Reopen(context(), begin).ValueOrDie()), 20);
  EXPECT_EQ(CodeOf(newest->Reopen(context(), 99).status()), ErrorCode::kNotFound);
  EXPECT_EQ(count(*Open()->Reopen(context()).ValueOrDie()), 20);
}

TEST_F(RefsTest, TagNamesAreThoseThatUpstreamTakes) {
  for (const char* good : {"v1", "a.b-c_1", "main", "-a", "HEAD", "0"}) {
    EXPECT_TRUE(CheckTagName(good).ok()) << good;
  }
  for (const char* bad :
       {"", "a/b", "..", "a..b", ".a", "a.", "x.lock", "a b", "\xc3\xa4", "a@", "a\\b", "%2F"}) {
    EXPECT_EQ(CodeOf(CheckTagName(bad)), ErrorCode::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(CheckTagName(std::string(201, 'x')).ok());
}

TEST_F(RefsTest, BranchNamesAreThoseThatUpstreamTakes) {
  for (const char* good : {"dev/b1", ".a", "a.", "-a", "HEAD", "a/b/c"}) {
    EXPECT_TRUE(CheckBranchName(good).ok()) << good;
  }
  for (const char* bad : {"", "main", "/a", "a/", "a//b", "a/../b", "a\\b", "x.lock", "a b",
                          "\xc3\xa4", "./a", "a/./b", "."}) {
    EXPECT_EQ(CodeOf(CheckBranchName(bad)), ErrorCode::kInvalidArgument) << bad;
  }
}

TEST_F(RefsTest, TagsAreMadeMovedListedAndDeleted) {
  Tag made = CreateTag(context(), store_, "first", {{}, 1}).ValueOrDie();
  EXPECT_GT(made.manifest_size, 0u);
  ASSERT_TRUE(CreateTag(context(), store_, "a", {{}, 2}).ok());
  EXPECT_EQ(CodeOf(CreateTag(context(), store_, "first", {{}, 2}).status()),
            ErrorCode::kAlreadyExists);
  EXPECT_EQ(CodeOf(CreateTag(context(), store_, "none", {{}, 9}).status()), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(ReadTag(context(), store_.get(), "none").status()), ErrorCode::kNotFound);

  EXPECT_EQ(Open({.version = {}, .as_of_nanos = {}, .tag = "first", .branch = {}, .open_base = {}})
                ->manifest()
                .version(),
            1u);
  ASSERT_TRUE(UpdateTag(context(), store_, "first", {{}, 2}).ok());
  EXPECT_EQ(ReadTag(context(), store_.get(), "first").ValueOrDie().target.version, 2u);
  EXPECT_EQ(CodeOf(UpdateTag(context(), store_, "first", {{}, 9}).status()), ErrorCode::kNotFound);
  EXPECT_EQ(ReadTag(context(), store_.get(), "first").ValueOrDie().target.version, 2u);

  std::vector<Tag> tags = ListTags(context(), store_.get()).ValueOrDie();
  ASSERT_EQ(tags.size(), 2u);
  EXPECT_EQ(tags[0].name, "a");
  EXPECT_EQ(tags[1].created_nanos, made.created_nanos);
  ASSERT_TRUE(DeleteTag(context(), store_, "first").ok());
  EXPECT_EQ(CodeOf(DeleteTag(context(), store_, "first")), ErrorCode::kNotFound);
}

TEST_F(RefsTest, FilesOfBothGenerationsAreRead) {
  const char* kOld = R"({"version": 3, "manifest_size": 7})";
  Tag old = DecodeTag(kOld, "t", "k").ValueOrDie();
  EXPECT_EQ(old.target.version, 3u);
  EXPECT_EQ(old.manifest_size, 7u);
  EXPECT_FALSE(old.created_nanos);
  const char* kNew = R"({"branch": "dev/b1", "version": 3, "createdAt":
      "2026-11-29T17:46:15.865840167Z", "updatedAt": "nonsense", "manifestSize": 423,
      "metadata": {"a": "b"}})";
  Tag tag = DecodeTag(kNew, "t", "k").ValueOrDie();
  EXPECT_EQ(tag.target.branch, "dev/b1");
  EXPECT_EQ(tag.created_nanos, 1795974375865840167);
  EXPECT_FALSE(tag.updated_nanos);
  EXPECT_EQ(tag.metadata.at("a"), "b");
  const char* kOldBranch = R"({"parent_branch": null, "parent_version": 2, "create_at": 5,
      "manifest_size": 1})";
  Branch branch = DecodeBranch(kOldBranch, "b", "k").ValueOrDie();
  EXPECT_EQ(branch.parent, (VersionRef{{}, 2}));
  EXPECT_EQ(branch.created_nanos, 5'000'000'000);
  Branch again = DecodeBranch(EncodeBranch(branch), "b", "k").ValueOrDie();
  EXPECT_EQ(again.parent, branch.parent);
}

TEST_F(RefsTest, DamagedFilesAreNamed) {
  const char* kBad[] = {"",
                        "[]",
                        "{",
                        R"({"version": -1})",
                        R"({"version": "1"})",
                        "{}",
                        R"({"version": 1, "branch": 5})",
                        R"({"version": 1, "branch": "../x"})"};
  for (const char* bad : kBad) {
    Status status = DecodeTag(bad, "t", "_refs/tags/t.json").status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kCorrupt) << bad;
    EXPECT_NE(status.message().find("_refs/tags/t.json"), std::string::npos);
  }
  EXPECT_EQ(CodeOf(DecodeBranch(R"({"parentVersion": 1, "identifier": {"version_mapping": [[1]]}})",
                                "b", "k")
                       .status()),
            ErrorCode::kCorrupt);
}

TEST_F(RefsTest, ABranchHasCommitsOfItsOwn) {
  Branch branch = MakeBranch("dev/b1").ValueOrDie();
  EXPECT_EQ(branch.parent, (VersionRef{{}, 2}));
  ASSERT_EQ(branch.identifier.size(), 1u);
  EXPECT_EQ(branch.identifier[0].second.size(), 32u);
  EXPECT_EQ(CodeOf(MakeBranch("dev/b1").status()), ErrorCode::kAlreadyExists);

  OpenOptions on_branch;
  on_branch.branch = "dev/b1";
  std::shared_ptr<Dataset> dataset = Open(on_branch);
  EXPECT_EQ(dataset->manifest().version(), 2u);
  ASSERT_TRUE(Append(dataset, 100, 5).ok());
  dataset = Open(on_branch);
  EXPECT_EQ(dataset->manifest().version(), 3u);
  EXPECT_EQ(dataset->CountRows(context()).ValueOrDie(), 25u);
  EXPECT_EQ(Open()->CountRows(context()).ValueOrDie(), 20u);
  // Rows of the main line's files, through the base.
  auto scanner = dataset->Scan(context(), {}).ValueOrDie();
  std::vector<int64_t> ids;
  for (size_t i = 0; i < scanner->num_morsels(); ++i) {
    auto batch = scanner->Read(context(), i).ValueOrDie();
    for (int64_t id : Ids(*batch)) ids.push_back(id);
  }
  EXPECT_EQ(ids.size(), 25u);
  EXPECT_EQ(ids.front(), 0);
  EXPECT_EQ(ids.back(), 104);

  Branch sub = CreateBranch(context(), *dataset, "sub", store_->description()).ValueOrDie();
  EXPECT_EQ(sub.parent, (VersionRef{"dev/b1", 3}));
  EXPECT_EQ(sub.identifier.size(), 2u);
  OpenOptions on_sub;
  on_sub.branch = "sub";
  EXPECT_EQ(Open(on_sub)->CountRows(context()).ValueOrDie(), 25u);

  ASSERT_TRUE(CreateTag(context(), store_, "t", {"dev/b1", 3}).ok());
  OpenOptions by_tag;
  by_tag.tag = "t";
  EXPECT_EQ(Open(by_tag)->branch(), "dev/b1");
  EXPECT_EQ(Open(by_tag)->CountRows(context()).ValueOrDie(), 25u);
}

TEST_F(RefsTest, ABranchThatSomethingHangsOnIsNotDeleted) {
  ASSERT_TRUE(MakeBranch("dev").ok());
  ASSERT_TRUE(MakeBranch("dev/data").ok());
  OpenOptions on_dev;
  on_dev.branch = "dev";
  ASSERT_TRUE(Append(Open(on_dev), 50, 5).ok());
  ASSERT_TRUE(CreateTag(context(), store_, "t", {"dev", 3}).ok());
  EXPECT_EQ(CodeOf(DeleteBranch(context(), store_, "dev")), ErrorCode::kConflict);
  ASSERT_TRUE(DeleteTag(context(), store_, "t").ok());
  ASSERT_TRUE(CreateBranch(context(), *Open(on_dev), "sub", store_->description()).ok());
  EXPECT_EQ(CodeOf(DeleteBranch(context(), store_, "dev")), ErrorCode::kConflict);
  ASSERT_TRUE(DeleteBranch(context(), store_, "sub").ok());
  ASSERT_TRUE(DeleteBranch(context(), store_, "dev").ok());
  EXPECT_EQ(CodeOf(DeleteBranch(context(), store_, "dev")), ErrorCode::kNotFound);
  // The branch with a name that looks like a folder of the other one.
  OpenOptions on_data;
  on_data.branch = "dev/data";
  EXPECT_EQ(Open(on_data)->CountRows(context()).ValueOrDie(), 20u);
  std::vector<storage::ObjectInfo> left =
      storage::ListAll(store_.get(), context(), "tree/dev/").ValueOrDie();
  for (const storage::ObjectInfo& object : left) {
    EXPECT_TRUE(object.key.starts_with("tree/dev/data/")) << object.key;
  }
}

TEST_F(RefsTest, ABranchWhoseMakerDiedIsTakenOver) {
  auto faulty = std::make_shared<storage::FaultyStore>(store_);
  faulty->FailMatching(
      [](const storage::StoreCall& call) { return call.key.starts_with("_refs/branches/"); },
      storage::Fault::kCrash, 10);
  std::shared_ptr<Dataset> dataset = Dataset::Open(context(), faulty).ValueOrDie();
  EXPECT_FALSE(CreateBranch(context(), *dataset, "dev", store_->description()).ok());
  ASSERT_TRUE(MakeBranch("dev").ok());
  OpenOptions on_dev;
  on_dev.branch = "dev";
  EXPECT_EQ(Open(on_dev)->CountRows(context()).ValueOrDie(), 20u);
}

TEST_F(RefsTest, EveryFaultOfMakingATagOrBranchIsHonest) {
  for (const bool branch : {false, true}) {
    for (size_t call = 0;; ++call) {
      bool reached = false;
      for (const storage::Fault fault : storage::kAllFaults) {
        auto inner = storage::MakeMemoryStore();
        store_ = inner;
        Create(10, 10);
        auto faulty = std::make_shared<storage::FaultyStore>(inner);
        std::shared_ptr<Dataset> dataset = Dataset::Open(context(), faulty).ValueOrDie();
        faulty->Reset();
        faulty->FailCall(call, fault);
        Status made = branch ? CreateBranch(context(), *dataset, "b", inner->description()).status()
                             : CreateTag(context(), faulty, "t", {{}, 1}).status();
        reached |= faulty->num_injected() > 0;
        if (!made.ok()) continue;
        if (branch) {
          OpenOptions options;
          options.branch = "b";
          EXPECT_TRUE(Dataset::Open(context(), inner, options).ok()) << call;
        } else {
          EXPECT_TRUE(ReadTag(context(), inner.get(), "t").ok()) << call;
        }
      }
      if (!reached) break;
    }
  }
}

}  // namespace
}  // namespace lake::table
