#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lake/catalog/metastore.h"
#include "lake/catalog/sqlite_internal.h"
#include "lake/catalog/sqlite_schema_internal.h"
#include "lake/catalog/testing/metastore_conformance.h"

namespace lake::catalog {
namespace {

using ::testing::HasSubstr;

class TempFolder {
 public:
  TempFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "lake-metastore-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  std::string database() const { return path_ + "/metastore.db"; }

 private:
  std::string path_;
};

class SqliteUnderTest : public testing::MetastoreUnderTest {
 public:
  Result<std::shared_ptr<Metastore>> Open(const Context& context) override {
    return OpenSqliteMetastore(context, folder_.database());
  }

 private:
  TempFolder folder_;
};

class SqliteMetastoreTest : public ::testing::Test {
 protected:
  // Runs SQL past the metastore.
  void Execute(const std::string& sql) {
    auto connection =
        sqlite::Connection::Open(folder_.database(), sqlite::Durability::kFull).ValueOrDie();
    Status status = connection->Execute(sql.c_str());
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  Result<std::shared_ptr<Metastore>> Open() {
    return OpenSqliteMetastore(context_, folder_.database());
  }
  Entry MakeTable(Metastore* metastore, const std::string& name) {
    Entry entry;
    entry.incarnation = Uuid::NewV7(context_);
    entry.name = {kMainNamespace, name};
    entry.location = "tables/x";
    entry = metastore->BeginCreate(context_, entry, 1'000'000'000).ValueOrDie();
    EXPECT_TRUE(metastore->FinishCreate(context_, entry, Uuid::NewV4(context_)).ok());
    return entry;
  }

  TempFolder folder_;
  Context context_;
};

TEST_F(SqliteMetastoreTest, FilesArePrivate) {
  mode_t old_mask = umask(0);
  auto metastore = Open().ValueOrDie();
  MakeTable(metastore.get(), "t");
  umask(old_mask);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat info;
    ASSERT_EQ(stat((folder_.database() + suffix).c_str(), &info), 0) << suffix;
    EXPECT_EQ(info.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(SqliteMetastoreTest, NamesSurviveReopening) {
  {
    MakeTable(Open().ValueOrDie().get(), "t");
  }
  auto metastore = Open().ValueOrDie();
  auto view = metastore->ViewFor(Principal{});
  EXPECT_TRUE(view->Find(context_, {kMainNamespace, "t"}, NameMatch::kExact).ok());
}

TEST_F(SqliteMetastoreTest, ANewerSchemaIsRefused) {
  {
    Open().ValueOrDie();
  }
  Execute("PRAGMA user_version = 1000");
  Status status = Open().status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("schema version 1000"));
  EXPECT_THAT(status.message(), HasSubstr(folder_.database()));
}

TEST_F(SqliteMetastoreTest, AnotherProgramsDatabaseIsRefused) {
  {
    Open().ValueOrDie();
  }
  std::filesystem::remove(folder_.database());
  {
    std::ofstream(folder_.database());
  }
  Execute("CREATE TABLE t (x)");
  EXPECT_EQ(CodeOf(Open().status()), ErrorCode::kInvalidArgument);
  Execute("PRAGMA application_id = 77");
  EXPECT_EQ(CodeOf(Open().status()), ErrorCode::kInvalidArgument);
}

TEST_F(SqliteMetastoreTest, DamageIsReportedAsCorrupt) {
  {
    std::ofstream file(folder_.database(), std::ios::binary);
    file << std::string(8192, 'x');
  }
  Status status = Open().status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kCorrupt) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(folder_.database()));
}

TEST_F(SqliteMetastoreTest, ValuesThatNoLakeWritesAreCorrupt) {
  const char* const kDamages[] = {"incarnation = 'x'",
                                  "kind = 'x'",
                                  "format = ''",
                                  "properties = '[1]'",
                                  "properties = '{\"a\":1}'",
                                  "first_transaction = 'x'"};
  for (const char* damage : kDamages) {
    TempFolder folder;
    auto metastore = OpenSqliteMetastore(context_, folder.database()).ValueOrDie();
    MakeTable(metastore.get(), "t");
    auto connection =
        sqlite::Connection::Open(folder.database(), sqlite::Durability::kFull).ValueOrDie();
    ASSERT_TRUE(connection->Execute(fmt::format("UPDATE entries SET {}", damage).c_str()).ok());
    Status status = metastore->ViewFor(Principal{})->ListEntries(context_, "main").status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kCorrupt) << damage << ": " << status.ToString();
  }
}

TEST_F(SqliteMetastoreTest, NamesThatDifferByCaseAreAmbiguousInSql) {
  auto metastore = Open().ValueOrDie();
  MakeTable(metastore.get(), "Aa");
  MakeTable(metastore.get(), "b");
  // Only another protocol could make these.
  Execute("UPDATE entries SET name = 'aA', folded = 'aa' WHERE name = 'b'");
  Execute("INSERT INTO namespaces VALUES ('Main', 'main', 0), ('N', 'n', 0), ('n', 'n', 0)");
  auto view = metastore->ViewFor(Principal{});
  EXPECT_EQ(view->Find(context_, {"main", "aA"}, NameMatch::kSql)->name.name, "aA");
  Status status = view->Find(context_, {"main", "aa"}, NameMatch::kSql).status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("ambiguous"));
  EXPECT_EQ(CodeOf(view->Find(context_, {"main", "aa"}, NameMatch::kExact).status()),
            ErrorCode::kNotFound);
  EXPECT_EQ(*view->FindNamespace(context_, "n", NameMatch::kSql), "n");
  EXPECT_EQ(CodeOf(view->FindNamespace(context_, "MAIN", NameMatch::kSql).status()),
            ErrorCode::kInvalidArgument);
}

TEST_F(SqliteMetastoreTest, AWriterWaitsThirtySecondsForAnother) {
  auto metastore = Open().ValueOrDie();
  auto other = sqlite::Connection::Open(folder_.database(), sqlite::Durability::kFull).ValueOrDie();
  auto held =
      sqlite::Transaction::Begin(other.get(), sqlite::Transaction::Mode::kImmediate).ValueOrDie();
  FakeClock clock;
  Context context;
  context.clock = &clock;
  Status status = metastore->CreateNamespace(context, "n");
  EXPECT_EQ(CodeOf(status), ErrorCode::kIo) << status.ToString();
  EXPECT_TRUE(IsRetryable(status));
  EXPECT_GE(clock.MonotonicNanos(), 30'000'000'000);
  EXPECT_LT(clock.MonotonicNanos(), 31'000'000'000);

  context.deadline = clock.MonotonicNanos() + 1'000'000'000;
  EXPECT_EQ(CodeOf(metastore->CreateNamespace(context, "n")), ErrorCode::kDeadlineExceeded);
  // Readers do not wait.
  EXPECT_TRUE(metastore->ViewFor(Principal{})->ListNamespaces(context_).ok());
}

TEST_F(SqliteMetastoreTest, ManyOpenersOfANewFolderAgree) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      Status status = Open().status();
      EXPECT_TRUE(status.ok()) << status.ToString();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Open().ValueOrDie()->ViewFor(Principal{})->ListNamespaces(context_)->size(), 1u);
}

TEST_F(SqliteMetastoreTest, SeveralProcessesUseOneMetastore) {
  constexpr int kProcesses = 3;
  constexpr int kTables = 20;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Exits at once afterwards: the parent's test state must not be torn down here.
      Result<std::shared_ptr<Metastore>> metastore = Open();
      if (!metastore.ok()) _exit(2);
      for (int table = 0; table < kTables; ++table) {
        Entry entry;
        entry.incarnation = Uuid::NewV7(context_);
        entry.name = {kMainNamespace, fmt::format("t{}_{}", i, table)};
        entry.location = "tables/x";
        Result<Entry> begun = (*metastore)->BeginCreate(context_, entry, 1'000'000'000);
        if (!begun.ok()) _exit(3);
        if (!(*metastore)->FinishCreate(context_, *begun, Uuid::NewV4(context_)).ok()) _exit(4);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int wait_status = 0;
    ASSERT_EQ(waitpid(child, &wait_status, 0), child);
    EXPECT_TRUE(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) << wait_status;
  }
  auto view = Open().ValueOrDie()->ViewFor(Principal{});
  EXPECT_EQ(view->ListEntries(context_, "main")->size(), size_t{kProcesses * kTables});
}

TEST_F(SqliteMetastoreTest, AMissingFolderIsAnError) {
  Status status = OpenSqliteMetastore(context_, folder_.database() + "/no/metastore.db").status();
  EXPECT_FALSE(status.ok());
}

}  // namespace

namespace testing {
INSTANTIATE_TEST_SUITE_P(Sqlite, MetastoreConformance,
                         ::testing::Values(MetastoreBackend{
                             "Sqlite", [] { return std::make_unique<SqliteUnderTest>(); }}),
                         BackendName);
}  // namespace testing

}  // namespace lake::catalog
