#include "lake/service/file_import.h"

#include <filesystem>
#include <fstream>
#include <map>

#include <arrow/api.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/base/testing/test_folder.h"
#include "lake/objects/data_location.h"
#include "lake/service/file_verify.h"

namespace lake::service {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<arrow::Schema> FilesSchema() {
  return arrow::schema({arrow::field("path", arrow::utf8()), arrow::field("kind", arrow::utf8()),
                        arrow::field("size", arrow::int64()),
                        arrow::field("modified", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")),
                        arrow::field("content", objects::DataLocationType()),
                        arrow::field("note", arrow::fixed_size_list(arrow::float32(), 3))});
}

class FileImportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    lakehouse_ = commit::Lakehouse::Open(context_, {.data_dir = folder_ / "data"}).ValueOrDie();
    fs::create_directories(Folder());
    request_.table = {.name_space = "main", .name = "files"};
    request_.folder = Folder();
    request_.problem = [this](const std::string& path, const Status& reason) {
      problems_[path] = ErrorText(reason);
    };
  }

  std::string Folder() const { return folder_ / "in put"; }

  void Write(const std::string& path, const std::string& bytes) {
    fs::path target = fs::path(Folder()) / path;
    fs::create_directories(target.parent_path());
    std::ofstream(target, std::ios::binary | std::ios::trunc) << bytes;
  }

  void SetModified(const std::string& path, int64_t seconds, int64_t nanos) {
    timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                         {.tv_sec = seconds, .tv_nsec = nanos}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (fs::path(Folder()) / path).c_str(), times, 0), 0);
  }

  void CreateTable(const arrow::Schema& schema) {
    auto write = lakehouse_->Create(context_, {}, request_.table, schema, {}, {}).ValueOrDie();
    ASSERT_TRUE(write->Commit(context_).ok());
  }

  Result<FileImportResult> Import() {
    problems_.clear();
    return ImportFiles(context_, lakehouse_.get(), {}, request_);
  }

  std::shared_ptr<const commit::OpenTable> Open() {
    return lakehouse_->OpenByName(context_, {}, request_.table, catalog::NameMatch::kExact)
        .ValueOrDie();
  }

  std::shared_ptr<arrow::Table> Rows() {
    auto scanner = Open()->dataset->Scan(context_, {}).ValueOrDie();
    arrow::RecordBatchVector batches;
    for (size_t i = 0; i < scanner->num_morsels(); ++i) {
      batches.push_back(scanner->Read(context_, i).ValueOrDie());
    }
    return arrow::Table::FromRecordBatches(scanner->schema(), batches)
        .ValueOrDie()
        ->CombineChunks()
        .ValueOrDie();
  }

  std::vector<std::string> Column(const std::string& name) {
    std::vector<std::string> values;
    auto column = Rows()->GetColumnByName(name);
    for (int64_t i = 0; i < column->length(); ++i) {
      values.push_back(column->GetScalar(i).ValueOrDie()->ToString());
    }
    return values;
  }

  size_t NumObjects() {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_ / "data/managed-objects/tenants/default"),
                      fs::directory_iterator()));
  }

  Context context_;
  TestFolder folder_;
  std::shared_ptr<commit::Lakehouse> lakehouse_;
  FileImportRequest request_;
  std::map<std::string, std::string> problems_;
};

// CLI-08
TEST_F(FileImportTest, ColumnsAreFilledByName) {
  CreateTable(*FilesSchema());
  Write("b/clip.MP4", std::string(1000, 'v'));
  Write("b/ünï.txt", "text");
  Write("a", "");
  SetModified("b/clip.MP4", 1'700'000'000, 123'456'789);
  SetModified("a", -1, 999'999'999);
  FileImportResult result = Import().ValueOrDie();
  EXPECT_EQ(result.files_imported, 3u);
  EXPECT_EQ(result.bytes_imported, 1004u);
  EXPECT_EQ(result.problems, 0u);
  EXPECT_EQ(result.commits, 1u);
  EXPECT_EQ(result.version, 2u);
  EXPECT_THAT(Column("path"), ElementsAre("a", "b/clip.MP4", "b/ünï.txt"));
  EXPECT_THAT(Column("kind"), ElementsAre("application", "video", "text"));
  EXPECT_THAT(Column("size"), ElementsAre("0", "1000", "4"));
  auto modified = Rows()->GetColumnByName("modified")->chunk(0);
  const auto& times = static_cast<const arrow::TimestampArray&>(*modified);
  EXPECT_EQ(times.Value(0), -1);
  EXPECT_EQ(times.Value(1), 1'700'000'000'123'456);
  EXPECT_EQ(Rows()->GetColumnByName("note")->null_count(), 3);

  auto content = Rows()->GetColumnByName("content")->chunk(0);
  objects::DataLocation location =
      objects::ReadDataLocation(static_cast<const arrow::StructArray&>(*content), 1).ValueOrDie();
  EXPECT_EQ(location.content_type, "video/mp4");
  EXPECT_EQ(location.size_bytes, 1000u);
  auto stage = lakehouse_->StageFor(context_, {}).ValueOrDie();
  FileVerifyResult verified = VerifyFiles(context_, stage.get(), *Open(), {}).ValueOrDie();
  EXPECT_EQ(verified.values, 3u);
  EXPECT_EQ(verified.bytes, 1004u);
  EXPECT_EQ(verified.failures, 0u);
}

// CLI-09: a rerun skips what is there; a file whose size or time changed is imported again.
TEST_F(FileImportTest, ARerunSkipsWhatIsThere) {
  CreateTable(*FilesSchema());
  for (int i = 0; i < 20; ++i) {
    Write(fmt::format("f{:02}", i), std::string(static_cast<size_t>(i), 'x'));
  }
  EXPECT_EQ(Import().ValueOrDie().files_imported, 20u);
  FileImportResult again = Import().ValueOrDie();
  EXPECT_EQ(again.files_imported, 0u);
  EXPECT_EQ(again.files_unchanged, 20u);
  EXPECT_EQ(again.commits, 0u);
  EXPECT_EQ(again.version, 0u);
  EXPECT_EQ(NumObjects(), 20u);

  SetModified("f03", 5, 0);
  Write("f04", "another size");
  Write("f20", "new");
  FileImportResult third = Import().ValueOrDie();
  EXPECT_EQ(third.files_imported, 3u);
  EXPECT_EQ(third.files_unchanged, 18u);
  EXPECT_EQ(Rows()->num_rows(), 23);
}

// Each of the three limits of a commit.
TEST_F(FileImportTest, CommitsComeInPieces) {
  CreateTable(*FilesSchema());
  for (int i = 0; i < 25; ++i) Write(fmt::format("f{:02}", i), std::string(100, 'x'));
  request_.commit_files = 10;
  FileImportResult result = Import().ValueOrDie();
  EXPECT_EQ(result.commits, 3u);
  EXPECT_EQ(result.files_imported, 25u);
  std::vector<table::VersionInfo> versions = Open()->dataset->Versions(context_).ValueOrDie();
  ASSERT_EQ(versions.size(), 4u);
  EXPECT_EQ(versions[1].num_rows, 10u);
  EXPECT_EQ(versions[2].num_rows, 20u);
}

TEST_F(FileImportTest, BytesLimitACommit) {
  CreateTable(*FilesSchema());
  for (int i = 0; i < 24; ++i) Write(fmt::format("f{:02}", i), std::string(1000, 'x'));
  request_.commit_bytes = 8000;
  EXPECT_EQ(Import().ValueOrDie().commits, 3u);
}

TEST_F(FileImportTest, TimeLimitsACommit) {
  FakeClock clock;
  context_.clock = &clock;
  CreateTable(*FilesSchema());
  for (int i = 0; i < 24; ++i) Write(fmt::format("f{:02}", i), "x");
  request_.commit_nanos = 1000;
  request_.progress = [&](const FileImportProgress& progress) {
    if (progress.files_done == 0) clock.Advance(std::chrono::nanoseconds(1000));
  };
  EXPECT_EQ(Import().ValueOrDie().commits, 2u);
}

TEST_F(FileImportTest, WhatCannotBeImportedIsReportedAndTheRestGoesOn) {
  CreateTable(*FilesSchema());
  Write("good", "x");
  Write("z/also good", "y");
  fs::create_symlink("/etc/hostname", fs::path(Folder()) / "link");
  fs::create_directory_symlink("/etc", fs::path(Folder()) / "linked");
  ASSERT_EQ(::mkfifo((fs::path(Folder()) / "fifo").c_str(), 0600), 0);
  Write("bad\xFF", "x");
  FileImportResult result = Import().ValueOrDie();
  EXPECT_EQ(result.files_imported, 2u);
  EXPECT_EQ(result.problems, 4u);
  EXPECT_EQ(problems_.size(), 4u);
  EXPECT_THAT(problems_["bad\\xFF"], HasSubstr("not UTF-8"));
  EXPECT_THAT(Column("path"), ElementsAre("good", "z/also good"));
}

TEST_F(FileImportTest, AFileThatChangesIsThatFilesProblem) {
  CreateTable(*FilesSchema());
  Write("a", "x");
  Write("growing", std::string(3'000'000, 'x'));
  Write("z", "x");
  bool grown = false;
  request_.progress = [&](const FileImportProgress& progress) {
    if (grown || progress.bytes_done < 1'000'000) return;
    grown = true;
    std::ofstream(fs::path(Folder()) / "growing", std::ios::app) << "more";
  };
  FileImportResult result = Import().ValueOrDie();
  EXPECT_EQ(result.files_imported, 2u);
  EXPECT_EQ(result.problems, 1u);
  EXPECT_THAT(problems_["growing"], HasSubstr("changed while it was read"));
  EXPECT_THAT(Column("path"), ElementsAre("a", "z"));
  EXPECT_EQ(NumObjects(), 2u);
  // The next run takes it.
  request_.progress = {};
  EXPECT_EQ(Import().ValueOrDie().files_imported, 1u);
}

TEST_F(FileImportTest, AFolderAroundOrInTheDataFolderIsRefused) {
  CreateTable(*FilesSchema());
  fs::create_directory_symlink(folder_ / "data", folder_ / "alias");
  for (const std::string& folder :
       {folder_.path(), std::string("/"), folder_ / "data", folder_ / "data/managed-objects",
        folder_ / "alias", folder_ / "alias/managed-objects"}) {
    request_.folder = folder;
    Status status = Import().status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument) << folder << status.ToString();
    EXPECT_THAT(status.ToString(), HasSubstr("data folder"));
  }
  EXPECT_EQ(NumObjects(), 0u);
  // A neighbour whose name begins the same is fine.
  fs::create_directories(folder_ / "data2");
  request_.folder = folder_ / "data2";
  EXPECT_TRUE(Import().ok());
}

TEST_F(FileImportTest, MissingThingsAreNamed) {
  EXPECT_EQ(CodeOf(Import().status()), ErrorCode::kNotFound);
  CreateTable(*FilesSchema());
  request_.folder = folder_ / "missing";
  EXPECT_EQ(CodeOf(Import().status()), ErrorCode::kNotFound);
}

TEST_F(FileImportTest, ColumnsThatCannotBeFilledAreNamed) {
  struct Case {
    std::shared_ptr<arrow::Field> field;
    const char* text;
  };
  const Case cases[] = {
      {arrow::field("path", arrow::int64()), "column 'path' of type VARCHAR"},
      {arrow::field("kind", arrow::binary()), "column 'kind' of type VARCHAR"},
      {arrow::field("size", arrow::int32()), "column 'size' of type BIGINT"},
      {arrow::field("modified", arrow::timestamp(arrow::TimeUnit::SECOND)), "column 'modified'"},
      {arrow::field("content", arrow::utf8()), "column 'content' of type FILE"},
      {arrow::field("other", arrow::int32(), false), "must be nullable"},
      {arrow::field("Path", arrow::utf8()), "none of the columns"},
  };
  int i = 0;
  Write("file", "x");
  for (const Case& c : cases) {
    request_.table.name = fmt::format("t{}", i++);
    CreateTable(*arrow::schema({c.field}));
    Status status = Import().status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.ToString(), HasSubstr(c.text));
  }
  EXPECT_EQ(NumObjects(), 0u);
}

// Columns that the table lacks are skipped; without `content` nothing is uploaded.
TEST_F(FileImportTest, FewerColumnsDo) {
  Write("a.txt", "abc");
  CreateTable(*arrow::schema({arrow::field("content", objects::DataLocationType(), false)}));
  EXPECT_EQ(Import().ValueOrDie().files_imported, 1u);
  EXPECT_EQ(NumObjects(), 1u);

  request_.table.name = "names";
  CreateTable(
      *arrow::schema({arrow::field("path", arrow::large_utf8(), false),
                      arrow::field("kind", arrow::utf8()), arrow::field("size", arrow::uint64())}));
  EXPECT_EQ(Import().ValueOrDie().files_imported, 1u);
  EXPECT_EQ(Import().ValueOrDie().files_unchanged, 1u);
  EXPECT_EQ(NumObjects(), 1u);
  EXPECT_THAT(Column("size"), ElementsAre("3"));
}

TEST_F(FileImportTest, CancellingKeepsWhatWasCommitted) {
  CreateTable(*FilesSchema());
  for (int i = 0; i < 40; ++i) Write(fmt::format("f{:02}", i), "x");
  request_.commit_files = 8;
  request_.progress = [&](const FileImportProgress& progress) {
    if (progress.files_done >= 20) context_.cancel.Cancel();
  };
  EXPECT_EQ(CodeOf(Import().status()), ErrorCode::kCancelled);
  context_.cancel = CancelToken();
  request_.progress = {};
  int64_t committed = Rows()->num_rows();
  EXPECT_GE(committed, 16);
  EXPECT_LT(committed, 40);
  FileImportResult rest = Import().ValueOrDie();
  EXPECT_EQ(rest.files_imported + rest.files_unchanged, 40u);
  EXPECT_EQ(Rows()->num_rows(), 40);
}

TEST_F(FileImportTest, ProgressReachesItsTotals) {
  CreateTable(*FilesSchema());
  Write("a", std::string(5000, 'x'));
  Write("b/c", std::string(7000, 'y'));
  FileImportProgress last;
  request_.progress = [&](const FileImportProgress& progress) {
    EXPECT_GE(progress.bytes_done, last.bytes_done);
    last = progress;
  };
  ASSERT_TRUE(Import().ok());
  EXPECT_EQ(last.files_done, 2u);
  EXPECT_EQ(last.files_total, 2u);
  EXPECT_EQ(last.bytes_done, 12'000u);
  EXPECT_EQ(last.bytes_total, 12'000u);
}

// CLI: file verify
TEST_F(FileImportTest, VerificationReportsEachDamagedFile) {
  CreateTable(*FilesSchema());
  for (int i = 0; i < 5; ++i)
    Write(fmt::format("f{}", i), std::string(1000, static_cast<char>('a' + i)));
  ASSERT_TRUE(Import().ok());
  auto content = Rows()->GetColumnByName("content")->chunk(0);
  auto damage = [&](int64_t row, const std::function<void(const fs::path&)>& change) {
    std::string uri =
        objects::ReadDataLocation(static_cast<const arrow::StructArray&>(*content), row)
            .ValueOrDie()
            .uri;
    fs::path path =
        fs::path(folder_ / "data/managed-objects/tenants/default") / fs::path(uri).filename();
    fs::permissions(path, fs::perms::owner_all);
    change(path);
  };
  damage(1, [](const fs::path& path) { fs::remove(path); });
  damage(3, [](const fs::path& path) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << std::string(1000, 'z');
  });
  auto stage = lakehouse_->StageFor(context_, {}).ValueOrDie();
  FileVerifyOptions options;
  std::vector<FileVerifyFailure> failures;
  options.failure = [&](const FileVerifyFailure& failure) { failures.push_back(failure); };
  FileVerifyProgress last;
  options.progress = [&](const FileVerifyProgress& progress) { last = progress; };
  FileVerifyResult result = VerifyFiles(context_, stage.get(), *Open(), options).ValueOrDie();
  EXPECT_EQ(result.values, 5u);
  EXPECT_EQ(result.failures, 2u);
  EXPECT_EQ(result.bytes, 3000u);
  EXPECT_EQ(last.values_done, 5u);
  EXPECT_EQ(last.values_total, 5u);
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].column, "content");
  EXPECT_EQ(failures[0].row_address, 1u);
  EXPECT_EQ(CodeOf(failures[0].reason), ErrorCode::kNotFound);
  EXPECT_EQ(failures[1].row_address, 3u);
  EXPECT_EQ(CodeOf(failures[1].reason), ErrorCode::kIntegrity);
}

TEST_F(FileImportTest, VerificationWantsAFileColumn) {
  CreateTable(*arrow::schema({arrow::field("n", arrow::int32())}));
  auto stage = lakehouse_->StageFor(context_, {}).ValueOrDie();
  EXPECT_EQ(CodeOf(VerifyFiles(context_, stage.get(), *Open(), {}).status()),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace lake::service
