#include "lake/storage/local_store.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <arrow/buffer.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/base/testing/fake_random.h"
#include "lake/base/testing/test_folder.h"
#include "lake/storage/local_file.h"
#include "lake/storage/temporary_object.h"

namespace lake::storage {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LocalStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = OpenLocalStore(root_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *store;
  }
  Status Put(const std::string& key, const std::string& bytes,
             PutCondition condition = PutCondition::kNone) {
    return store_->Put(context_, key, bytes, condition);
  }
  std::string Read(const std::string& key, ObjectStore* store = nullptr) {
    if (store == nullptr) store = store_.get();
    auto bytes = store->GetAll(context_, key, 1 << 20);
    return bytes.ok() ? (*bytes)->ToString() : std::string(ErrorCodeName(CodeOf(bytes.status())));
  }
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    for (const ObjectInfo& info : *ListAll(store_.get(), context_, "")) keys.push_back(info.key);
    return keys;
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  /// All names below a folder that are temporaries.
  static std::vector<std::string> Temporaries(const std::string& folder) {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      std::string name = entry.path().filename().string();
      if (name.starts_with(".tmp")) found.push_back(name);
    }
    return found;
  }

  Context context_;
  TestFolder folder_;
  const std::string root_ = folder_ / "deep/er/root";
  std::shared_ptr<ObjectStore> store_;
};

TEST_F(LocalStoreTest, DescriptionIsTheAbsolutePath) {
  EXPECT_EQ(store_->description(), fs::canonical(root_).string());
}

TEST_F(LocalStoreTest, ListsKeysAloneAsItListsObjects) {
  for (const char* key : {"a/1", "a/2", "b", "a/c/3"}) ASSERT_TRUE(Put(key, "x").ok());
  ASSERT_EQ(symlink("b", (root_ + "/a/link").c_str()), 0);
  std::vector<std::string> keys;
  for (const ObjectInfo& info : *ListAll(store_.get(), context_, "a/", /*keys_only=*/true)) {
    keys.push_back(info.key);
  }
  EXPECT_THAT(keys, ElementsAre("a/1", "a/2", "a/c/3"));
}

TEST_F(LocalStoreTest, AnIdentityIsThatOfAFolderNotOfAPath) {
  EXPECT_EQ((*OpenLocalStore(root_))->identity(), store_->identity());
  const auto below = MakePrefixStore(store_, "t");
  EXPECT_NE(below->identity(), store_->identity());
  EXPECT_EQ(MakePrefixStore(*OpenLocalStore(root_), "t")->identity(), below->identity());
  const std::string aside = root_ + "-aside";
  fs::rename(root_, aside);
  EXPECT_NE((*OpenLocalStore(root_))->identity(), store_->identity());
  fs::remove_all(aside);
}

TEST_F(LocalStoreTest, ObjectsAreFilesUnderTheirKeys) {
  ASSERT_TRUE(Put("a/b/c", "bytes").ok());
  std::ifstream file(root_ + "/a/b/c");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "bytes");
}

TEST_F(LocalStoreTest, FoldersAndFilesArePrivateAndUmaskNarrowsThem) {
  for (mode_t mask : {mode_t{0}, mode_t{022}, mode_t{0277}}) {
    SCOPED_TRACE(mask);
    const std::string key = "m" + std::to_string(mask);
    mode_t old = umask(mask);
    // A folder that its owner cannot search would be of no use; files only are checked for that
    // mask.
    Status status = mask == 0277 ? Put(key, "x") : Put(key + "/x", "x");
    umask(old);
    ASSERT_TRUE(status.ok()) << status.ToString();
    if (mask == 0277) {
      EXPECT_EQ(ModeOf(root_ + "/" + key), 0400u);
    } else {
      EXPECT_EQ(ModeOf(root_ + "/" + key), 0700u);
      EXPECT_EQ(ModeOf(root_ + "/" + key + "/x"), 0600u);
    }
  }
  EXPECT_EQ(ModeOf(root_), 0700u);
}

TEST_F(LocalStoreTest, SymbolicLinksAreRefusedEverywhere) {
  TestFolder outside;
  std::ofstream(outside / "secret") << "secret";
  fs::create_directory_symlink(outside.path(), root_ + "/folder");
  fs::create_symlink(outside / "secret", root_ + "/file");
  fs::create_symlink(outside / "missing", root_ + "/dangling");
  ASSERT_TRUE(Put("real", "x").ok());

  for (const char* key : {"folder/secret", "file", "dangling", "folder/deeper/x"}) {
    SCOPED_TRACE(key);
    EXPECT_EQ(CodeOf(store_->Get(context_, key, {0, 0}).status()), ErrorCode::kPermissionDenied);
    EXPECT_EQ(CodeOf(store_->Head(context_, key).status()), ErrorCode::kPermissionDenied);
    EXPECT_EQ(CodeOf(store_->Delete(context_, key)), ErrorCode::kPermissionDenied);
    const std::string keys[] = {key};
    EXPECT_EQ(CodeOf(store_->Sync(context_, keys, {})), ErrorCode::kPermissionDenied);
  }
  EXPECT_EQ(CodeOf(Put("folder/new", "x")), ErrorCode::kPermissionDenied);
  EXPECT_EQ(CodeOf(Put("file", "x", PutCondition::kIfAbsent)), ErrorCode::kPreconditionFailed);
  EXPECT_THAT(Keys(), ElementsAre("real"));
  EXPECT_EQ(CodeOf(store_->List(context_, {"folder/", "", ""}).status()),
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(fs::file_size(outside / "secret"), 6u);
  EXPECT_FALSE(fs::exists(outside / "new"));
}

TEST_F(LocalStoreTest, TheRootItselfMayBeReachedThroughALink) {
  ASSERT_TRUE(Put("x", "1").ok());
  fs::create_directory_symlink(root_, folder_ / "link");
  auto store = OpenLocalStore(folder_ / "link");
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(Read("x", store->get()), "1");
}

TEST_F(LocalStoreTest, WhatIsNoRegularFileIsNoObject) {
  ASSERT_EQ(mkfifo((root_ + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(CodeOf(store_->Get(context_, "fifo", {0, 0}).status()), ErrorCode::kUnsupported);
  EXPECT_EQ(CodeOf(store_->Head(context_, "fifo").status()), ErrorCode::kUnsupported);
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(LocalStoreTest, ANameIsAFolderOrAnObject) {
  ASSERT_TRUE(Put("a/b", "x").ok());
  EXPECT_EQ(CodeOf(Put("a", "x")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Put("a", "x", PutCondition::kIfAbsent)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Put("a/b/c", "x")), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(store_->Delete(context_, "a").ok());
  EXPECT_EQ(Read("a/b"), "x");
  EXPECT_THAT(Temporaries(root_), IsEmpty());
}

TEST_F(LocalStoreTest, NamesThatAreNoKeysDoNotShow) {
  std::ofstream(root_ + "/\xFF") << "x";
  std::ofstream(root_ + "/.tmp-lake-1") << "x";
  std::ofstream(root_ + "/.tmp_1.manifest") << "foreign temporaries are objects";
  fs::create_directories(root_ + "/empty/deeper");
  EXPECT_THAT(Keys(), ElementsAre(".tmp_1.manifest"));
  auto page = store_->List(context_, {"", "", "/"});
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(page->common_prefixes, IsEmpty());
}

TEST_F(LocalStoreTest, TooLongNamesAreInvalid) {
  EXPECT_EQ(CodeOf(Put(std::string(256, 'x'), "")), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(Put(std::string(255, 'x'), "").ok());
}

TEST_F(LocalStoreTest, FoldersNestedTooDeepAreRefused) {
  std::string path = root_;
  for (int i = 0; i < 120; ++i) path += "/d";
  fs::create_directories(path);
  std::ofstream(path + "/x") << "x";
  EXPECT_EQ(CodeOf(store_->List(context_, {}).status()), ErrorCode::kUnsupported);
}

TEST_F(LocalStoreTest, TemporariesLieInTheTempDirAndGoAway) {
  const std::string temp_dir = folder_ / "tmp";
  fs::create_directory(temp_dir);
  auto opened = OpenLocalStore(root_, {temp_dir});
  ASSERT_TRUE(opened.ok()) << opened.status();
  store_ = *opened;
  {
    auto writer = store_->OpenWriter(context_, "a/w", PutCondition::kNone);
    ASSERT_TRUE(writer.ok());
    auto staged = store_->Stage(context_, "a/s", "bytes");
    ASSERT_TRUE(staged.ok());
    EXPECT_EQ(Temporaries(temp_dir).size(), 2u);
    EXPECT_THAT(Temporaries(root_), IsEmpty());
  }
  EXPECT_TRUE(fs::is_empty(temp_dir));
  ASSERT_TRUE(Put("a/p", "x").ok());
  EXPECT_TRUE(fs::is_empty(temp_dir));
}

TEST_F(LocalStoreTest, WithoutATempDirTheyLieBesideTheTarget) {
  {
    auto staged = store_->Stage(context_, "a/s", "bytes");
    ASSERT_TRUE(staged.ok());
    EXPECT_EQ(Temporaries(root_ + "/a").size(), 1u);
    EXPECT_THAT(Keys(), IsEmpty());
  }
  EXPECT_THAT(Temporaries(root_), IsEmpty());
}

TEST_F(LocalStoreTest, WritersAndStagedObjectsOutliveTheStore) {
  auto writer = store_->OpenWriter(context_, "w", PutCondition::kNone);
  auto staged = store_->Stage(context_, "s", "bytes");
  ASSERT_TRUE(writer.ok() && staged.ok());
  store_.reset();
  ASSERT_TRUE((*writer)->Write("bytes").ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  ASSERT_TRUE((*staged)->Publish(context_, PutCondition::kIfAbsent).ok());
  EXPECT_TRUE(fs::exists(root_ + "/w"));
  EXPECT_TRUE(fs::exists(root_ + "/s"));
}

TEST_F(LocalStoreTest, EqualRandomNamesDoNotCollide) {
  FakeRandom first(1);
  FakeRandom second(1);
  Context one;
  one.random = &first;
  Context two;
  two.random = &second;
  auto a = store_->Stage(one, "a", "a");
  auto b = store_->Stage(two, "b", "b");
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE((*a)->Publish(context_, PutCondition::kNone).ok());
  ASSERT_TRUE((*b)->Publish(context_, PutCondition::kNone).ok());
  EXPECT_EQ(Read("a"), "a");
  EXPECT_EQ(Read("b"), "b");
}

TEST_F(LocalStoreTest, SeesWhatAnotherProcessReplacedOrDeleted) {
  // A second store stands for another process: they share nothing but the files.
  auto other = *OpenLocalStore(root_);
  ASSERT_TRUE(Put("x", "one").ok());
  EXPECT_EQ(Read("x"), "one");
  EXPECT_EQ(Read("x"), "one");
  ASSERT_TRUE(other->Put(context_, "x", "another", PutCondition::kNone).ok());
  EXPECT_EQ(Read("x"), "another");
  ASSERT_TRUE(other->Delete(context_, "x").ok());
  EXPECT_EQ(Read("x"), "not_found");
}

TEST_F(LocalStoreTest, AFileWithASecondNameIsNotTrustedOnceItsKeyIsGone) {
  ASSERT_TRUE(Put("x", "one").ok());
  EXPECT_EQ(Read("x"), "one");
  // As a backup by hard links does.
  fs::create_hard_link(root_ + "/x", folder_ / "backup");
  EXPECT_EQ(Read("x"), "one");
  fs::remove(root_ + "/x");
  EXPECT_EQ(Read("x"), "not_found");
}

TEST_F(LocalStoreTest, AFileThatShrankIsAnErrorNotZeroes) {
  ASSERT_TRUE(Put("x", "0123456789").ok());
  ASSERT_TRUE(store_->Get(context_, "x", {0, 10}).ok());
  fs::resize_file(root_ + "/x", 4);
  Status status = store_->Get(context_, "x", {2, 8}).status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kIo);
  EXPECT_NE(status.message().find("'x'"), std::string::npos) << status.message();
}

TEST_F(LocalStoreTest, RefusesAStagedObjectOfAnotherStore) {
  class Foreign : public StagedObject {
   public:
    const std::string& key() const override { return key_; }
    Status Publish(const Context&, PutCondition) override { return Status::OK(); }

   private:
    const std::string key_ = "foreign";
  };
  Foreign foreign;
  StagedObject* const objects[] = {&foreign};
  EXPECT_EQ(CodeOf(store_->Sync(context_, {}, objects)), ErrorCode::kInvalidArgument);
}

TEST_F(LocalStoreTest, MissingRightsAreNamed) {
  ASSERT_TRUE(Put("locked/x", "1").ok());
  fs::permissions(root_ + "/locked", fs::perms::none);
  // root may do everything, so it steps down for the calls.
  const bool is_root = geteuid() == 0;
  ASSERT_TRUE(!is_root || seteuid(65534) == 0);
  Status get = store_->Get(context_, "locked/x", {0, 1}).status();
  Status put = Put("locked/y", "1");
  Status list = store_->List(context_, {"locked/", "", ""}).status();
  ASSERT_TRUE(!is_root || seteuid(0) == 0);
  fs::permissions(root_ + "/locked", fs::perms::owner_all);
  for (const Status& status : {get, put, list}) {
    EXPECT_EQ(CodeOf(status), ErrorCode::kPermissionDenied) << status.ToString();
    EXPECT_NE(status.message().find("locked"), std::string::npos) << status.message();
  }
  EXPECT_THAT(Keys(), ElementsAre("locked/x"));
}

// Larger than what is given to the device at once, and not a multiple of it.
TEST_F(LocalStoreTest, LargeObjectsComeOutAsTheyWereWritten) {
  std::string expected;
  auto writer = store_->OpenWriter(context_, "large", PutCondition::kIfAbsent);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (size_t i = 0; expected.size() < (20 << 20); ++i) {
    const std::string piece((i * i * 7919) % 700'000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE((*writer)->Write(piece).ok());
    expected += piece;
  }
  EXPECT_EQ((*writer)->position(), expected.size());
  ASSERT_TRUE((*writer)->Finish().ok());
  auto bytes = store_->GetAll(context_, "large", expected.size());
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_TRUE((*bytes)->ToString() == expected);
}

TEST_F(LocalStoreTest, AFullDiskIsNamed) {
  int fd = open("/dev/full", O_WRONLY);
  ASSERT_GE(fd, 0);
  Status status = WriteFully(fd, "bytes", "some/key");
  close(fd);
  EXPECT_EQ(CodeOf(status), ErrorCode::kOutOfSpace);
  EXPECT_NE(status.message().find("some/key"), std::string::npos) << status.message();
}

TEST_F(LocalStoreTest, OpenRefusesWhatIsNoFolder) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_EQ(CodeOf(OpenLocalStore(folder_ / "file").status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(OpenLocalStore(folder_ / "file/below").status()), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(OpenLocalStore("").status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(OpenLocalStore(root_, {folder_ / "no-temp-dir"}).status()),
            ErrorCode::kNotFound);
}

TEST_F(LocalStoreTest, OpenRefusesATempDirOnAnotherFileSystem) {
  struct stat here{};
  struct stat there{};
  ASSERT_EQ(stat(root_.c_str(), &here), 0);
  ASSERT_EQ(stat("/proc", &there), 0);
  ASSERT_NE(here.st_dev, there.st_dev);
  EXPECT_EQ(CodeOf(OpenLocalStore(root_, {"/proc"}).status()), ErrorCode::kUnsupported);
}

TEST(LocalFileCacheTest, KeepsABoundedNumberOfFilesOpen) {
  TestFolder folder;
  for (int i = 0; i < 10; ++i) std::ofstream(folder / std::to_string(i)) << i;
  int root = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
  LocalFileCache cache(3);
  std::weak_ptr<LocalFile> first = *cache.Open(root, "0");
  ASSERT_TRUE(cache.Open(root, "1").ok());
  ASSERT_TRUE(cache.Open(root, "2").ok());
  // Used again, so "1" is the one that goes.
  EXPECT_EQ(cache.Open(root, "0")->get(), first.lock().get());
  ASSERT_TRUE(cache.Open(root, "3").ok());
  EXPECT_EQ(cache.num_open(), 3u);
  EXPECT_FALSE(first.expired());
  for (int i = 4; i < 10; ++i) ASSERT_TRUE(cache.Open(root, std::to_string(i)).ok());
  EXPECT_EQ(cache.num_open(), 3u);
  EXPECT_TRUE(first.expired());
  close(root);
}

}  // namespace
}  // namespace lake::storage
