#include "lake/table/verify.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <gtest/gtest.h>

#include "lake/table/clone.h"
#include "lake/table/diff.h"
#include "lake/table/refs.h"
#include "lake/table/row_id_sequence.h"
#include "lake/table/testing/table_fixture_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {
namespace {

class VerifyTest : public TableFixture {
 protected:
  void SetUp() override { Create(3000, 1000); }

  VerifyReport Run(VerifyOptions options = {}) {
    Result<VerifyReport> report = Verify(context(), store_, options);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : VerifyReport();
  }

  /// The finding that says `what`.
  static const Finding* Find(const VerifyReport& report, const std::string& what) {
    for (const Finding& finding : report.findings) {
      if (finding.what.find(what) != std::string::npos) return &finding;
    }
    return nullptr;
  }
  void ExpectError(const std::string& what, VerifyOptions options = {}) {
    VerifyReport report = Run(options);
    const Finding* finding = Find(report, what);
    std::string all;
    for (const Finding& other : report.findings) all += other.object + ": " + other.what + "\n";
    ASSERT_NE(finding, nullptr) << what << "\n" << all;
    EXPECT_EQ(finding->severity, Severity::kError) << what;
    EXPECT_FALSE(finding->object.empty());
    EXPECT_FALSE(finding->advice.empty());
  }
  std::string DataKey(size_t fragment) {
    return "data/" + Open()->manifest().fragments()[fragment].files[0].path;
  }
  std::string Bytes(const std::string& key) {
    return store_->GetAll(context(), key, 1 << 30).ValueOrDie()->ToString();
  }
  void Put(const std::string& key, const std::string& bytes) {
    ASSERT_TRUE(store_->Put(context(), key, bytes, storage::PutCondition::kNone).ok());
  }
  void Edit(const std::function<void(pb::Manifest*)>& edit) {
    Foreign([&](pb::Manifest* manifest, pb::Transaction*) { edit(manifest); });
  }
};

TEST_F(VerifyTest, ASoundTableHasNoFinding) {
  Delete(1, {5, 6});
  VerifyOptions options;
  options.read_data = true;
  VerifyReport report = Run(options);
  EXPECT_TRUE(report.findings.empty())
      << report.findings[0].object << ": " << report.findings[0].what;
  EXPECT_EQ(report.versions, 2u);
  EXPECT_EQ(report.data_files, 3u);
  EXPECT_GT(report.rows_read, 0u);
  options.newest_only = true;
  EXPECT_EQ(Run(options).versions, 1u);
}

TEST_F(VerifyTest, MissingShortAndLongDataFiles) {
  const std::string key = DataKey(1);
  const std::string bytes = Bytes(key);
  ASSERT_TRUE(store_->Delete(context(), key).ok());
  ExpectError("data file is missing");
  Put(key, bytes.substr(0, bytes.size() - 1));
  ExpectError("data file is shorter than the manifest says");
  Put(key, bytes + "x");
  ExpectError("data file is longer than the manifest says");
  std::string footer = bytes;
  footer[footer.size() - 1] = 'X';
  Put(key, footer);
  EXPECT_EQ(Run().Count(Severity::kError), 1u);
}

TEST_F(VerifyTest, PagesAreReadWhenAskedFor) {
  const std::string key = DataKey(0);
  std::string bytes = Bytes(key);
  for (size_t i = 0; i < 256; ++i) bytes[i] = static_cast<char>(0xff);
  Put(key, bytes);
  EXPECT_EQ(Run().Count(Severity::kError), 0u);
  VerifyOptions options;
  options.read_data = true;
  VerifyReport report = Run(options);
  EXPECT_GE(report.Count(Severity::kError), 1u);
  EXPECT_NE(report.findings[0].what.find("column \""), std::string::npos);
}

TEST_F(VerifyTest, ManifestsThatContradictTheirFiles) {
  Edit([](pb::Manifest* manifest) { manifest->mutable_fragments(0)->set_physical_rows(7); });
  ExpectError("another number of rows than its fragment");
}

TEST_F(VerifyTest, FragmentIds) {
  Edit([](pb::Manifest* manifest) { manifest->set_max_fragment_id(1); });
  ExpectError("highest fragment id is below");
}

TEST_F(VerifyTest, FieldsAndColumns) {
  Edit([](pb::Manifest* manifest) {
    manifest->mutable_fragments(0)->mutable_files(0)->set_column_indices(1, 9);
  });
  ExpectError("names a column that it does not have");
  Edit([](pb::Manifest* manifest) {
    manifest->mutable_fragments(0)->mutable_files(0)->set_column_indices(1, 1);
    manifest->mutable_fragments(0)->mutable_files(0)->set_fields(0, -2);
  });
  ExpectError("column that is never null lies in no file");
  Edit([](pb::Manifest* manifest) {
    manifest->mutable_fragments(0)->mutable_files(0)->set_fields(0, 1);
  });
  ExpectError("two columns claim one field");
}

TEST_F(VerifyTest, DeletionFiles) {
  Delete(0, {1, 2}, 3);
  ExpectError("another number of rows than the manifest says");
  Delete(0, {5000}, 1);
  EXPECT_GE(Run().Count(Severity::kError), 1u);
  ASSERT_TRUE(store_->Delete(context(), "_deletions/0-1-5.bin").ok());
  EXPECT_GE(Run().Count(Severity::kError), 1u);
}

TEST_F(VerifyTest, UnknownFlags) {
  Edit([](pb::Manifest* manifest) { manifest->set_writer_feature_flags(1ull << 40); });
  VerifyReport report = Run();
  EXPECT_EQ(report.Count(Severity::kWarning), 1u);
  EXPECT_EQ(report.Count(Severity::kError), 0u);
  Edit([](pb::Manifest* manifest) { manifest->set_reader_feature_flags(1ull << 40); });
  EXPECT_EQ(Run().Count(Severity::kError), 1u);
}

TEST_F(VerifyTest, RowIdsThatAreGivenTwice) {
  Edit([](pb::Manifest* manifest) {
    manifest->set_reader_feature_flags(kFlagStableRowIds);
    manifest->set_writer_feature_flags(kFlagStableRowIds);
    manifest->set_next_row_id(2500);
    for (pb::DataFragment& fragment : *manifest->mutable_fragments()) {
      RowIdSequence ids;
      ids.Append(fragment.id() == 2 ? 1500 : fragment.id() * 1000, 1000);
      fragment.set_inline_row_ids(ids.Encode());
    }
  });
  ExpectError("row id is given twice");
  Edit([](pb::Manifest* manifest) { manifest->set_next_row_id(10); });
  ExpectError("row id is not below the next one to give");
  Edit([](pb::Manifest* manifest) {
    RowIdSequence ids;
    ids.Append(0, 3);
    manifest->mutable_fragments(0)->set_inline_row_ids(ids.Encode());
  });
  ExpectError("another number of row ids than rows");
}

TEST_F(VerifyTest, Indices) {
  pb::IndexMetadata index;
  index.mutable_uuid()->set_uuid(std::string(16, 'u'));
  index.set_name("by id");
  index.add_fields(77);
  const uint32_t covered[] = {0, 99};
  index.set_fragment_bitmap(DeletionVector::FromSortedRows(covered).ToBitmap());
  pb::IndexFile* file = index.add_files();
  file->set_path("page.lance");
  file->set_size(10);
  pb::Manifest message = FileOf(Open()->manifest()).message();
  pb::IndexSection section;
  *section.add_indices() = index;
  *section.add_indices() = index;
  message.set_version(2);
  const std::string bytes =
      EncodeManifest(message, section.SerializeAsString(), std::string()).ValueOrDie();
  ASSERT_TRUE(PutManifest(context(), store_.get(), 2, bytes).ok());
  ExpectError("two indices have one id");
  ExpectError("it is on a column that is gone");
  ExpectError("it covers a fragment that never was");
  ExpectError("its files are missing");
  Put("_indices/75757575-7575-7575-7575-757575757575/page.lance", "short");
  ExpectError("a file of it has another size");
}

TEST_F(VerifyTest, TagsAndBranches) {
  ASSERT_TRUE(CreateTag(context(), store_, "t", {{}, 1}).ok());
  ASSERT_TRUE(CreateBranch(context(), *Open(), "b", store_->description()).ok());
  EXPECT_TRUE(Run().findings.empty());
  EXPECT_EQ(Run().versions, 2u);
  Edit([](pb::Manifest*) {});
  ASSERT_TRUE(store_->Delete(context(), ManifestKey(1, ManifestNaming::kV2)).ok());
  VerifyReport report = Run();
  ASSERT_NE(Find(report, "names a version that is not there"), nullptr);
  ASSERT_NE(Find(report, "version where it begins is not there"), nullptr);
  ASSERT_TRUE(store_->Delete(context(), "_refs/branches/b.json").ok());
  EXPECT_NE(Find(Run(), "no branch has this name"), nullptr);
  Put("_refs/branches/c.json", R"({"parentVersion": 2})");
  ExpectError("it has no version");
  Put("_refs/tags/t.json", "{");
  ExpectError("reference of a table cannot be read");
}

TEST_F(VerifyTest, LeftoversAndForeignFiles) {
  Put("data/left.lance", "x");
  Put("something.txt", "x");
  VerifyReport report = Run();
  EXPECT_EQ(report.Count(Severity::kInfo), 2u);
  ASSERT_NE(Find(report, "leftover: no version names this data file"), nullptr);
  ASSERT_NE(Find(report, "lake does not know what this file is"), nullptr);
}

TEST_F(VerifyTest, ADamagedManifestIsAFindingAndLeftoversAreNotGuessed) {
  Edit([](pb::Manifest*) {});
  Put(ManifestKey(1, ManifestNaming::kV2), "damaged");
  Put("data/left.lance", "x");
  VerifyReport report = Run();
  EXPECT_EQ(report.Count(Severity::kError), 1u);
  EXPECT_NE(Find(report, "leftovers are not looked for"), nullptr);
  EXPECT_EQ(Find(report, "leftover: no version"), nullptr);
}

using DiffTest = VerifyTest;

TEST_F(DiffTest, TellsRowsFragmentsColumnsAndMetadata) {
  Delete(1, {5, 6});
  std::shared_ptr<Dataset> first =
      Open({.version = 1, .as_of_nanos = {}, .tag = {}, .branch = {}, .open_base = {}});
  VersionDiff deleted = Diff(context(), *first, *Open()).ValueOrDie();
  EXPECT_EQ(deleted.rows_removed, 2u);
  ASSERT_EQ(deleted.fragments_changed.size(), 1u);
  EXPECT_EQ(deleted.fragments_changed[0].id, 1u);
  EXPECT_FALSE(deleted.fragments_changed[0].files_changed);
  ASSERT_EQ(deleted.commits.size(), 1u);
  EXPECT_EQ(deleted.bytes_added, 0u);

  Edit([](pb::Manifest* manifest) {
    manifest->mutable_fields(1)->set_name("title");
    manifest->mutable_fragments()->DeleteSubrange(0, 1);
    (*manifest->mutable_config())["k"] = "v";
  });
  VersionDiff more = Diff(context(), *first, *Open()).ValueOrDie();
  EXPECT_EQ(more.fragments_removed, std::vector<uint64_t>({0}));
  EXPECT_EQ(more.rows_before, 3000u);
  EXPECT_EQ(more.rows_after, 1998u);
  ASSERT_EQ(more.columns.size(), 1u);
  EXPECT_EQ(more.columns[0].after, "title string");
  ASSERT_EQ(more.config.size(), 1u);
  EXPECT_EQ(more.config[0].after, "v");
  EXPECT_GT(more.bytes_removed, 0u);
  VersionDiff back = Diff(context(), *Open(), *first).ValueOrDie();
  EXPECT_TRUE(back.commits.empty());
  EXPECT_EQ(back.rows_added, 1002u);
  EXPECT_TRUE(Diff(context(), *first, *first).ValueOrDie().empty());
}

}  // namespace
}  // namespace lake::table
