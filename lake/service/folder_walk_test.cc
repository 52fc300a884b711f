#include "lake/service/folder_walk.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace lake::service {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FolderWalkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "lake-walk-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& path, const std::string& bytes = "x") {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path, std::ios::binary) << bytes;
  }

  FolderWalkOptions Options() {
    FolderWalkOptions options;
    options.problem = [this](const std::string& path, const Status& reason) {
      problems_[path] = ErrorText(reason);
    };
    return options;
  }

  std::vector<std::string> Walk() {
    problems_.clear();
    auto walk = FolderWalk::Open(context_, folder_, Options()).ValueOrDie();
    std::vector<std::string> paths;
    while (auto file = walk->Next().ValueOrDie()) paths.push_back(file->path);
    return paths;
  }

  Context context_;
  fs::path folder_;
  std::map<std::string, std::string> problems_;
};

TEST_F(FolderWalkTest, FilesComeInTheByteOrderOfTheirPaths) {
  for (const char* path :
       {"b/z", "b.txt", "b-1", "a/x/y", "a/x.y", "B", "ä", "a.b/c", "empty/.keep"}) {
    Write(path);
  }
  fs::create_directories(folder_ / "nothing/in/here");
  std::vector<std::string> paths = Walk();
  EXPECT_THAT(paths, ElementsAre("B", "a.b/c", "a/x.y", "a/x/y", "b-1", "b.txt", "b/z",
                                 "empty/.keep", "ä"));
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
  EXPECT_TRUE(problems_.empty());
}

TEST_F(FolderWalkTest, WhatIsNoFileIsReportedAndNotFollowed) {
  Write("file");
  Write("real/inside");
  fs::create_symlink(folder_ / "file", folder_ / "link");
  fs::create_directory_symlink(folder_ / "real", folder_ / "linked");
  fs::create_symlink("/nowhere", folder_ / "dangling");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = "socket"};
  int before = ::open(".", O_DIRECTORY);
  ASSERT_EQ(::chdir(folder_.c_str()), 0);
  int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::fchdir(before), 0);
  ::close(before);
  ::close(socket);
  Write(
      "bad\xFF"
      "name");
  Write(
      "bad\xFE"
      "folder/inside");

  EXPECT_THAT(Walk(), ElementsAre("file", "real/inside"));
  ASSERT_EQ(problems_.size(), 7u);
  EXPECT_THAT(problems_["link"], HasSubstr("symbolic link"));
  EXPECT_THAT(problems_["linked"], HasSubstr("symbolic link"));
  EXPECT_THAT(problems_["dangling"], HasSubstr("symbolic link"));
  EXPECT_THAT(problems_["fifo"], HasSubstr("FIFO"));
  EXPECT_THAT(problems_["socket"], HasSubstr("socket"));
  EXPECT_THAT(problems_["bad\\xFFname"], HasSubstr("not UTF-8"));
  EXPECT_THAT(problems_["bad\\xFEfolder"], HasSubstr("not UTF-8"));
}

TEST_F(FolderWalkTest, TheFileAtHandIsOpenedWithoutFollowingLinks) {
  Write("a/file", "bytes");
  auto walk = FolderWalk::Open(context_, folder_, Options()).ValueOrDie();
  auto file = walk->Next().ValueOrDie();
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->size, 5u);
  EXPECT_TRUE(walk->OpenCurrent().ok());
  fs::remove(folder_ / "a/file");
  fs::create_symlink("/etc/hostname", folder_ / "a/file");
  EXPECT_EQ(CodeOf(walk->OpenCurrent().status()), ErrorCode::kPermissionDenied);
}

TEST_F(FolderWalkTest, DeepFoldersEndInAProblem) {
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "d/";
  Write(deep + "x");
  Write("z");
  EXPECT_THAT(Walk(), ElementsAre("z"));
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_THAT(problems_.begin()->second, HasSubstr("nested too deeply"));
}

TEST_F(FolderWalkTest, TheForbiddenFolderEndsTheWalk) {
  Write("a/x");
  Write("b/lake.json");
  FolderWalkOptions options = Options();
  struct stat state;
  ASSERT_EQ(::stat((folder_ / "b").c_str(), &state), 0);
  options.forbidden = state;
  auto walk = FolderWalk::Open(context_, folder_, options).ValueOrDie();
  EXPECT_EQ(walk->Next().ValueOrDie()->path, "a/x");
  EXPECT_EQ(CodeOf(walk->Next().status()), ErrorCode::kInvalidArgument);
}

TEST_F(FolderWalkTest, NamesCountAgainstTheBudgetAndAreGivenBack) {
  for (int i = 0; i < 100; ++i) Write("many/" + std::to_string(i));
  context_.memory = MemoryBudget::Make(1 << 20);
  {
    EXPECT_EQ(Walk().size(), 100u);
    EXPECT_GT(context_.memory->peak(), 100 * 2);
  }
  EXPECT_EQ(context_.memory->used(), 0);
  context_.memory = MemoryBudget::Make(1000);
  auto walk = FolderWalk::Open(context_, folder_, Options()).ValueOrDie();
  EXPECT_EQ(CodeOf(walk->Next().status()), ErrorCode::kOutOfMemory);
}

TEST_F(FolderWalkTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_EQ(CodeOf(FolderWalk::Open(context_, folder_ / "missing", {}).status()),
            ErrorCode::kNotFound);
  Write("file");
  EXPECT_FALSE(FolderWalk::Open(context_, folder_ / "file", {}).ok());
}

TEST(DisplayNameTest, OnlyTextIsShownAsItIs) {
  EXPECT_EQ(DisplayName("plain ü 漢"), "plain ü 漢");
  EXPECT_EQ(DisplayName("a\xFF"
                        "b\xC3"),
            "a\\xFFb\\xC3");
  EXPECT_EQ(DisplayName("a\nb\x1B[31m"), "a\\x0Ab\\x1B[31m");
}

}  // namespace
}  // namespace lake::service
