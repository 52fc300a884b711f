#include "lake/objects/local_stage.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/base/testing/fake_random.h"
#include "lake/objects/sha256.h"
#include "lake/objects/testing/faulty_posix_calls.h"

namespace lake::objects {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Digest(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

std::string RandomBytes(size_t size, uint64_t seed) {
  FakeRandom random(seed);
  std::string bytes(size, '\0');
  random.Fill({reinterpret_cast<uint8_t*>(bytes.data()), size});
  return bytes;
}

// Hands out `bytes`, at most `step` at a time, then `end`; runs `before_read` with the number of
// the read.
class StringSource : public ByteReader {
 public:
  explicit StringSource(std::string bytes, size_t step = SIZE_MAX)
      : bytes_(std::move(bytes)), step_(step) {}

  Result<size_t> Read(std::span<uint8_t> out) override {
    if (before_read) before_read(num_reads_);
    ++num_reads_;
    size_t count = std::min({out.size(), bytes_.size() - position_, step_});
    if (count == 0) {
      ARROW_RETURN_NOT_OK(end);
      return count;
    }
    std::copy_n(bytes_.data() + position_, count, out.data());
    position_ += count;
    return count;
  }

  int num_reads() const { return num_reads_; }

  Status end;
  std::function<void(int)> before_read;

 private:
  const std::string bytes_;
  const size_t step_;
  size_t position_ = 0;
  int num_reads_ = 0;
};

Result<std::string> ReadAll(ByteReader* reader, size_t step = 1000) {
  std::string all;
  std::vector<uint8_t> block(step);
  while (true) {
    ARROW_ASSIGN_OR_RAISE(size_t count, reader->Read(block));
    if (count == 0) return all;
    all.append(block.begin(), block.begin() + static_cast<ptrdiff_t>(count));
  }
}

std::vector<std::string> Names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

class LocalStageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "lake-stage-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    fs::create_directories(folder_ / "tmp");
    stage_ = OpenStage("default").ValueOrDie();
  }

  void TearDown() override {
    stage_.reset();
    fs::remove_all(folder_);
  }

  LocalStageOptions Options(const std::string& tenant) const {
    return {.root = folder_ / "managed-objects",
            .stage_uri = "file:///srv/lake/managed-objects",
            .tenant = tenant,
            .temp_dir = folder_ / "tmp"};
  }

  Result<std::shared_ptr<LocalStage>> OpenStage(const std::string& tenant) {
    return LocalStage::Open(context_, Options(tenant), &calls_);
  }

  fs::path TenantFolder() const { return folder_ / "managed-objects/tenants/default"; }
  fs::path PathOf(const DataLocation& location) const {
    return TenantFolder() / fs::path(location.uri).filename();
  }

  DataLocation Put(const std::string& bytes) {
    StringSource source(bytes);
    return stage_->Upload(context_, &source, {}).ValueOrDie();
  }

  // Writes through the object's read-only mode, as damage would.
  void Overwrite(const DataLocation& location, const std::string& bytes) {
    fs::permissions(PathOf(location), fs::perms::owner_all);
    std::ofstream(PathOf(location), std::ios::binary | std::ios::trunc) << bytes;
  }

  void ExpectNothingLeft() {
    EXPECT_THAT(Names(folder_ / "tmp"), ::testing::IsEmpty());
    EXPECT_THAT(Names(TenantFolder()), ::testing::IsEmpty());
  }

  Context context_;
  fs::path folder_;
  FaultyPosixCalls calls_;
  std::shared_ptr<LocalStage> stage_;
};

// UL-01, MO-01, MO-05, MO-10
TEST_F(LocalStageTest, UploadPublishesACompleteReadOnlyObject) {
  for (size_t size :
       {size_t{0}, size_t{1}, size_t{1 << 20}, size_t{(1 << 20) + 1}, size_t{5'000'000}}) {
    std::string bytes = RandomBytes(size, size);
    StringSource source(bytes, 70'001);
    uint64_t progressed = 0;
    DataLocation location = stage_
                                ->Upload(context_, &source,
                                         {.content_type = "video/mp4",
                                          .progress = [&](uint64_t count) { progressed += count; }})
                                .ValueOrDie();
    EXPECT_EQ(location.content_type, "video/mp4");
    EXPECT_EQ(location.size_bytes, size);
    EXPECT_EQ(location.sha256, Digest(bytes));
    EXPECT_EQ(progressed, size);
    EXPECT_THAT(location.uri,
                ::testing::StartsWith("file:///srv/lake/managed-objects/tenants/default/"));
    struct stat state;
    ASSERT_EQ(::lstat(PathOf(location).c_str(), &state), 0);
    EXPECT_TRUE(S_ISREG(state.st_mode));
    EXPECT_EQ(state.st_mode & 07777, 0400u);
    EXPECT_EQ(state.st_nlink, 1u);
    EXPECT_EQ(static_cast<size_t>(state.st_size), size);
    EXPECT_TRUE(stage_->CheckExists(context_, location).ok());
    auto reader = stage_->Open(context_, location).ValueOrDie();
    EXPECT_EQ(ReadAll(reader.get()).ValueOrDie(), bytes);
  }
  EXPECT_THAT(Names(folder_ / "tmp"), ::testing::IsEmpty());
}

// UL-01: the file is synced before it gets its name, both folders after.
TEST_F(LocalStageTest, UploadSyncsFileThenFolders) {
  std::vector<std::string> order;
  calls_.Before(PosixCall::kSyncFile, 0, [&] { order.push_back("file"); });
  calls_.Before(PosixCall::kRename, 0, [&] { order.push_back("name"); });
  calls_.Before(PosixCall::kSyncFolder, 0, [&] { order.push_back("folder"); });
  calls_.Before(PosixCall::kSyncFolder, 1, [&] { order.push_back("folder"); });
  Put("x");
  EXPECT_THAT(order, ::testing::ElementsAre("file", "name", "folder", "folder"));
}

TEST_F(LocalStageTest, ModesAreNarrowedByUmask) {
  mode_t before = ::umask(0477);
  StringSource source("x");
  DataLocation location = stage_->Upload(context_, &source, {}).ValueOrDie();
  ::umask(before);
  struct stat state;
  ASSERT_EQ(::lstat(PathOf(location).c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 07777, 0u);
}

TEST_F(LocalStageTest, FoldersAreMadePrivate) {
  struct stat state;
  ASSERT_EQ(::stat(TenantFolder().c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 07777 & 077, 0u);
}

// UL-01: each system call of an upload fails in turn, with and without effect; the upload fails and
// leaves nothing, or (a temporary that could not be removed) succeeds.
TEST_F(LocalStageTest, EveryFailingCallLeavesNothing) {
  std::string bytes = RandomBytes(3'000'000, 1);
  fs::path file = folder_ / "source";
  std::ofstream(file, std::ios::binary) << bytes;
  int swept = 0;
  for (bool by_link : {false, true}) {
    for (FaultKind kind : {FaultKind::kError, FaultKind::kEffectThenError}) {
      for (int skip = 0;; ++skip) {
        FaultyPosixCalls calls;
        auto stage = LocalStage::Open(context_, Options("default"), &calls).ValueOrDie();
        if (by_link) calls.FailAlways(PosixCall::kRename, EINVAL);
        calls.ResetCounts();
        calls.FailAny(skip, EIO, kind);
        Result<DataLocation> location = stage->UploadFile(context_, file, {});
        if (calls.total() <= static_cast<uint64_t>(skip)) {
          ASSERT_TRUE(location.ok());
          fs::remove(PathOf(*location));
          break;
        }
        ++swept;
        PosixCall failed = calls.last_failed().value();
        SCOPED_TRACE(fmt::format("call {} of kind {}, link {}, effect {}", skip,
                                 static_cast<int>(failed), by_link,
                                 kind == FaultKind::kEffectThenError));
        if (location.ok()) {
          // Only removing the temporary's name behind a link may fail unnoticed: the sweeper takes
          // it.
          EXPECT_EQ(failed, PosixCall::kUnlink);
          EXPECT_TRUE(stage->CheckExists(context_, *location).ok());
          fs::remove(PathOf(*location));
          for (const auto& name : Names(folder_ / "tmp")) fs::remove(folder_ / "tmp" / name);
        } else if (failed == PosixCall::kOpenAt && kind == FaultKind::kEffectThenError) {
          // A file that was created although the call failed is the sweeper's.
          for (const auto& name : Names(folder_ / "tmp")) fs::remove(folder_ / "tmp" / name);
        }
        ExpectNothingLeft();
      }
    }
  }
  RecordProperty("calls_swept", swept);
  EXPECT_GT(swept, 60);
}

// UL-04, each of the two folders.
TEST_F(LocalStageTest, AFolderThatCannotBeSyncedTakesTheObjectBack) {
  for (int folder : {0, 1}) {
    calls_.Fail(PosixCall::kSyncFolder, folder, EIO);
    StringSource source("x");
    Status status = stage_->Upload(context_, &source, {}).status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kIo);
    EXPECT_THAT(status.ToString(), HasSubstr("cannot sync the folder"));
    ExpectNothingLeft();
  }
}

TEST_F(LocalStageTest, AFullDiskIsNamed) {
  for (PosixCall call : {PosixCall::kWrite, PosixCall::kSyncFile}) {
    calls_.Fail(call, 0, ENOSPC);
    StringSource source("x");
    EXPECT_EQ(CodeOf(stage_->Upload(context_, &source, {}).status()), ErrorCode::kOutOfSpace);
    ExpectNothingLeft();
  }
}

TEST_F(LocalStageTest, ShortReadsAndWritesAreCompleted) {
  calls_.set_max_transfer(777);
  calls_.Fail(PosixCall::kWrite, 3, EINTR);
  calls_.Fail(PosixCall::kPRead, 3, EINTR);
  std::string bytes = RandomBytes(10'000, 2);
  DataLocation location = Put(bytes);
  auto reader = stage_->Open(context_, location).ValueOrDie();
  EXPECT_EQ(ReadAll(reader.get()).ValueOrDie(), bytes);
}

// UL-01: nothing is ever replaced, also where the file system knows no renameat2.
TEST_F(LocalStageTest, AnObjectIsNeverReplaced) {
  for (bool by_link : {false, true}) {
    FaultyPosixCalls calls;
    if (by_link) calls.FailAlways(PosixCall::kRename, EINVAL);
    auto stage = LocalStage::Open(context_, Options("default"), &calls).ValueOrDie();
    StringSource source("mine");
    DataLocation location = stage->Upload(context_, &source, {}).ValueOrDie();
    fs::path taken = PathOf(location);
    OpenFolder to{.fd = UniqueFd(::open(TenantFolder().c_str(), O_DIRECTORY)),
                  .path = TenantFolder()};
    OpenFolder from{.fd = UniqueFd(::open((folder_ / "tmp").c_str(), O_DIRECTORY)),
                    .path = folder_ / "tmp"};
    {
      auto object = UnpublishedObject::Create(context_, &calls, &from).ValueOrDie();
      Status status = object->Publish(to, taken.filename());
      EXPECT_EQ(CodeOf(status), ErrorCode::kAlreadyExists) << status.ToString();
      EXPECT_TRUE(object->Publish(to, "another").ok());
    }
    EXPECT_EQ(fs::file_size(taken), 4u);
    EXPECT_TRUE(fs::exists(TenantFolder() / "another"));
    fs::remove(TenantFolder() / "another");
    EXPECT_THAT(Names(folder_ / "tmp"), ::testing::IsEmpty());
  }
}

// UL-02, I-01, I-02: cancelled before any read, nothing stays.
TEST_F(LocalStageTest, CancellationAtAnyPointLeavesNothing) {
  std::string bytes = RandomBytes(3'000'000, 3);
  StringSource counted(bytes, 300'000);
  ASSERT_TRUE(stage_->Upload(context_, &counted, {}).ok());
  for (const auto& name : Names(TenantFolder())) fs::remove(TenantFolder() / name);
  ASSERT_GT(counted.num_reads(), 8);
  for (int cancel_at = 0; cancel_at < counted.num_reads(); ++cancel_at) {
    Context context;
    StringSource source(bytes, 300'000);
    source.before_read = [&](int read) {
      if (read == cancel_at) context.cancel.Cancel();
    };
    Status status = stage_->Upload(context, &source, {}).status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kCancelled) << cancel_at;
    EXPECT_LE(source.num_reads(), cancel_at + 1);
    ExpectNothingLeft();
  }
}

// UL-02: the temporary is closed and removed while its object is still unpublished.
TEST_F(LocalStageTest, ADroppedUploadRemovesItsTemporary) {
  OpenFolder folder{.fd = UniqueFd(::open((folder_ / "tmp").c_str(), O_DIRECTORY)),
                    .path = folder_ / "tmp"};
  {
    auto object = UnpublishedObject::Create(context_, &calls_, &folder).ValueOrDie();
    ASSERT_TRUE(object->Write(std::vector<uint8_t>(10)).ok());
    EXPECT_EQ(Names(folder_ / "tmp").size(), 1u);
  }
  EXPECT_THAT(Names(folder_ / "tmp"), ::testing::IsEmpty());
}

// UL-03: dropping the upload's handle after publication does not touch the object.
TEST_F(LocalStageTest, APublishedObjectIsNeverCleanedUp) {
  OpenFolder to{.fd = UniqueFd(::open(TenantFolder().c_str(), O_DIRECTORY)),
                .path = TenantFolder()};
  OpenFolder from{.fd = UniqueFd(::open((folder_ / "tmp").c_str(), O_DIRECTORY)),
                  .path = folder_ / "tmp"};
  {
    auto object = UnpublishedObject::Create(context_, &calls_, &from).ValueOrDie();
    ASSERT_TRUE(object->Publish(to, "published").ok());
    calls_.ResetCounts();
  }
  EXPECT_EQ(calls_.count(PosixCall::kUnlink), 0u);
  EXPECT_THAT(Names(TenantFolder()), ::testing::ElementsAre("published"));
}

TEST_F(LocalStageTest, AFailingSourceLeavesNothing) {
  StringSource source(RandomBytes(2'500'000, 4));
  source.end = Error(ErrorCode::kIo, "the camera is unplugged");
  Status status = stage_->Upload(context_, &source, {}).status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kIo);
  EXPECT_THAT(status.ToString(), HasSubstr("unplugged"));
  ExpectNothingLeft();
}

TEST_F(LocalStageTest, AWrongContentTypeIsRefusedBeforeAnyCall) {
  calls_.ResetCounts();
  StringSource source("x");
  Status status = stage_->Upload(context_, &source, {.content_type = "nonsense"}).status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
  EXPECT_EQ(calls_.total(), 0u);
  EXPECT_EQ(source.num_reads(), 0);
}

// I-05: an upload holds its two blocks and no more, and says so to the budget.
TEST_F(LocalStageTest, MemoryOfAnUploadIsBounded) {
  Context context;
  context.memory = MemoryBudget::Make(4 << 20);
  StringSource source(RandomBytes(20'000'000, 5));
  EXPECT_TRUE(stage_->Upload(context, &source, {}).ok());
  EXPECT_LE(context.memory->peak(), 2 << 20);
  EXPECT_EQ(context.memory->used(), 0);
  context.memory = MemoryBudget::Make(1000);
  StringSource again("x");
  EXPECT_EQ(CodeOf(stage_->Upload(context, &again, {}).status()), ErrorCode::kOutOfMemory);
}

// UL-05, MO-11
TEST_F(LocalStageTest, WhatALocalStageCannotDoIsRefusedByName) {
  EXPECT_EQ(CodeOf(stage_->CancelUpload(context_, "x")), ErrorCode::kUnsupported);
  EXPECT_EQ(CodeOf(stage_->PresignRead(context_, Put("x")).status()), ErrorCode::kUnsupported);
}

// UL-05: a path is uploaded by the reader's way.
TEST_F(LocalStageTest, AFileIsUploaded) {
  std::string bytes = RandomBytes(2'345'678, 6);
  std::ofstream(folder_ / "source", std::ios::binary) << bytes;
  DataLocation location = stage_->UploadFile(context_, folder_ / "source", {}).ValueOrDie();
  EXPECT_EQ(location.size_bytes, bytes.size());
  EXPECT_EQ(location.sha256, Digest(bytes));
}

TEST_F(LocalStageTest, OnlyRegularFilesAreUploaded) {
  EXPECT_EQ(CodeOf(stage_->UploadFile(context_, folder_, {}).status()),
            ErrorCode::kInvalidArgument);
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(CodeOf(stage_->UploadFile(context_, folder_ / "fifo", {}).status()),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(stage_->UploadFile(context_, folder_ / "missing", {}).status()),
            ErrorCode::kNotFound);
  ExpectNothingLeft();
}

TEST_F(LocalStageTest, AFileThatChangesWhileItIsReadIsRefused) {
  fs::path file = folder_ / "source";
  std::string bytes = RandomBytes(3'000'000, 7);
  const std::function<void()> changes[] = {
      [&] { std::ofstream(file, std::ios::app) << "more"; },
      [&] { fs::resize_file(file, 2'500'000); },
      [&] { fs::resize_file(file, 0); },
      [&] {
        // Same size, other time.
        timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, {.tv_sec = 5, .tv_nsec = 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
      },
      // Replaced under its name.
      [&] {
        std::ofstream(folder_ / "other", std::ios::binary) << bytes;
        fs::rename(folder_ / "other", file);
      },
  };
  for (size_t i = 0; i < std::size(changes); ++i) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    calls_.Before(PosixCall::kRead, 1, changes[i]);
    Status status = stage_->UploadFile(context_, file, {}).status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument) << i << status.ToString();
    EXPECT_THAT(status.ToString(), HasSubstr("changed while it was read"));
    ExpectNothingLeft();
  }
}

// VF-01, VF-03, VF-04, I-10
TEST_F(LocalStageTest, DamageNeverEndsCleanly) {
  std::string bytes = RandomBytes(5000, 8);
  std::string flipped = bytes;
  flipped[2500] ^= 1;
  struct Case {
    std::string damaged;
    const char* text;
  };
  const Case cases[] = {
      {bytes.substr(0, 4999), "ends too early"},
      {"", "ends too early"},
      {bytes + "x", "longer than declared"},
      {flipped, "SHA-256 is wrong"},
  };
  for (const Case& c : cases) {
    for (size_t step : {1u, 1000u, 5000u, 100'000u}) {
      DataLocation location = Put(bytes);
      Overwrite(location, c.damaged);
      auto reader = stage_->Open(context_, location).ValueOrDie();
      Status status = ReadAll(reader.get(), step).status();
      ASSERT_FALSE(status.ok()) << c.text;
      EXPECT_EQ(CodeOf(status), ErrorCode::kIntegrity);
      EXPECT_THAT(status.ToString(), HasSubstr(c.text));
      // Sticky.
      std::vector<uint8_t> again(step);
      EXPECT_EQ(reader->Read(again).status().ToString(), status.ToString());
      EXPECT_EQ(reader->Read(again).status().ToString(), status.ToString());
    }
  }
}

// VF-03: a caller who stops after the declared bytes gets the last of them only if all is well.
TEST_F(LocalStageTest, TheLastBytesComeAfterTheCheck) {
  DataLocation location = Put("0123456789");
  Overwrite(location, "0123456780");
  auto reader = stage_->Open(context_, location).ValueOrDie();
  std::vector<uint8_t> exact(10);
  EXPECT_EQ(CodeOf(reader->Read(exact).status()), ErrorCode::kIntegrity);
}

TEST_F(LocalStageTest, AnEmptyObjectIsVerifiedToo) {
  DataLocation location = Put("");
  auto reader = stage_->Open(context_, location).ValueOrDie();
  EXPECT_EQ(ReadAll(reader.get()).ValueOrDie(), "");
  Overwrite(location, "x");
  reader = stage_->Open(context_, location).ValueOrDie();
  EXPECT_EQ(CodeOf(ReadAll(reader.get()).status()), ErrorCode::kIntegrity);
}

TEST_F(LocalStageTest, ACleanEndRepeats) {
  auto reader = stage_->Open(context_, Put("abc")).ValueOrDie();
  EXPECT_EQ(ReadAll(reader.get()).ValueOrDie(), "abc");
  std::vector<uint8_t> more(10);
  EXPECT_EQ(reader->Read(more).ValueOrDie(), 0u);
}

// VF-05
TEST_F(LocalStageTest, DroppingAReaderEarlyClaimsNothing) {
  DataLocation location = Put("0123456789");
  Overwrite(location, "012345678");
  auto reader = stage_->Open(context_, location).ValueOrDie();
  std::vector<uint8_t> some(5);
  EXPECT_EQ(reader->Read(some).ValueOrDie(), 5u);
  reader.reset();
}

// VF-02, RG-01, I-12: zero system calls.
TEST_F(LocalStageTest, BadDigestsAndRangesAreRefusedBeforeAnyCall) {
  DataLocation location = Put("0123456789");
  calls_.ResetCounts();
  for (std::string digest :
       {std::string(), location.sha256.substr(1), "X" + location.sha256.substr(1)}) {
    DataLocation bad = location;
    bad.sha256 = digest;
    EXPECT_EQ(CodeOf(stage_->Open(context_, bad).status()), ErrorCode::kInvalidArgument);
    EXPECT_EQ(CodeOf(stage_->OpenRange(context_, bad, 0, 1).status()), ErrorCode::kInvalidArgument);
  }
  constexpr uint64_t kMax = UINT64_MAX;
  const std::pair<uint64_t, uint64_t> ranges[] = {
      {0, 0},   {5, 5},    {6, 5},    {0, 11},      {10, 11},        {10, 10},
      {11, 12}, {kMax, 0}, {0, kMax}, {kMax, kMax}, {kMax - 1, kMax}};
  for (auto [start, end] : ranges) {
    EXPECT_EQ(CodeOf(stage_->OpenRange(context_, location, start, end).status()),
              ErrorCode::kInvalidArgument)
        << start << ".." << end;
  }
  EXPECT_EQ(calls_.total(), 0u);
}

// DS-10, DS-11, RG-08, I-14: zero system calls for each of the ways in.
TEST_F(LocalStageTest, LocationsOutsideAreRefusedBeforeAnyCall) {
  DataLocation inside = Put("0123456789");
  auto other = LocalStage::Open(context_, Options("other"), &calls_).ValueOrDie();
  StringSource source("theirs");
  DataLocation theirs = other->Upload(context_, &source, {}).ValueOrDie();
  std::string name = inside.uri.substr(inside.uri.rfind('/') + 1);
  calls_.ResetCounts();
  for (const std::string& uri :
       {theirs.uri, inside.uri + "?x", std::string("file:///etc/passwd"),
        "file:///srv/lake/managed-objects/tenants/other/../default/" + name,
        "file:///srv/lake/managed-objects2/tenants/default/" + name}) {
    DataLocation bad = inside;
    bad.uri = uri;
    for (const Status& status :
         {stage_->Open(context_, bad).status(), stage_->OpenRange(context_, bad, 0, 1).status(),
          stage_->CheckContained(bad), stage_->CheckExists(context_, bad)}) {
      EXPECT_EQ(CodeOf(status), ErrorCode::kPermissionDenied) << uri << status.ToString();
    }
  }
  EXPECT_EQ(calls_.total(), 0u);
}

// DS-10: no byte behind a link is read.
TEST_F(LocalStageTest, SymbolicLinksAreRefused) {
  DataLocation location = Put("0123456789");
  fs::path path = PathOf(location);
  fs::rename(path, folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", path);
  calls_.ResetCounts();
  for (const Status& status :
       {stage_->Open(context_, location).status(),
        stage_->OpenRange(context_, location, 0, 1).status(), stage_->CheckContained(location),
        stage_->CheckExists(context_, location)}) {
    EXPECT_EQ(CodeOf(status), ErrorCode::kPermissionDenied) << status.ToString();
  }
  EXPECT_EQ(calls_.count(PosixCall::kPRead), 0u);
}

TEST_F(LocalStageTest, AFolderThatIsALinkIsRefused) {
  fs::create_directory(folder_ / "elsewhere");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "managed-objects/tenants/evil");
  EXPECT_EQ(CodeOf(OpenStage("evil").status()), ErrorCode::kPermissionDenied);
}

TEST_F(LocalStageTest, AnObjectThatIsNoFileIsRefused) {
  DataLocation location = Put("0123456789");
  fs::remove(PathOf(location));
  ASSERT_EQ(::mkfifo(PathOf(location).c_str(), 0600), 0);
  EXPECT_EQ(CodeOf(stage_->Open(context_, location).status()), ErrorCode::kPermissionDenied);
  EXPECT_EQ(CodeOf(stage_->CheckExists(context_, location)), ErrorCode::kPermissionDenied);
}

// MO-10, I-03: what a sink asks before it stores a reference.
TEST_F(LocalStageTest, CheckExistsComparesTheSize) {
  DataLocation location = Put("0123456789");
  EXPECT_TRUE(stage_->CheckContained(location).ok());
  EXPECT_TRUE(stage_->CheckExists(context_, location).ok());
  DataLocation wrong = location;
  wrong.size_bytes = 11;
  EXPECT_EQ(CodeOf(stage_->CheckExists(context_, wrong)), ErrorCode::kIntegrity);
  fs::remove(PathOf(location));
  EXPECT_TRUE(stage_->CheckContained(location).ok());
  EXPECT_EQ(CodeOf(stage_->CheckExists(context_, location)), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(stage_->Open(context_, location).status()), ErrorCode::kNotFound);
}

// RG-01, RG-06, I-11
TEST_F(LocalStageTest, RangesGiveExactlyTheirBytes) {
  std::string bytes = RandomBytes(10'000, 9);
  DataLocation location = Put(bytes);
  const std::pair<uint64_t, uint64_t> ranges[] = {
      {0, 1}, {0, 10'000}, {9'999, 10'000}, {1234, 5678}, {5000, 5001}};
  for (auto [start, end] : ranges) {
    for (size_t step : {1u, 100u, 100'000u}) {
      auto reader = stage_->OpenRange(context_, location, start, end).ValueOrDie();
      EXPECT_EQ(ReadAll(reader.get(), step).ValueOrDie(), bytes.substr(start, end - start));
    }
  }
}

// RG-02, RG-07: only the range is read, and no digest is asked of it.
TEST_F(LocalStageTest, ARangeReadsNothingBeforeIt) {
  DataLocation location = Put(std::string(100'000, 'a'));
  Overwrite(location, std::string(99'990, 'b') + "0123456789");
  calls_.ResetCounts();
  auto reader = stage_->OpenRange(context_, location, 99'990, 100'000).ValueOrDie();
  EXPECT_EQ(ReadAll(reader.get(), 100).ValueOrDie(), "0123456789");
  EXPECT_EQ(calls_.count(PosixCall::kOpenAt), 1u);
  EXPECT_EQ(calls_.count(PosixCall::kPRead), 1u);
}

// RG-05
TEST_F(LocalStageTest, AShortRangeNeverEndsCleanly) {
  DataLocation location = Put(std::string(1000, 'a'));
  Overwrite(location, std::string(600, 'a'));
  auto reader = stage_->OpenRange(context_, location, 500, 900).ValueOrDie();
  Status status = ReadAll(reader.get()).status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kIntegrity);
  EXPECT_THAT(status.ToString(), HasSubstr("400 bytes expected, 100 found"));
  std::vector<uint8_t> again(10);
  EXPECT_EQ(reader->Read(again).status().ToString(), status.ToString());
}

TEST_F(LocalStageTest, ReadingStopsWhenCancelled) {
  Context context;
  auto reader = stage_->Open(context, Put("abc")).ValueOrDie();
  context.cancel.Cancel();
  std::vector<uint8_t> block(10);
  EXPECT_EQ(CodeOf(reader->Read(block).status()), ErrorCode::kCancelled);
}

// The stage's identity stays when its folder moves.
TEST_F(LocalStageTest, AMovedFolderServesItsObjects) {
  std::string bytes = RandomBytes(1000, 10);
  DataLocation location = Put(bytes);
  stage_.reset();
  fs::path moved = folder_ / "a b %41 #1 ü";
  fs::create_directory(moved);
  fs::rename(folder_ / "managed-objects", moved / "managed-objects");
  LocalStageOptions options = Options("default");
  options.root = moved / "managed-objects";
  auto stage = OpenLocalStage(context_, options).ValueOrDie();
  auto reader = stage->Open(context_, location).ValueOrDie();
  EXPECT_EQ(ReadAll(reader.get()).ValueOrDie(), bytes);
  StringSource source("new");
  DataLocation minted = stage->Upload(context_, &source, {}).ValueOrDie();
  EXPECT_EQ(minted.uri.substr(0, minted.uri.rfind('/')),
            location.uri.substr(0, location.uri.rfind('/')));
}

// UL: an upload across file systems is refused at start.
TEST_F(LocalStageTest, ATemporaryFolderElsewhereIsRefused) {
  if (!fs::exists("/dev/shm")) GTEST_SKIP() << "needs a second file system at /dev/shm";
  LocalStageOptions options = Options("default");
  options.temp_dir = "/dev/shm";
  Status status = OpenLocalStage(context_, options).status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported);
  EXPECT_THAT(status.ToString(), HasSubstr("same file system"));

  calls_.Fail(PosixCall::kRename, 0, EXDEV);
  StringSource source("x");
  EXPECT_EQ(CodeOf(stage_->Upload(context_, &source, {}).status()), ErrorCode::kUnsupported);
  ExpectNothingLeft();
}

TEST_F(LocalStageTest, OpenRefusesWhatItDoesNotKnow) {
  LocalStageOptions options = Options("../x");
  EXPECT_EQ(CodeOf(OpenLocalStage(context_, options).status()), ErrorCode::kInvalidArgument);
  options = Options("default");
  options.stage_uri = "s3://bucket/managed-objects";
  EXPECT_EQ(CodeOf(OpenLocalStage(context_, options).status()), ErrorCode::kUnsupported);
  options.stage_uri = "file:///srv/lake%2Dx";
  EXPECT_EQ(CodeOf(OpenLocalStage(context_, options).status()), ErrorCode::kInvalidArgument);
  options = Options("default");
  options.temp_dir = folder_ / "missing";
  EXPECT_EQ(CodeOf(OpenLocalStage(context_, options).status()), ErrorCode::kNotFound);
}

TEST_F(LocalStageTest, ManyThreadsUploadAtOnce) {
  std::vector<std::thread> threads;
  std::vector<DataLocation> locations(16);
  // The counting calls are not thread-safe.
  auto stage = OpenLocalStage(context_, Options("default")).ValueOrDie();
  for (size_t i = 0; i < locations.size(); ++i) {
    threads.emplace_back([&, i] {
      StringSource source(RandomBytes(1'500'000, i));
      locations[i] = stage->Upload(context_, &source, {}).ValueOrDie();
    });
  }
  for (auto& thread : threads) thread.join();
  for (size_t i = 0; i < locations.size(); ++i) {
    auto reader = stage->Open(context_, locations[i]).ValueOrDie();
    EXPECT_EQ(ReadAll(reader.get(), 100'000).ValueOrDie(), RandomBytes(1'500'000, i));
  }
  EXPECT_EQ(Names(TenantFolder()).size(), locations.size());
}

}  // namespace
}  // namespace lake::objects
