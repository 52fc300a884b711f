// FILE values that come as parameters: what the sink itself refuses. The forgeries in SQL are in
// tests/sql/file_provenance.test.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/objects/stage.h"
#include "lake/query/testing/sql_harness.h"

namespace lake::query {
namespace {

namespace fs = std::filesystem;

class FileSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    lakehouse_ = commit::Lakehouse::Open(context_, {folder_ / "data"}).ValueOrDie();
    sql_ = SqlHarness::Open(lakehouse_).ValueOrDie();
    ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT, video FILE)").ok());
    good_ = Upload({});
  }

  objects::DataLocation Upload(const catalog::Principal& principal) {
    const std::string path = folder_ / "source.txt";
    std::ofstream(path) << "the bytes of an object";
    auto stage = lakehouse_->StageFor(context_, principal).ValueOrDie();
    return stage->UploadFile(context_, path, {}).ValueOrDie();
  }

  std::string PathOf(const objects::DataLocation& location) {
    return objects::PathFromFileUri(location.uri).ValueOrDie();
  }

  Status Insert(const objects::DataLocation& location) {
    return sql_->Run("INSERT INTO t VALUES (1, ?)", {location}).status();
  }

  const Context context_;
  const TestFolder folder_{FastTestParent()};
  std::shared_ptr<commit::Lakehouse> lakehouse_;
  std::unique_ptr<SqlHarness> sql_;
  objects::DataLocation good_;
};

TEST_F(FileSinkTest, TakesAnUploadOfItsOwn) {
  ASSERT_TRUE(Insert(good_).ok());
  EXPECT_EQ(sql_->Rows("SELECT video.uri, video.size_bytes FROM t").ValueOrDie(),
            std::vector<std::string>{good_.uri + ", 22"});
}

TEST_F(FileSinkTest, RefusesForgedLocations) {
  // A link in the stage that leads out of it.
  const fs::path stage_folder = fs::path(PathOf(good_)).parent_path();
  const fs::path secret = fs::path(folder_ / "secret.txt");
  std::ofstream(secret) << "the bytes of a secret!";
  fs::create_symlink(secret, stage_folder / "link");

  std::vector<std::pair<std::string, objects::DataLocation>> forgeries;
  const auto forge = [&](const std::string& what, const auto& change) {
    objects::DataLocation location = good_;
    change(location);
    forgeries.emplace_back(what, location);
  };
  const auto at = [&](const fs::path& path) { return objects::FileUriFromPath(path.string()); };
  forge("outside", [&](auto& l) { l.uri = at(secret); });
  forge("dot dot",
        [&](auto& l) { l.uri = l.uri.substr(0, l.uri.rfind('/')) + "/../../../../secret.txt"; });
  forge("escaped dot dot", [&](auto& l) {
    l.uri = l.uri.substr(0, l.uri.rfind('/')) + "/%2E%2E/%2E%2E/%2E%2E/%2E%2E/secret.txt";
  });
  forge("symbolic link", [&](auto& l) { l.uri = at(stage_folder / "link"); });
  forge("missing", [&](auto& l) { l.uri.back() = l.uri.back() == '0' ? '1' : '0'; });
  forge("wrong size", [&](auto& l) { l.size_bytes += 1; });
  forge("digest in capitals", [&](auto& l) { l.sha256 = std::string(64, 'A'); });
  forge("other scheme", [&](auto& l) { l.uri = "http://example.com/x"; });
  forge("query", [&](auto& l) { l.uri += "?x=1"; });
  forge("empty", [&](auto& l) { l.uri = ""; });
  catalog::Principal stranger;
  stranger.tenant = "stranger";
  forgeries.emplace_back("another tenant's", Upload(stranger));

  for (const auto& [what, location] : forgeries) {
    SCOPED_TRACE(what);
    EXPECT_FALSE(Insert(location).ok()) << location.uri;
    // Inside a transaction the statement itself is told, not its COMMIT.
    ASSERT_TRUE(sql_->Run("BEGIN").ok());
    EXPECT_FALSE(Insert(location).ok()) << location.uri;
    ASSERT_TRUE(sql_->Run("ROLLBACK").ok());
  }
  EXPECT_EQ(sql_->Rows("SELECT count(*) FROM t").ValueOrDie(), std::vector<std::string>{"0"});
}

TEST_F(FileSinkTest, ParameterOfAnotherStatementProvesNothing) {
  ASSERT_TRUE(Insert(good_).ok());
  const std::string forged = "INSERT INTO t VALUES (2, {'uri': '" + good_.uri +
                             "', 'content_type': '" + good_.content_type +
                             "', 'size_bytes': 22, 'sha256': '" + good_.sha256 + "'}::FILE)";
  EXPECT_EQ(CodeOf(sql_->Run(forged).status()), ErrorCode::kInvalidArgument);
  // Nor does one of this statement that stands elsewhere.
  EXPECT_FALSE(sql_->Run("INSERT INTO t SELECT 3, coalesce(video, ?) FROM t", {good_}).ok());
}

}  // namespace
}  // namespace lake::query
