#include "lake/base/temp_folder.h"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/base/testing/fake_random.h"
#include "lake/base/testing/test_folder.h"
#include "lake/base/uuid.h"

namespace lake {
namespace {

namespace fs = std::filesystem;

class TempFolderTest : public testing::Test {
 protected:
  std::unique_ptr<TempFolder> Make() {
    auto folder = TempFolder::Make(context_, data_.path());
    EXPECT_TRUE(folder.ok()) << folder.status();
    return folder.ok() ? *std::move(folder) : nullptr;
  }
  TempSweep Sweep() {
    auto sweep = SweepTempFolders(context_, data_.path());
    EXPECT_TRUE(sweep.ok()) << sweep.status();
    return sweep.ok() ? *sweep : TempSweep();
  }
  /// What a killed process leaves.
  std::string MakeLeftover() {
    std::string path = (data_ / "tmp/") + Uuid::NewV7(context_).ToString();
    fs::create_directories(path + "/deep/er");
    std::ofstream(path + "/deep/er/spill") << "bytes";
    return path;
  }

  Context context_;
  TestFolder data_;
};

TEST_F(TempFolderTest, IsPrivateAndGoesAwayWithAllInIt) {
  std::string path;
  {
    auto folder = Make();
    path = folder->path();
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0700u);
    EXPECT_EQ(fs::path(path).parent_path().string(), data_ / "tmp");
    EXPECT_TRUE(Uuid::Parse(fs::path(path).filename().string()).ok());
    fs::create_directories(path + "/a/b");
    std::ofstream(path + "/a/b/c") << "bytes";
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(data_ / "tmp"));
}

TEST_F(TempFolderTest, SweepRemovesLeftoversAndLeavesFoldersInUse) {
  auto mine = Make();
  std::string leftover = MakeLeftover();
  TempSweep sweep = Sweep();
  EXPECT_EQ(sweep.num_removed, 1u);
  EXPECT_EQ(sweep.num_kept, 1u);
  EXPECT_TRUE(sweep.problems.empty());
  EXPECT_FALSE(fs::exists(leftover));
  EXPECT_TRUE(fs::exists(mine->path()));
}

TEST_F(TempFolderTest, AFolderOfAKilledProcessIsSwept) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto folder = TempFolder::Make(context_, data_.path());
    if (folder.ok()) std::ofstream((*folder)->path() + "/spill") << "bytes";
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_FALSE(fs::is_empty(data_ / "tmp"));
  EXPECT_EQ(Sweep().num_removed, 1u);
  EXPECT_TRUE(fs::is_empty(data_ / "tmp"));
}

TEST_F(TempFolderTest, SweepTouchesNothingElse) {
  TestFolder outside;
  std::ofstream(outside / "precious") << "bytes";
  fs::create_directories(data_ / "tmp/not-a-uuid");
  const std::string uuid = Uuid::NewV7(context_).ToString();
  std::ofstream(data_ / ("tmp/" + Uuid::NewV7(context_).ToString())) << "a file";
  fs::create_directory_symlink(outside.path(), data_ / ("tmp/" + uuid));
  std::string leftover = MakeLeftover();
  fs::create_directory_symlink(outside.path(), leftover + "/link");

  TempSweep sweep = Sweep();
  EXPECT_EQ(sweep.num_removed, 1u);
  EXPECT_EQ(sweep.num_kept, 3u);
  EXPECT_TRUE(fs::exists(outside / "precious"));
  EXPECT_TRUE(fs::exists(data_ / "tmp/not-a-uuid"));
  EXPECT_TRUE(fs::is_symlink(data_ / ("tmp/" + uuid)));
}

TEST_F(TempFolderTest, SweepWithoutATmpFolderIsFine) { EXPECT_EQ(Sweep().num_removed, 0u); }

TEST_F(TempFolderTest, MakeTakesAnotherNameThanATakenOne) {
  FakeClock clock;
  context_.clock = &clock;
  FakeRandom first(5);
  FakeRandom second(5);
  context_.random = &first;
  auto one = Make();
  context_.random = &second;
  auto two = Make();
  EXPECT_NE(one->path(), two->path());
  EXPECT_EQ(Sweep().num_kept, 2u);
}

TEST_F(TempFolderTest, MakeFailsWithoutADataFolder) {
  auto folder = TempFolder::Make(context_, data_ / "missing");
  EXPECT_EQ(CodeOf(folder.status()), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace lake
