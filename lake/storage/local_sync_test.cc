#include "lake/storage/local_sync.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/base/unique_fd.h"
#include "lake/storage/temporary_object.h"

namespace lake::storage {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

// The system call is a plain function, so what it saw lies beside it.
Mutex seen_mutex;
std::vector<std::string> seen LAKE_GUARDED_BY(seen_mutex);
std::string failing_path LAKE_GUARDED_BY(seen_mutex);

int WatchedFsync(int fd) {
  const std::string path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd)).string();
  MutexLock lock(&seen_mutex);
  seen.push_back(path);
  if (path == failing_path) {
    errno = EIO;
    return -1;
  }
  return ::fsync(fd);
}

class LocalSyncTest : public testing::Test {
 protected:
  void SetUp() override {
    root_path_ = fs::canonical(folder_.path()).string();
    root_ = UniqueFd(open(root_path_.c_str(), O_RDONLY | O_DIRECTORY));
    ASSERT_TRUE(root_.valid());
    FailOn("");
    Seen();
  }
  void Write(const std::string& key) {
    fs::path path = root_path_ + "/" + key;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << key;
  }
  Status Sync(std::vector<std::string> keys, std::vector<TemporaryObject*> staged = {}) {
    return sync_.Run(root_.get(), keys, staged);
  }
  /// What was synced since the last call, relative to the root ("" for itself).
  std::vector<std::string> Seen() {
    MutexLock lock(&seen_mutex);
    std::vector<std::string> paths;
    for (const std::string& path : seen) {
      paths.push_back(path == root_path_ ? "" : path.substr(root_path_.size() + 1));
    }
    seen.clear();
    return paths;
  }
  void FailOn(const std::string& path) {
    MutexLock lock(&seen_mutex);
    failing_path = path;
  }

  TestFolder folder_;
  std::string root_path_;
  UniqueFd root_;
  LocalSync sync_{WatchedFsync};
};

TEST_F(LocalSyncTest, SyncsFilesAndEachFolderOnTheWayOnce) {
  Write("t/data/1");
  Write("t/data/2");
  Write("t/_versions/1");
  ASSERT_TRUE(Sync({"t/data/1", "t/data/2", "t/_versions/1", "t/data/1"}).ok());
  EXPECT_THAT(Seen(), UnorderedElementsAre("t/data/1", "t/data/2", "t/_versions/1", "t/data",
                                           "t/_versions", "t", ""));
}

TEST_F(LocalSyncTest, FoldersWhoseNamesAreDurableAreNotSyncedAgain) {
  Write("a/b/1");
  ASSERT_TRUE(Sync({"a/b/1"}).ok());
  Seen();
  Write("a/b/2");
  ASSERT_TRUE(Sync({"a/b/2"}).ok());
  EXPECT_THAT(Seen(), UnorderedElementsAre("a/b/2", "a/b"));
  Write("a/c/1");
  ASSERT_TRUE(Sync({"a/c/1"}).ok());
  EXPECT_THAT(Seen(), UnorderedElementsAre("a/c/1", "a/c", "a"));
}

TEST_F(LocalSyncTest, AFolderMadeAnewIsSyncedAgain) {
  Write("a/b/1");
  ASSERT_TRUE(Sync({"a/b/1"}).ok());
  Seen();
  // The new one is made before the old one goes, so that it has another inode.
  Write("a/new/1");
  fs::remove_all(root_path_ + "/a/b");
  fs::rename(root_path_ + "/a/new", root_path_ + "/a/b");
  ASSERT_TRUE(Sync({"a/b/1"}).ok());
  EXPECT_THAT(Seen(), UnorderedElementsAre("a/b/1", "a/b", "a"));
}

TEST_F(LocalSyncTest, RemovalsSyncTheFolderThatIsLeft) {
  Write("a/b/1");
  Write("a/c/1");
  fs::remove(root_path_ + "/a/b/1");
  fs::remove_all(root_path_ + "/a/c");
  ASSERT_TRUE(Sync({"a/b/", "a/c/", "x/y/z/"}).ok());
  EXPECT_THAT(Seen(), UnorderedElementsAre("a/b", "a", ""));
  ASSERT_TRUE(Sync({"a/b/"}).ok());
  EXPECT_THAT(Seen(), UnorderedElementsAre("a/b"));
  FailOn(root_path_ + "/a/b");
  EXPECT_EQ(CodeOf(Sync({"a/b/"})), ErrorCode::kIo);
  FailOn("");
}

TEST_F(LocalSyncTest, StagedBytesNeedNoFolder) {
  auto object = TemporaryObject::Make(Context(), root_.get(), -1, "a/staged");
  ASSERT_TRUE(object.ok());
  ASSERT_TRUE(Sync({}, {object->get()}).ok());
  auto synced = Seen();
  ASSERT_EQ(synced.size(), 1u);
  EXPECT_TRUE(synced[0].starts_with("a/.tmp-lake-")) << synced[0];
}

TEST_F(LocalSyncTest, ANameOfBytesThatAreDurableNeedsItsFolderOnly) {
  auto object = TemporaryObject::Make(Context(), root_.get(), -1, "a/1").ValueOrDie();
  ASSERT_TRUE(object->Append("bytes").ok());
  ASSERT_TRUE(Sync({}, {object.get()}).ok());
  Seen();
  ASSERT_TRUE(object->Publish(PutCondition::kIfAbsent).ok());
  sync_.Published(*object);
  ASSERT_TRUE(Sync({"a/1"}).ok());
  EXPECT_THAT(Seen(), UnorderedElementsAre("a", ""));
  // Then it is an object like any other.
  ASSERT_TRUE(Sync({"a/1"}).ok());
  EXPECT_THAT(Seen(), UnorderedElementsAre("a/1", "a"));
}

TEST_F(LocalSyncTest, BytesThatMayNotBeDurableAreSyncedWithTheirName) {
  for (const char* what : {"never synced", "synced before the end", "changed", "replaced"}) {
    SCOPED_TRACE(what);
    const std::string_view how(what);
    auto object = TemporaryObject::Make(Context(), root_.get(), -1, "a/1").ValueOrDie();
    ASSERT_TRUE(object->Append("bytes").ok());
    if (how != "never synced") ASSERT_TRUE(Sync({}, {object.get()}).ok());
    if (how == "synced before the end") ASSERT_TRUE(object->Append("and more").ok());
    ASSERT_TRUE(object->Publish(PutCondition::kNone).ok());
    sync_.Published(*object);
    if (how == "changed") std::ofstream(root_path_ + "/a/1", std::ios::app) << "more";
    if (how == "replaced") {
      Write("a/2");
      fs::rename(root_path_ + "/a/2", root_path_ + "/a/1");
    }
    Seen();
    ASSERT_TRUE(Sync({"a/1"}).ok());
    EXPECT_THAT(Seen(), Contains("a/1"));
  }
}

TEST_F(LocalSyncTest, ANameIsNotTakenForDurableWhereItsFolderFails) {
  auto object = TemporaryObject::Make(Context(), root_.get(), -1, "a/1").ValueOrDie();
  ASSERT_TRUE(Sync({}, {object.get()}).ok());
  ASSERT_TRUE(object->Publish(PutCondition::kIfAbsent).ok());
  sync_.Published(*object);
  FailOn(root_path_ + "/a");
  EXPECT_EQ(CodeOf(Sync({"a/1"})), ErrorCode::kIo);
  FailOn("");
  Seen();
  ASSERT_TRUE(Sync({"a/1"}).ok());
  EXPECT_THAT(Seen(), UnorderedElementsAre("a", ""));
}

TEST_F(LocalSyncTest, ManyFoldersAreSyncedInOneRound) {
  std::vector<std::string> keys;
  std::vector<std::string> wanted{"", "t"};
  for (int i = 0; i < 40; ++i) {
    keys.push_back(fmt::format("t/{}/1", i));
    Write(keys.back());
    wanted.push_back(keys.back());
    wanted.push_back(fmt::format("t/{}", i));
  }
  ASSERT_TRUE(Sync(keys).ok());
  EXPECT_THAT(Seen(), UnorderedElementsAreArray(wanted));
}

TEST_F(LocalSyncTest, AFailedSyncIsAnErrorAndIsNotRemembered) {
  for (std::string failing : {"a", "a/b/1"}) {
    SCOPED_TRACE(failing);
    fs::remove_all(root_path_ + "/a");
    Write("a/b/1");
    FailOn(root_path_ + "/" + failing);
    Status status = Sync({"a/b/1"});
    EXPECT_EQ(CodeOf(status), ErrorCode::kIo);
    EXPECT_FALSE(IsRetryable(status));
    EXPECT_NE(status.message().find("'" + failing + "'"), std::string::npos) << status.message();
    FailOn("");
    Seen();
    ASSERT_TRUE(Sync({"a/b/1"}).ok());
    EXPECT_THAT(Seen(), UnorderedElementsAre("a/b/1", "a/b", "a", ""));
  }
}

TEST_F(LocalSyncTest, NothingToDo) {
  EXPECT_TRUE(Sync({}).ok());
  EXPECT_THAT(Seen(), IsEmpty());
}

}  // namespace
}  // namespace lake::storage
