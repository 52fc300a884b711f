#include "lake/storage/testing/conformance.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <thread>

#include <arrow/buffer.h>

namespace lake::storage {
namespace {

using Buffers = std::vector<std::shared_ptr<arrow::Buffer>>;

#define EXPECT_CODE(expected, expression)                                        \
  do {                                                                           \
    const auto& outcome = (expression);                                          \
    ASSERT_FALSE(outcome.ok()) << #expression << " succeeded";                   \
    EXPECT_EQ(ErrorCodeName(CodeOf(StatusOf(outcome))), ErrorCodeName(expected)) \
        << StatusOf(outcome).ToString();                                         \
  } while (false)

const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const Result<T>& result) {
  return result.status();
}

std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 131 + (i >> 8) * 7);
  return bytes;
}

std::vector<std::string> KeysOf(const std::vector<ObjectInfo>& objects) {
  std::vector<std::string> keys;
  for (const ObjectInfo& info : objects) keys.push_back(info.key);
  return keys;
}

}  // namespace

// Test programs of other modules link this file without a backend.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ObjectStoreConformance);

void PrintTo(const StoreFactory& factory, std::ostream* out) { *out << factory.name; }

void ObjectStoreConformance::SetUp() {
  store_ = GetParam().make();
  ASSERT_NE(store_, nullptr);
}

std::vector<std::string> ObjectStoreConformance::Keys(const std::string& prefix) {
  auto all = ListAll(store_.get(), context_, prefix);
  EXPECT_TRUE(all.ok()) << all.status().ToString();
  return all.ok() ? KeysOf(*all) : std::vector<std::string>();
}

std::string ObjectStoreConformance::Read(const std::string& key) {
  auto bytes = store_->GetAll(context_, key, UINT64_MAX);
  return bytes.ok() ? (*bytes)->ToString() : "<" + ErrorText(bytes.status()) + ">";
}

void ObjectStoreConformance::MustPut(const std::string& key, std::string_view bytes) {
  Status status = store_->Put(context_, key, bytes, PutCondition::kNone);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

TEST_P(ObjectStoreConformance, ReadsWhatWasPut) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{100'000}}) {
    const std::string bytes = Pattern(size);
    MustPut("a/b", bytes);
    EXPECT_EQ(Read("a/b"), bytes);
    auto info = store_->Head(context_, "a/b");
    ASSERT_TRUE(info.ok()) << info.status().ToString();
    EXPECT_EQ(info->key, "a/b");
    EXPECT_EQ(info->size, size);
    EXPECT_GT(info->modified_nanos, 0);
  }
}

TEST_P(ObjectStoreConformance, ReadsRanges) {
  const std::string bytes = Pattern(1000);
  MustPut("x", bytes);
  for (ByteRange range : {ByteRange{0, 1000}, {0, 0}, {1000, 0}, {999, 1}, {17, 300}}) {
    auto got = store_->Get(context_, "x", range);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ((*got)->ToString(), bytes.substr(range.offset, range.length));
  }
}

TEST_P(ObjectStoreConformance, RangeOutsideTheObjectIsInvalid) {
  MustPut("x", Pattern(1000));
  for (ByteRange range : {ByteRange{0, 1001},
                          {1001, 0},
                          {999, 2},
                          {UINT64_MAX, 1},
                          {1, UINT64_MAX},
                          {UINT64_MAX, UINT64_MAX}}) {
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->Get(context_, "x", range));
    const ByteRange ranges[] = {{0, 1}, range};
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->GetMany(context_, "x", ranges));
  }
}

TEST_P(ObjectStoreConformance, GetAllIsBounded) {
  MustPut("x", Pattern(1000));
  EXPECT_TRUE(store_->GetAll(context_, "x", 1000).ok());
  EXPECT_CODE(ErrorCode::kInvalidArgument, store_->GetAll(context_, "x", 999));
}

TEST_P(ObjectStoreConformance, GetManyGivesEachRangeInTheOrderAsked) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string bytes = Pattern(3'000'000);
  MustPut("x", bytes);
  for (size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{50}}) {
    std::vector<ByteRange> ranges;
    for (size_t i = 0; i < count; ++i) {
      uint64_t offset = random() % bytes.size();
      uint64_t length = random() % std::min<uint64_t>(bytes.size() - offset + 1, 200'000);
      ranges.push_back({offset, length});
    }
    auto got = store_->GetMany(context_, "x", ranges);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    ASSERT_EQ(got->size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ((*got)[i]->ToString(), bytes.substr(ranges[i].offset, ranges[i].length)) << i;
    }
  }
}

TEST_P(ObjectStoreConformance, MissingObjectIsNotFound) {
  MustPut("folder/x", "1");
  for (const char* key : {"y", "folder", "folder/y", "no/such/folder", "folder/x/below"}) {
    SCOPED_TRACE(key);
    EXPECT_CODE(ErrorCode::kNotFound, store_->Get(context_, key, {0, 0}));
    EXPECT_CODE(ErrorCode::kNotFound, store_->GetAll(context_, key, 10));
    const ByteRange range = {0, 0};
    EXPECT_CODE(ErrorCode::kNotFound, store_->GetMany(context_, key, {&range, 1}));
    EXPECT_CODE(ErrorCode::kNotFound, store_->Head(context_, key));
    const std::string keys[] = {key};
    EXPECT_CODE(ErrorCode::kNotFound, store_->Sync(context_, keys, {}));
  }
}

TEST_P(ObjectStoreConformance, ErrorNamesTheKey) {
  Status status = store_->Head(context_, "some/missing-key").status();
  EXPECT_NE(status.message().find("some/missing-key"), std::string::npos) << status.message();
}

TEST_P(ObjectStoreConformance, BadKeysAreInvalid) {
  for (const std::string& key :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("."),
        std::string(".."), std::string("../a"), std::string("a/../b"), std::string("a/."),
        std::string("a\0b", 3), std::string("\xFF"), std::string("a/\xC0\xAF/b"),
        std::string("\xED\xA0\x80"), std::string("a/.tmp-lake-1/b")}) {
    SCOPED_TRACE(::testing::PrintToString(key));
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->Get(context_, key, {0, 0}));
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->GetAll(context_, key, 10));
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->GetMany(context_, key, {}));
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->Head(context_, key));
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->Put(context_, key, "", PutCondition::kNone));
    EXPECT_CODE(ErrorCode::kInvalidArgument,
                store_->OpenWriter(context_, key, PutCondition::kNone));
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->Stage(context_, key, ""));
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->Delete(context_, key));
    const std::string keys[] = {key};
    // A folder can be synced.
    if (key == "a/") continue;
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->Sync(context_, keys, {}));
  }
}

TEST_P(ObjectStoreConformance, UnusualKeysWork) {
  const std::vector<std::string> keys = {"with space", "100%", "a#1",    "ümläut/ß",
                                         "a\\b",       "a\nb", "...",    ".hidden",
                                         "..x/y",      "c:d",  "日本/語"};
  for (const std::string& key : keys) MustPut(key, key);
  for (const std::string& key : keys) EXPECT_EQ(Read(key), key);
  std::vector<std::string> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(Keys(), sorted);
}

TEST_P(ObjectStoreConformance, PutReplaces) {
  MustPut("x", "first, longer");
  EXPECT_EQ(Read("x"), "first, longer");
  MustPut("x", "second");
  EXPECT_EQ(Read("x"), "second");
}

TEST_P(ObjectStoreConformance, PutIfAbsentNeverReplaces) {
  EXPECT_TRUE(store_->Put(context_, "x", "first", PutCondition::kIfAbsent).ok());
  EXPECT_CODE(ErrorCode::kPreconditionFailed,
              store_->Put(context_, "x", "second", PutCondition::kIfAbsent));
  EXPECT_EQ(Read("x"), "first");
  EXPECT_EQ(Keys(), std::vector<std::string>{"x"});
}

TEST_P(ObjectStoreConformance, OneOfManyRacersWins) {
  for (int round = 0; round < 20; ++round) {
    const std::string key = "race/" + std::to_string(round);
    std::vector<Status> outcomes(8);
    std::vector<std::thread> racers;
    std::atomic<int> ready = 0;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      racers.emplace_back([&, i] {
        auto staged = store_->Stage(context_, key, std::to_string(i));
        ++ready;
        while (ready < 8) std::this_thread::yield();
        outcomes[i] =
            staged.ok() ? (*staged)->Publish(context_, PutCondition::kIfAbsent) : staged.status();
      });
    }
    for (std::thread& racer : racers) racer.join();
    size_t winners = 0;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].ok()) {
        ++winners;
        EXPECT_EQ(Read(key), std::to_string(i));
      } else {
        EXPECT_CODE(ErrorCode::kPreconditionFailed, outcomes[i]);
      }
    }
    EXPECT_EQ(winners, 1u);
  }
}

TEST_P(ObjectStoreConformance, WriterPublishesAtFinish) {
  const std::string bytes = Pattern(300'000);
  auto writer = store_->OpenWriter(context_, "d/w", PutCondition::kNone);
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  for (size_t at = 0, step = 1; at < bytes.size(); at += step, step = step * 3 % 100'003) {
    ASSERT_EQ((*writer)->position(), at);
    ASSERT_TRUE((*writer)->Write(std::string_view(bytes).substr(at, step)).ok());
  }
  EXPECT_EQ((*writer)->position(), bytes.size());
  EXPECT_CODE(ErrorCode::kNotFound, store_->Head(context_, "d/w"));
  EXPECT_TRUE(Keys().empty());
  ASSERT_TRUE((*writer)->Finish().ok());
  writer->reset();
  EXPECT_EQ(Read("d/w"), bytes);
}

TEST_P(ObjectStoreConformance, WriterWithoutAByteMakesAnEmptyObject) {
  auto writer = store_->OpenWriter(context_, "w", PutCondition::kIfAbsent);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_EQ(Read("w"), "");
}

TEST_P(ObjectStoreConformance, DroppedWriterLeavesNothing) {
  MustPut("d/w", "old");
  {
    auto writer = store_->OpenWriter(context_, "d/w", PutCondition::kNone);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Write(Pattern(200'000)).ok());
  }
  EXPECT_EQ(Read("d/w"), "old");
  EXPECT_EQ(Keys(), std::vector<std::string>{"d/w"});
}

TEST_P(ObjectStoreConformance, WriterIfAbsentLosesToAnObjectMadeMeanwhile) {
  auto writer = store_->OpenWriter(context_, "w", PutCondition::kIfAbsent);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write("mine").ok());
  MustPut("w", "theirs");
  EXPECT_CODE(ErrorCode::kPreconditionFailed, (*writer)->Finish());
  EXPECT_EQ(Read("w"), "theirs");
}

TEST_P(ObjectStoreConformance, StagedObjectAppearsWhenPublished) {
  auto staged = store_->Stage(context_, "d/s", "bytes");
  ASSERT_TRUE(staged.ok()) << staged.status().ToString();
  EXPECT_EQ((*staged)->key(), "d/s");
  EXPECT_TRUE(Keys().empty());
  StagedObject* const objects[] = {staged->get()};
  ASSERT_TRUE(store_->Sync(context_, {}, objects).ok());
  EXPECT_TRUE(Keys().empty());
  ASSERT_TRUE((*staged)->Publish(context_, PutCondition::kIfAbsent).ok());
  const std::string keys[] = {"d/s"};
  ASSERT_TRUE(store_->Sync(context_, keys, {}).ok());
  EXPECT_EQ(Read("d/s"), "bytes");
  staged->reset();
  EXPECT_EQ(Read("d/s"), "bytes");
  EXPECT_EQ(Keys(), std::vector<std::string>{"d/s"});
}

TEST_P(ObjectStoreConformance, StagedObjectLosesIfTheNameIsTaken) {
  auto staged = store_->Stage(context_, "s", "mine");
  ASSERT_TRUE(staged.ok());
  MustPut("s", "theirs");
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_CODE(ErrorCode::kPreconditionFailed,
                (*staged)->Publish(context_, PutCondition::kIfAbsent));
    EXPECT_EQ(Read("s"), "theirs");
  }
  ASSERT_TRUE(store_->Delete(context_, "s").ok());
  ASSERT_TRUE((*staged)->Publish(context_, PutCondition::kIfAbsent).ok());
  EXPECT_EQ(Read("s"), "mine");
}

TEST_P(ObjectStoreConformance, DroppedStagedObjectLeavesNothing) {
  {
    ASSERT_TRUE(store_->Stage(context_, "d/s", "bytes").ok());
  }
  EXPECT_TRUE(Keys().empty());
}

TEST_P(ObjectStoreConformance, AFolderIsSyncedWhateverIsLeftOfIt) {
  MustPut("folder/x", "1");
  MustPut("folder/y", "1");
  ASSERT_TRUE(store_->Delete(context_, "folder/x").ok());
  const std::string keys[] = {"folder/", "no/such/folder/"};
  EXPECT_TRUE(store_->Sync(context_, keys, {}).ok());
  EXPECT_TRUE(store_->Head(context_, "folder/y").ok());
}

TEST_P(ObjectStoreConformance, SyncTakesAllAtOnce) {
  std::vector<std::string> keys;
  for (int i = 0; i < 30; ++i) {
    keys.push_back("a/" + std::to_string(i % 3) + "/" + std::to_string(i));
    MustPut(keys.back(), "x");
  }
  keys.push_back(keys.front());
  auto staged = store_->Stage(context_, "b/s", "bytes");
  ASSERT_TRUE(staged.ok());
  StagedObject* const objects[] = {staged->get()};
  EXPECT_TRUE(store_->Sync(context_, keys, objects).ok());
  EXPECT_TRUE(store_->Sync(context_, {}, {}).ok());
}

TEST_P(ObjectStoreConformance, ListsInByteOrder) {
  // '-' < '.' < '/' < '0' decide between "a-", "a.", "a/" and "a0".
  const std::vector<std::string> sorted = {"B",     "a-b", "a.b", "a/",  "a/b", "a/b-c",
                                           "a/b/c", "a0b", "aa",  "b/c", "ü"};
  std::vector<std::string> keys;
  for (const std::string& key : sorted) {
    if (key != "a/" && key != "a/b") keys.push_back(key);
  }
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) MustPut(*key, *key);
  EXPECT_EQ(Keys(), keys);
}

TEST_P(ObjectStoreConformance, ListTakesAnyPrefix) {
  for (const char* key : {"a/b/c", "a/bc", "ab", "b"}) MustPut(key, "");
  using Strings = std::vector<std::string>;
  EXPECT_EQ(Keys("a"), (Strings{"a/b/c", "a/bc", "ab"}));
  EXPECT_EQ(Keys("a/"), (Strings{"a/b/c", "a/bc"}));
  EXPECT_EQ(Keys("a/b"), (Strings{"a/b/c", "a/bc"}));
  EXPECT_EQ(Keys("a/b/"), Strings{"a/b/c"});
  EXPECT_EQ(Keys("a/b/c"), Strings{"a/b/c"});
  EXPECT_EQ(Keys("a/b/c/"), Strings{});
  EXPECT_EQ(Keys("zz/"), Strings{});
  EXPECT_EQ(Keys("../"), Strings{});
  EXPECT_EQ(Keys("/"), Strings{});
  EXPECT_EQ(Keys("a//"), Strings{});
}

TEST_P(ObjectStoreConformance, ListChecksThePageSize) {
  for (size_t max_keys : {size_t{0}, size_t{1001}, SIZE_MAX}) {
    EXPECT_CODE(ErrorCode::kInvalidArgument, store_->List(context_, {"", "", "", max_keys}));
  }
}

TEST_P(ObjectStoreConformance, ListReportsSizes) {
  MustPut("a", Pattern(10));
  MustPut("b", Pattern(20));
  auto page = store_->List(context_, {});
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].size, 10u);
  EXPECT_EQ(page->objects[1].size, 20u);
  EXPECT_GT(page->objects[1].modified_nanos, 0);
  EXPECT_TRUE(page->next_start_after.empty());
}

// Random keys, every combination of prefix, delimiter and page size, against a model.
TEST_P(ObjectStoreConformance, ListPagesAgreeWithAModel) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> segments = {"a", "a-", "a.", "a0", "b", "b%", "ü"};
  // A name is a folder or an object, never both: folders have a "d" in front.
  std::set<std::string> keys;
  while (keys.size() < 120) {
    std::string key;
    for (uint64_t depth = random() % 4; depth > 0; --depth) {
      key += "d" + segments[random() % segments.size()] + "/";
    }
    keys.insert(key + segments[random() % segments.size()] + std::to_string(random() % 3));
  }
  for (const std::string& key : keys) MustPut(key, key);

  for (const std::string prefix : {"", "d", "da/", "da/d", "db%/da-/", "a"}) {
    for (const std::string delimiter : {"", "/", "-"}) {
      std::vector<std::string> objects;
      std::vector<std::string> common;
      for (const std::string& key : keys) {
        if (!key.starts_with(prefix)) continue;
        size_t at = delimiter.empty() ? key.npos : key.find(delimiter, prefix.size());
        if (at == key.npos) {
          objects.push_back(key);
        } else if (std::string group = key.substr(0, at + 1);
                   common.empty() || common.back() != group) {
          common.push_back(group);
        }
      }
      for (size_t max_keys : {size_t{1}, size_t{3}, size_t{7}, size_t{1000}}) {
        SCOPED_TRACE("prefix '" + prefix + "', delimiter '" + delimiter + "', page of " +
                     std::to_string(max_keys));
        ListRequest request{prefix, "", delimiter, max_keys};
        std::vector<std::string> got_objects;
        std::vector<std::string> got_common;
        do {
          auto page = store_->List(context_, request);
          ASSERT_TRUE(page.ok()) << page.status().ToString();
          ASSERT_LE(page->objects.size() + page->common_prefixes.size(), max_keys);
          for (const ObjectInfo& info : page->objects) got_objects.push_back(info.key);
          for (const std::string& name : page->common_prefixes) got_common.push_back(name);
          ASSERT_LE(got_objects.size() + got_common.size(), keys.size());
          request.start_after = page->next_start_after;
        } while (!request.start_after.empty());
        ASSERT_EQ(got_objects, objects);
        ASSERT_EQ(got_common, common);
      }
    }
  }

  // Any start, also one that is no key.
  for (int i = 0; i < 50; ++i) {
    std::string start = *std::next(keys.begin(), static_cast<long>(random() % keys.size()));
    start.resize(1 + random() % start.size());
    auto page = store_->List(context_, {"", start, ""});
    ASSERT_TRUE(page.ok());
    std::vector<std::string> expected(keys.upper_bound(start), keys.end());
    ASSERT_EQ(KeysOf(page->objects), expected) << start;
  }
}

TEST_P(ObjectStoreConformance, ListsMoreThanAPage) {
  std::vector<std::string> expected;
  for (int i = 0; i < 2500; ++i) {
    std::string number = std::to_string(i);
    expected.push_back("many/" + std::string(5 - number.size(), '0') + number);
    MustPut(expected.back(), "");
  }
  EXPECT_EQ(Keys("many/"), expected);
}

TEST_P(ObjectStoreConformance, DeletedObjectIsGone) {
  MustPut("d/x", "1");
  EXPECT_EQ(Read("d/x"), "1");
  ASSERT_TRUE(store_->Delete(context_, "d/x").ok());
  EXPECT_CODE(ErrorCode::kNotFound, store_->Get(context_, "d/x", {0, 1}));
  EXPECT_TRUE(Keys().empty());
  auto page = store_->List(context_, {"", "", "/"});
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->common_prefixes.empty());
  EXPECT_TRUE(store_->Delete(context_, "d/x").ok());
  EXPECT_TRUE(store_->Delete(context_, "never/was").ok());
  EXPECT_TRUE(store_->Put(context_, "d/x", "2", PutCondition::kIfAbsent).ok());
  EXPECT_EQ(Read("d/x"), "2");
}

TEST_P(ObjectStoreConformance, BuffersOutliveTheObject) {
  MustPut("x", Pattern(5000));
  auto bytes = store_->Get(context_, "x", {10, 4000});
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(store_->Delete(context_, "x").ok());
  store_.reset();
  EXPECT_EQ((*bytes)->ToString(), Pattern(5000).substr(10, 4000));
}

TEST_P(ObjectStoreConformance, CancelledCallsDoNothing) {
  MustPut("x", "1");
  Context cancelled;
  cancelled.cancel.Cancel();
  EXPECT_CODE(ErrorCode::kCancelled, store_->Get(cancelled, "x", {0, 1}));
  EXPECT_CODE(ErrorCode::kCancelled, store_->List(cancelled, {}));
  EXPECT_CODE(ErrorCode::kCancelled, store_->Put(cancelled, "y", "", PutCondition::kNone));
  EXPECT_CODE(ErrorCode::kCancelled, store_->Stage(cancelled, "y", ""));
  EXPECT_EQ(Keys(), std::vector<std::string>{"x"});
  // What finishes or cleans up goes on: cancelling must not turn "done" into "unknown".
  const std::string keys[] = {"x"};
  EXPECT_TRUE(store_->Sync(cancelled, keys, {}).ok());
  EXPECT_TRUE(store_->Delete(cancelled, "x").ok());
}

TEST_P(ObjectStoreConformance, ManyThreadsReadAndWrite) {
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string key = "t" + std::to_string(t) + "/" + std::to_string(i % 7);
        const std::string bytes = Pattern(static_cast<size_t>(100 + i));
        if (!store_->Put(context_, key, bytes, PutCondition::kNone).ok()) ++failures;
        auto got = store_->GetAll(context_, key, 1000);
        if (!got.ok() || (*got)->ToString() != bytes) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(Keys().size(), 4u * 7u);
}

}  // namespace lake::storage
