#include "lake/table/blobs.h"

#include <algorithm>
#include <set>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/expression.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/storage/testing/faulty_store.h"
#include "lake/table/cleanup.h"
#include "lake/table/clone.h"
#include "lake/table/compaction.h"
#include "lake/table/delete_rows.h"
#include "lake/table/merge_insert.h"
#include "lake/table/table_files.h"
#include "lake/table/testing/blob_fixture_internal.h"
#include "lake/table/update_rows.h"
#include "lake/table/verify.h"

namespace lake::table {
namespace {

namespace cp = arrow::compute;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ById = std::map<int64_t, std::optional<std::string>>;

class BlobsTest : public BlobFixture {
 protected:
  /// One of each kind, a null and an empty one.
  static BlobTexts Kinds(int seed = 0) {
    return {BlobText(10, seed),    BlobText(40, seed + 1), BlobText(80, seed + 2), std::nullopt, "",
            BlobText(30, seed + 3)};
  }
  static ById Numbered(const BlobTexts& texts, int64_t first = 0) {
    ById by_id;
    for (size_t i = 0; i < texts.size(); ++i) by_id[first + static_cast<int64_t>(i)] = texts[i];
    return by_id;
  }
  std::unique_ptr<BlobReader> Reader(BlobOptions options = {}) {
    return BlobReader::Open(Open(), "b", std::move(options)).ValueOrDie();
  }
  /// Writes another object in place of `key`.
  void Replace(const std::string& key, const std::string& bytes) {
    ASSERT_TRUE(store_->Put(context(), key, bytes, storage::PutCondition::kNone).ok());
  }
  std::string BlobFile(uint32_t id) {
    return BlobFileKey(Open()->manifest().fragments()[0].files[0].path, id);
  }
  Status Compact() {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Dataset> dataset, Dataset::Open(context(), store_));
    ARROW_ASSIGN_OR_RAISE(CompactionPlan plan, PlanCompaction(context(), *dataset, {}));
    ARROW_ASSIGN_OR_RAISE(std::vector<CompactedGroup> groups,
                          RunCompaction(context(), *dataset, plan, {}));
    ARROW_ASSIGN_OR_RAISE(
        CommitResult reserved,
        Commit(context(), store_,
               NewTransaction(context(), plan.read_version,
                              ReserveFragmentsOperation{static_cast<uint32_t>(groups.size())}),
               {}));
    AssignFragmentIds(*reserved.manifest->max_fragment_id() + 1 - groups.size(), &groups);
    RewriteOperation rewrite;
    std::vector<std::string> objects;
    for (CompactedGroup& group : groups) {
      objects.insert(objects.end(), group.new_objects.begin(), group.new_objects.end());
      rewrite.groups.push_back(std::move(group.group));
    }
    return Commit(context(), store_,
                  NewTransaction(context(), reserved.version, std::move(rewrite), objects), {})
        .status();
  }
};

TEST_F(BlobsTest, ManyInAnyOrderWithRepetitions) {
  const BlobTexts first = Kinds();
  const BlobTexts second = Kinds(10);
  CreateBlobs(first);
  AppendBlobs(second, 6);
  const uint64_t next = uint64_t{1} << 32;
  EXPECT_EQ(ReadBlobs({next + 2, 0, 3, next + 1, 0, 4, next + 5}).ValueOrDie(),
            (BlobTexts{second[2], first[0], std::nullopt, second[1], first[0], "", second[5]}));
  EXPECT_TRUE(ReadBlobs({}).ValueOrDie().empty());
}

TEST_F(BlobsTest, RangesOfSeveralBlobs) {
  const BlobTexts texts = Kinds();
  CreateBlobs(texts);
  const std::vector<BlobRange> ranges{{2, 70, 10}, {0, 3, 4}, {3, 0, 5}, {4, 0, 0}, {1, 40, 0}};
  const auto parts = Reader()->ReadRanges(context(), ranges).ValueOrDie();
  EXPECT_EQ(parts[0]->ToString(), texts[2]->substr(70));
  EXPECT_EQ(parts[1]->ToString(), texts[0]->substr(3, 4));
  EXPECT_EQ(parts[2], nullptr);
  EXPECT_EQ(parts[3]->size(), 0);
  EXPECT_EQ(parts[4]->size(), 0);
  for (const BlobRange& range : {BlobRange{2, 70, 11}, BlobRange{2, 81, 0}, BlobRange{4, 0, 1},
                                 BlobRange{2, 1, UINT64_MAX}}) {
    const auto read = Reader()->ReadRanges(context(), std::span(&range, 1));
    EXPECT_EQ(CodeOf(read.status()), ErrorCode::kInvalidArgument);
    EXPECT_THAT(ErrorText(read.status()), HasSubstr(fmt::format("row {}", range.address)));
  }
}

TEST_F(BlobsTest, HandlesReadRanges) {
  const BlobTexts texts = Kinds();
  CreateBlobs(texts);
  const std::vector<RowAddress> addresses{1, 3, 4, 2};
  const auto blobs = Reader()->Take(context(), addresses).ValueOrDie();
  EXPECT_EQ(blobs[0]->kind(), format::BlobKind::kPacked);
  EXPECT_EQ(blobs[0]->size(), 40u);
  EXPECT_EQ(blobs[0]->Read(context(), 30, 10).ValueOrDie()->ToString(), texts[1]->substr(30));
  EXPECT_EQ(blobs[1], nullptr);
  EXPECT_EQ(blobs[2]->ReadAll(context()).ValueOrDie()->size(), 0);
  EXPECT_EQ(blobs[3]->ReadAll(context()).ValueOrDie()->ToString(), texts[2]);
  EXPECT_EQ(CodeOf(blobs[0]->Read(context(), 30, 11).status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(blobs[0]->Read(context(), 41, 0).status()), ErrorCode::kInvalidArgument);
}

TEST_F(BlobsTest, WhatLiesTogetherIsReadTogether) {
  BlobTexts texts;
  for (int i = 0; i < 200; ++i) texts.push_back(BlobText(16, i));
  CreateBlobs(texts);
  auto counting = std::make_shared<storage::FaultyStore>(store_);
  auto dataset = Dataset::Open(context(), counting).ValueOrDie();
  auto reader = BlobReader::Open(dataset, "b").ValueOrDie();
  std::vector<RowAddress> addresses;
  for (uint64_t i = 200; i-- > 0;) addresses.push_back(i);
  ASSERT_TRUE(reader->Read(context(), addresses).ok());
  counting->Reset();
  const auto read = reader->Read(context(), addresses).ValueOrDie();
  for (size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i]->ToString(), texts[199 - i]);
  EXPECT_LE(counting->calls().size(), 4u);
}

TEST_F(BlobsTest, WrongColumnsAndRowsAreNamed) {
  CreateBlobs(Kinds());
  EXPECT_EQ(CodeOf(BlobReader::Open(Open(), "none").status()), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(BlobReader::Open(Open(), "").status()), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(BlobReader::Open(Open(), "b.data").status()), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(BlobReader::Open(Open(), "id").status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(ReadBlobs({6}).status()), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(ReadBlobs({uint64_t{7} << 32}).status()), ErrorCode::kNotFound);
}

TEST_F(BlobsTest, ExternalBlobsAreOpenedOnlyIfAllowed) {
  AppendWriterOptions options;
  options.blobs.allow_outside_bases = true;
  CreateBlobs({"uri:file:///etc/passwd", "uri:mem://x/o@2+3", "plain"}, options);
  for (const uint64_t row : {0, 1}) {
    const Status refused = ReadBlobs({row}).status();
    EXPECT_EQ(CodeOf(refused), ErrorCode::kPermissionDenied);
    EXPECT_THAT(ErrorText(refused), HasSubstr(row == 0 ? "file:///etc/passwd" : "mem://x/o"));
    EXPECT_EQ(CodeOf(Reader()->Take(context(), std::vector<RowAddress>{row}).status()),
              ErrorCode::kPermissionDenied);
  }
  EXPECT_EQ(ReadBlobs({2}).ValueOrDie(), (BlobTexts{"plain"}));

  auto other = storage::MakeMemoryStore();
  ASSERT_TRUE(other->Put(context(), "o", "0123456789", storage::PutCondition::kNone).ok());
  BlobOptions allowed;
  allowed.open_external = [&](const Context&, const std::string& uri) -> Result<BaseStores::Place> {
    if (uri != "mem://x/o") return Error(ErrorCode::kPermissionDenied, "not that: {}", uri);
    return BaseStores::Place{other, "o"};
  };
  EXPECT_EQ(ReadBlobs({1, 2}, allowed).ValueOrDie(), (BlobTexts{"234", "plain"}));
  EXPECT_EQ(CodeOf(ReadBlobs({0}, allowed).status()), ErrorCode::kPermissionDenied);
  ASSERT_TRUE(other->Delete(context(), "o").ok());
  EXPECT_EQ(CodeOf(ReadBlobs({1}, allowed).status()), ErrorCode::kNotFound);
}

TEST_F(BlobsTest, ExternalBlobsOfABase) {
  AppendWriterOptions options;
  options.blobs.bases = {{.id = 3, .name = "media", .is_dataset_root = false, .path = "/media"}};
  CreateBlobs({"uri:/media/a/o", "uri:/media/a/o@7+3"}, options);
  EXPECT_EQ(CodeOf(ReadBlobs({0}).status()), ErrorCode::kUnsupported);
  auto media = storage::MakeMemoryStore();
  ASSERT_TRUE(media->Put(context(), "a/o", "0123456789", storage::PutCondition::kNone).ok());
  OpenOptions open;
  open.open_base = [&](const Context&,
                       const std::string& path) -> Result<std::shared_ptr<storage::ObjectStore>> {
    EXPECT_EQ(path, "/media");
    return media;
  };
  auto reader = BlobReader::Open(Open(open), "b").ValueOrDie();
  const std::vector<RowAddress> addresses{1, 0};
  const auto read = reader->Read(context(), addresses).ValueOrDie();
  EXPECT_EQ(read[0]->ToString(), "789");
  EXPECT_EQ(read[1]->ToString(), "0123456789");
  EXPECT_EQ(reader->Take(context(), addresses).ValueOrDie()[1]->size(), 10u);
  ASSERT_TRUE(media->Put(context(), "a/o", "01234567", storage::PutCondition::kNone).ok());
  EXPECT_EQ(CodeOf(reader->Take(context(), addresses).status()), ErrorCode::kCorrupt);
}

TEST_F(BlobsTest, MissingAndShortFilesNameTheirPlace) {
  CreateBlobs(Kinds());
  const std::string packed = BlobFile(1);
  const std::string bytes = store_->GetAll(context(), packed, 1 << 20).ValueOrDie()->ToString();
  const std::vector<RowAddress> row{5};
  const auto expect = [&](const Status& status, const std::string& text) {
    EXPECT_EQ(CodeOf(status), ErrorCode::kCorrupt) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr(text));
    EXPECT_THAT(ErrorText(status), HasSubstr("\"b\""));
    EXPECT_THAT(ErrorText(status), HasSubstr(packed));
  };
  const auto handle = Reader()->Take(context(), row).ValueOrDie()[0];
  Replace(packed, bytes.substr(0, bytes.size() - 1));
  expect(ReadBlobs(row).status(), "behind the end");
  expect(Reader()->Take(context(), row).status(), "behind the end");
  EXPECT_EQ(CodeOf(handle->ReadAll(context()).status()), ErrorCode::kCorrupt);
  // What is there can be read.
  EXPECT_EQ(ReadBlobs({1}).ValueOrDie(), (BlobTexts{BlobText(40, 1)}));
  ASSERT_TRUE(store_->Delete(context(), packed).ok());
  expect(ReadBlobs(row).status(), "does not exist");
  expect(Reader()->Take(context(), row).status(), "does not exist");
}

TEST_F(BlobsTest, VerifyNamesMissingAndShortFiles) {
  CreateBlobs(Kinds());
  ExpectSound();
  const std::string packed = BlobFile(1);
  const std::string dedicated = BlobFile(2);
  Replace(packed, "short");
  ASSERT_TRUE(store_->Delete(context(), dedicated).ok());
  const VerifyReport report = Verify(context(), store_, {}).ValueOrDie();
  std::map<std::string, std::string> errors;
  for (const Finding& finding : report.findings) {
    if (finding.severity == Severity::kError) errors[finding.object] = finding.what;
  }
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_THAT(errors[packed], HasSubstr("shorter than its blobs: 5 bytes, not 70"));
  EXPECT_THAT(errors[dedicated], HasSubstr("missing"));
}

TEST_F(BlobsTest, DeleteKeepsTheOthers) {
  CreateBlobs(Kinds());
  ASSERT_TRUE(CommitChange(DeleteRows(context(), Open(),
                                      cp::less(cp::field_ref("id"), cp::literal(int64_t{2}))))
                  .ok());
  ById expected = Numbered(Kinds());
  expected.erase(0);
  expected.erase(1);
  EXPECT_EQ(BlobsById(), expected);
  EXPECT_EQ(CodeOf(ReadBlobs({0}).status()), ErrorCode::kNotFound);
  ASSERT_TRUE(CommitChange(DeleteRows(context(), Open(), cp::is_null(cp::field_ref("b")))).ok());
  expected.erase(3);
  EXPECT_EQ(BlobsById(), expected);
  ExpectSound();
}

TEST_F(BlobsTest, UpdateOfAnotherColumnCarriesBlobs) {
  AppendWriterOptions writer;
  writer.blobs.allow_outside_bases = true;
  BlobTexts texts = Kinds();
  texts.push_back("uri:mem://x/o@2+3");
  // Larger than what is copied at once.
  texts.push_back(BlobText(9 << 20, 9));
  CreateBlobs(texts, writer);
  UpdateRowsOptions options;
  options.filter = cp::not_equal(cp::field_ref("id"), cp::literal(int64_t{0}));
  options.assignments["id"] = cp::call("add", {cp::field_ref("id"), cp::literal(int64_t{100})});
  const Status updated = CommitChange(UpdateRows(context(), Open(), options));
  ASSERT_TRUE(updated.ok()) << updated;
  ById expected{{0, texts[0]}};
  for (int64_t i = 1; i < 8; ++i) expected[100 + i] = texts[i];
  expected.erase(106);
  const std::vector<RowAddress> addresses = Addresses();
  const std::vector<int64_t> ids = ScanIds({.columns = {{"id"}}});
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == 106) {
      EXPECT_THAT(ErrorText(ReadBlobs({addresses[i]}).status()), HasSubstr("mem://x/o"));
    } else {
      EXPECT_EQ(ReadBlobs({addresses[i]}).ValueOrDie()[0], expected.at(ids[i])) << ids[i];
    }
  }
  ExpectSound();
  // The new file stands alone: the old one may go.
  const std::string old = BlobFile(1);
  ASSERT_TRUE(store_->Delete(context(), old).ok());
  EXPECT_EQ(ReadBlobs({addresses[1]}).ValueOrDie()[0], texts[1]);
}

TEST_F(BlobsTest, BlobsAreNotUpdatedByExpressions) {
  CreateBlobs(Kinds());
  UpdateRowsOptions options;
  options.assignments["b"] = cp::field_ref("b");
  const auto update = UpdateRows(context(), Open(), options);
  EXPECT_EQ(CodeOf(update.status()), ErrorCode::kUnsupported);
  EXPECT_THAT(ErrorText(update.status()), HasSubstr("\"b\""));
}

TEST_F(BlobsTest, MergeBringsNewBlobsAndCarriesOldOnes) {
  CreateBlobs(Kinds());
  const BlobTexts fresh{BlobText(50, 20), "small", BlobText(99, 21)};
  // 4 and 5 are there, 6 is new.
  auto rows =
      arrow::TableBatchReader(arrow::Table::FromRecordBatches({BlobRows(fresh, 4)}).ValueOrDie());
  MergeInsertOptions options;
  options.on = {"id"};
  options.when_matched = MergeInsertOptions::Matched::kUpdate;
  Status merged = CommitChange(MergeInsert(context(), Open(), &rows, options));
  ASSERT_TRUE(merged.ok()) << merged;
  ById expected = Numbered(Kinds());
  for (int64_t i = 0; i < 3; ++i) expected[4 + i] = fresh[i];
  EXPECT_EQ(BlobsById(), expected);

  // A source without the column: the blobs stay.
  auto ids = BlobRows(Kinds(), 2)->SelectColumns({0}).ValueOrDie();
  auto without = arrow::TableBatchReader(arrow::Table::FromRecordBatches({ids}).ValueOrDie());
  merged = CommitChange(MergeInsert(context(), Open(), &without, options));
  ASSERT_TRUE(merged.ok()) << merged;
  expected[7] = std::nullopt;
  EXPECT_EQ(BlobsById(), expected);
  ExpectSound();

  // Places of blobs are no values.
  auto read = ScanAll({})[0];
  auto places = arrow::TableBatchReader(arrow::Table::FromRecordBatches({read}).ValueOrDie());
  EXPECT_EQ(CodeOf(MergeInsert(context(), Open(), &places, options).status()),
            ErrorCode::kInvalidArgument);
}

TEST_F(BlobsTest, CompactionAndCleanupLeaveWhatIsReachable) {
  CreateBlobs(Kinds());
  AppendBlobs(Kinds(10), 6);
  ASSERT_TRUE(CommitChange(DeleteRows(context(), Open(),
                                      cp::equal(cp::field_ref("id"), cp::literal(int64_t{2}))))
                  .ok());
  ById expected = Numbered(Kinds());
  for (const auto& [id, text] : Numbered(Kinds(10), 6)) expected[id] = text;
  expected.erase(2);
  const Status compacted = Compact();
  ASSERT_TRUE(compacted.ok()) << compacted;
  ASSERT_EQ(Open()->manifest().fragments().size(), 1u);
  EXPECT_EQ(BlobsById(), expected);
  ExpectSound();

  CleanupOptions options;
  options.older_than_nanos = 0;
  options.superseded_for_nanos = 0;
  options.replay_retention_nanos = 0;
  options.delete_unverified = true;
  const auto report = CleanUp(context(), store_, options);
  ASSERT_TRUE(report.ok()) << report.status();
  // Two packed and a dedicated file went... with each of the two data files.
  EXPECT_EQ(report->removed.at(FileKind::kSidecar).files, 4u);
  const DataFile file = Open()->manifest().fragments()[0].files[0];
  EXPECT_THAT(Keys(), ::testing::UnorderedElementsAre(
                          "data/" + file.path, BlobFileKey(file.path, 1), BlobFileKey(file.path, 2),
                          BlobFileKey(file.path, 3)));
  EXPECT_EQ(BlobsById(), expected);
  ExpectSound();
}

TEST_F(BlobsTest, CopiesHaveBlobsOfTheirOwn) {
  AppendWriterOptions writer;
  writer.blobs.bases = {{.id = 3, .name = "media", .is_dataset_root = false, .path = "/media"}};
  BlobTexts texts = Kinds();
  texts.push_back("uri:/media/o");
  CreateBlobs(texts, writer);
  auto target = storage::MakeMemoryStore();
  auto copy = MakeDeepCopy(context(), *Open(), target, "/t", {});
  ASSERT_TRUE(copy.ok()) << copy.status();
  ASSERT_TRUE(Commit(context(), target, *copy, {}).ok());
  const std::shared_ptr<storage::ObjectStore> original = std::exchange(store_, target);
  for (const auto& info : storage::ListAll(original.get(), context(), "").ValueOrDie()) {
    ASSERT_TRUE(original->Delete(context(), info.key).ok());
  }
  const std::vector<RowAddress> addresses{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(ReadBlobs(addresses).ValueOrDie(), BlobTexts(texts.begin(), texts.begin() + 6));
  // Where external ones lie is known as before.
  EXPECT_THAT(ErrorText(ReadBlobs({6}).status()), HasSubstr("/media"));
  ExpectSound();
}

TEST_F(BlobsTest, ShallowClonesReadTheSourcesBlobs) {
  CreateBlobs(Kinds());
  auto clone = MakeShallowClone(context(), *Open(), "/source", {});
  ASSERT_TRUE(clone.ok()) << clone.status();
  auto target = storage::MakeMemoryStore();
  ASSERT_TRUE(Commit(context(), target, *clone, {}).ok());
  const std::shared_ptr<storage::ObjectStore> source = std::exchange(store_, target);
  OpenOptions open;
  open.open_base = [&](const Context&,
                       const std::string&) -> Result<std::shared_ptr<storage::ObjectStore>> {
    return source;
  };
  auto reader = BlobReader::Open(Open(open), "b").ValueOrDie();
  const auto read = reader->Read(context(), std::vector<RowAddress>{0, 1, 2}).ValueOrDie();
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(read[i]->ToString(), Kinds()[i]);
}

// Numbers from disk: none of them makes us read elsewhere, or allocate what is not there.
TEST_F(BlobsTest, PlacesThatCannotBeAreRefused) {
  CreateBlobs(Kinds());
  const auto dataset = Open();
  const BlobFinder finder(dataset->bases(), nullptr);
  const DataFile file = Open()->manifest().fragments()[0].files[0];
  const auto find = [&](format::BlobPlace place) { return finder.Find(context(), file, place); };
  using format::BlobKind;
  EXPECT_EQ(CodeOf(find({BlobKind::kInline, 5, UINT64_MAX, 0, ""}).status()), ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf(find({BlobKind::kPacked, 0, 5, 0, ""}).status()), ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf(find({BlobKind::kExternal, 0, 5, 9, "x"}).status()), ErrorCode::kCorrupt);
  for (const format::BlobPlace& place :
       {format::BlobPlace{BlobKind::kInline, 0, uint64_t{1} << 60, 0, ""},
        format::BlobPlace{BlobKind::kPacked, 60, 11, 1, ""},
        format::BlobPlace{BlobKind::kDedicated, 0, uint64_t{1} << 40, 2, ""},
        format::BlobPlace{BlobKind::kDedicated, 0, 1, UINT32_MAX, ""}}) {
    const BlobLocation location = find(place).ValueOrDie();
    const BlobRead read{&location, {place.position, place.size}};
    EXPECT_EQ(CodeOf(ReadBlobBytes(context(), std::span(&read, 1)).status()), ErrorCode::kCorrupt);
    const BlobLocation* const pointer = &location;
    EXPECT_EQ(CodeOf(CheckBlobSizes(context(), std::span(&pointer, 1)).status()),
              ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace lake::table
