#include "lake/storage/publish_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/base/unique_fd.h"

namespace lake::storage {
namespace {

template <int kError>
int FailWith(const FileName&, const FileName&) {
  errno = kError;
  return -1;
}

class PublishFileTest : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = UniqueFd(open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY));
    ASSERT_TRUE(fd_.valid());
    Write("temporary", "new");
  }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name) << bytes;
  }
  std::string Read(const std::string& name) {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool Exists(const std::string& name) { return std::filesystem::exists(folder_ / name); }
  Status Publish(const PublishCalls& calls, PutCondition condition = PutCondition::kIfAbsent) {
    return PublishFile(calls, {fd_.get(), "temporary"}, {fd_.get(), "object"}, condition, "object");
  }

  TestFolder folder_;
  UniqueFd fd_;
  PublishCalls calls_ = SystemPublishCalls();
};

TEST_F(PublishFileTest, MovesTheFile) {
  ASSERT_TRUE(Publish(calls_).ok());
  EXPECT_EQ(Read("object"), "new");
  EXPECT_FALSE(Exists("temporary"));
}

TEST_F(PublishFileTest, NeverReplacesIfAbsentIsAsked) {
  Write("object", "old");
  EXPECT_EQ(CodeOf(Publish(calls_)), ErrorCode::kPreconditionFailed);
  EXPECT_EQ(Read("object"), "old");
  EXPECT_TRUE(Exists("temporary"));
  ASSERT_TRUE(Publish(calls_, PutCondition::kNone).ok());
  EXPECT_EQ(Read("object"), "new");
}

TEST_F(PublishFileTest, FallsBackToRenameWithoutReplacing) {
  for (auto* link : {FailWith<EPERM>, FailWith<EOPNOTSUPP>, FailWith<ENOSYS>}) {
    calls_.link = link;
    std::filesystem::remove(folder_ / "object");
    Write("temporary", "new");
    ASSERT_TRUE(Publish(calls_).ok());
    EXPECT_EQ(Read("object"), "new");
    EXPECT_FALSE(Exists("temporary"));
    Write("temporary", "newer");
    EXPECT_EQ(CodeOf(Publish(calls_)), ErrorCode::kPreconditionFailed);
    EXPECT_EQ(Read("object"), "new");
  }
}

TEST_F(PublishFileTest, RefusesAFileSystemThatHasNeither) {
  calls_.link = FailWith<EPERM>;
  for (auto* rename : {FailWith<EINVAL>, FailWith<ENOSYS>}) {
    calls_.rename_no_replace = rename;
    Status status = Publish(calls_);
    EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported);
    EXPECT_FALSE(Exists("object"));
  }
}

TEST_F(PublishFileTest, OtherErrorsOfLinkDoNotFallBack) {
  calls_.link = FailWith<ENOSPC>;
  EXPECT_EQ(CodeOf(Publish(calls_)), ErrorCode::kOutOfSpace);
  calls_.link = FailWith<EXDEV>;
  EXPECT_EQ(CodeOf(Publish(calls_)), ErrorCode::kUnsupported);
  calls_.link = FailWith<EIO>;
  EXPECT_EQ(CodeOf(Publish(calls_)), ErrorCode::kIo);
  EXPECT_FALSE(Exists("object"));
}

TEST_F(PublishFileTest, AFolderOfTheNameIsNotAnObject) {
  std::filesystem::create_directory(folder_ / "object");
  EXPECT_EQ(CodeOf(Publish(calls_)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Publish(calls_, PutCondition::kNone)), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace lake::storage
