#include "lake/service/ingest.h"

#include <filesystem>
#include <fstream>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/base/uuid.h"
#include "lake/objects/data_location.h"

namespace lake::service {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class IngestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    lakehouse_ = commit::Lakehouse::Open(context_, {.data_dir = folder_ / "data"}).ValueOrDie();
    request_.table = {.name_space = "main", .name = "t"};
  }

  std::string Write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::trunc) << bytes;
    return folder_ / name;
  }

  std::string WriteIpc(const std::string& name, const arrow::Table& table) {
    auto file = arrow::io::FileOutputStream::Open(folder_ / name).ValueOrDie();
    auto writer = arrow::ipc::MakeFileWriter(file, table.schema()).ValueOrDie();
    EXPECT_TRUE(writer->WriteTable(table).ok());
    EXPECT_TRUE(writer->Close().ok());
    EXPECT_TRUE(file->Close().ok());
    return folder_ / name;
  }

  static std::shared_ptr<arrow::Table> Table(const std::shared_ptr<arrow::Schema>& schema,
                                             const std::vector<std::string>& json) {
    arrow::ArrayVector columns;
    for (size_t i = 0; i < json.size(); ++i) {
      columns.push_back(
          arrow::json::ArrayFromJSONString(schema->field(static_cast<int>(i))->type(), json[i])
              .ValueOrDie());
    }
    return arrow::Table::Make(schema, columns);
  }

  void CreateTable(const arrow::Schema& schema) {
    auto write = lakehouse_->Create(context_, {}, request_.table, schema, {}, {}).ValueOrDie();
    ASSERT_TRUE(write->Commit(context_).ok());
  }

  Result<IngestResult> Run(std::vector<std::string> paths, bool create = false,
                           const std::string& operation_id = "") {
    request_.paths = std::move(paths);
    request_.create = create;
    request_.operation_id = operation_id;
    return Ingest(context_, lakehouse_.get(), {}, request_);
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

  Context context_;
  TestFolder folder_;
  std::shared_ptr<commit::Lakehouse> lakehouse_;
  IngestRequest request_;
};

// CLI-05, CLI-06: values that SQL cannot hold stay exact.
TEST_F(IngestTest, CreatesATableThatKeepsEveryValue) {
  auto schema =
      arrow::schema({arrow::field("t", arrow::timestamp(arrow::TimeUnit::NANO, "Europe/Berlin")),
                     arrow::field("c", arrow::time64(arrow::TimeUnit::NANO)),
                     arrow::field("d", arrow::duration(arrow::TimeUnit::NANO)),
                     arrow::field("s", arrow::utf8(), false)});
  auto table = Table(schema, {"[1700000000000000001, null]", "[86399999999999, null]", "[-1, null]",
                              "[\"a\", \"\"]"});
  IngestResult result = Run({WriteIpc("a.arrow", *table)}, true).ValueOrDie();
  EXPECT_EQ(result.outcome.version, 1u);
  EXPECT_EQ(result.outcome.num_rows, 2u);
  EXPECT_FALSE(result.outcome.replayed);
  EXPECT_TRUE(Uuid::Parse(result.operation_id).ok());
  EXPECT_TRUE(Rows()->schema()->Equals(*schema, false)) << Rows()->schema()->ToString();
  EXPECT_TRUE(Rows()->Equals(*table)) << Rows()->ToString();
}

// All sources of one call, of different formats, are one commit.
TEST_F(IngestTest, SeveralSourcesAreOneCommit) {
  auto schema =
      arrow::schema({arrow::field("n", arrow::int32()), arrow::field("s", arrow::utf8())});
  CreateTable(*schema);
  auto other =
      arrow::schema({arrow::field("s", arrow::large_utf8()), arrow::field("n", arrow::int64())});
  std::string ipc = WriteIpc("b.arrow", *Table(other, {"[\"x\"]", "[3]"}));
  IngestProgress last;
  request_.progress = [&](const IngestProgress& progress) { last = progress; };
  IngestResult result =
      Run({Write("a.csv", "n,s\n1,a\n2,\n"), ipc, Write("c.csv", "n\n4\n")}).ValueOrDie();
  EXPECT_EQ(result.outcome.version, 2u);
  EXPECT_EQ(result.outcome.num_rows, 4u);
  EXPECT_TRUE(Rows()->Equals(*Table(schema, {"[1, 2, 3, 4]", "[\"a\", null, \"x\", null]"})))
      << Rows()->ToString();
  EXPECT_EQ(last.files_done, 3u);
  EXPECT_EQ(last.files_total, 3u);
  EXPECT_EQ(last.bytes_done, last.bytes_total);
  EXPECT_EQ(last.rows, 4u);
}

// Bad input: an error, the table unchanged.
TEST_F(IngestTest, BadRowsChangeNothing) {
  CreateTable(*arrow::schema({arrow::field("n", arrow::int32(), false)}));
  struct Case {
    std::string path;
    std::vector<const char*> texts;
  };
  auto longs = arrow::schema({arrow::field("n", arrow::int64())});
  const Case cases[] = {
      {Write("a.csv", "n\n1\nx\n"), {"a.csv", "column 'n'", "Row #3"}},
      {Write("b.csv", "n\n1\n\"\"\n\n"), {"b.csv", "column 'n'"}},
      {Write("c.csv", "n,m\n1,2\n"), {"c.csv", "does not have: 'm'"}},
      {Write("d.csv", "m\n1\n"), {"d.csv"}},
      {WriteIpc("e.arrow", *Table(longs, {"[1, 3000000000]"})), {"e.arrow", "column 'n'", "row 2"}},
      {WriteIpc("f.arrow", *Table(longs, {"[1, null]"})),
       {"f.arrow", "column 'n'", "row 2", "NULL"}},
      {folder_ / "missing", {"missing"}},
      {folder_.path(), {"regular files"}},
      {Write("g.json", "{}"), {"g.json", "JSON"}},
  };
  std::string good = Write("good.csv", "n\n1\n");
  for (const Case& c : cases) {
    Status status = Run({good, c.path}).status();
    ASSERT_FALSE(status.ok()) << c.path;
    for (const char* text : c.texts) EXPECT_THAT(status.ToString(), HasSubstr(text));
  }
  EXPECT_EQ(Open()->dataset->manifest().version(), 1u);
  EXPECT_TRUE(lakehouse_->FindLeftovers(context_).ValueOrDie().empty());
}

TEST_F(IngestTest, AFailedCreateLeavesNoTable) {
  EXPECT_FALSE(Run({Write("a.csv", "n\n1\n"), Write("b.csv", "n\nx\n")}, true).ok());
  EXPECT_FALSE(Run({Write("c.csv", "n,n\n1,2\n")}, true).ok());
  EXPECT_EQ(CodeOf(lakehouse_->OpenByName(context_, {}, request_.table, catalog::NameMatch::kExact)
                       .status()),
            ErrorCode::kNotFound);
  // And the name is free.
  EXPECT_TRUE(Run({folder_ / "a.csv"}, true).ok());
  EXPECT_EQ(CodeOf(Run({folder_ / "a.csv"}, true).status()), ErrorCode::kAlreadyExists);
}

TEST_F(IngestTest, FileColumnsAreRefusedByName) {
  auto files = arrow::schema(
      {arrow::field("n", arrow::int32()), arrow::field("video", objects::DataLocationType())});
  CreateTable(*files);
  auto rows = Table(files, {"[1]", "[null]"});
  std::string path = WriteIpc("a.arrow", *rows);
  for (bool create : {false, true}) {
    request_.table.name = create ? "new" : "t";
    Status status = Run({path}, create).status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported) << status.ToString();
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("FILE"), HasSubstr("'video'")));
  }
  request_.table.name = "t";
  EXPECT_EQ(CodeOf(Run({Write("a.csv", "n,video\n1,file:///x\n")}).status()),
            ErrorCode::kUnsupported);
  EXPECT_TRUE(Run({Write("b.csv", "n\n1\n")}).ok());
}

// Running again with the same id and input replays; with other input it is refused.
TEST_F(IngestTest, TheSameOperationHappensOnce) {
  CreateTable(*arrow::schema({arrow::field("n", arrow::int64())}));
  std::string id = Uuid::NewV7(context_).ToString();
  std::string path = Write("a.csv", "n\n1\n2\n");
  IngestResult first = Run({path}, false, id).ValueOrDie();
  EXPECT_EQ(first.operation_id, id);
  EXPECT_FALSE(first.outcome.replayed);
  // The bytes count, not the name.
  fs::copy_file(path, folder_ / "copy.csv");
  IngestResult second = Run({folder_ / "copy.csv"}, false, id).ValueOrDie();
  EXPECT_TRUE(second.outcome.replayed);
  EXPECT_EQ(second.outcome.version, first.outcome.version);
  EXPECT_EQ(Rows()->num_rows(), 2);

  for (auto paths : {std::vector<std::string>{Write("b.csv", "n\n1\n3\n")},
                     std::vector<std::string>{path, path}}) {
    Status status = Run(paths, false, id).status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument) << status.ToString();
  }
  EXPECT_EQ(CodeOf(Run({path}, false, "not-a-uuid").status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Rows()->num_rows(), 2);
  // Without an id each run is its own.
  EXPECT_FALSE(Run({path}).ValueOrDie().outcome.replayed);
  EXPECT_EQ(Rows()->num_rows(), 4);
}

TEST_F(IngestTest, AReplayedCreateFindsItsTable) {
  std::string id = Uuid::NewV7(context_).ToString();
  std::string path = Write("a.csv", "n\n1\n2\n");
  ASSERT_TRUE(Run({path}, true, id).ok());
  EXPECT_TRUE(Run({path}, true, id).ValueOrDie().outcome.replayed);
  EXPECT_EQ(Rows()->num_rows(), 2);
}

TEST_F(IngestTest, ASourceThatChangesIsRefused) {
  CreateTable(*arrow::schema({arrow::field("n", arrow::int64())}));
  std::string path = Write("a.csv", "n\n1\n2\n");
  request_.progress = [&](const IngestProgress& progress) {
    if (progress.rows == 0) std::ofstream(path, std::ios::app) << "3\n";
  };
  Status status = Run({path}).status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("changed while it was read"));
  EXPECT_EQ(Open()->dataset->manifest().version(), 1u);
}

TEST_F(IngestTest, NoRowsMakeNoVersion) {
  CreateTable(*arrow::schema({arrow::field("n", arrow::int64())}));
  EXPECT_EQ(Run({Write("a.csv", "n\n")}).ValueOrDie().outcome.num_rows, 0u);
  EXPECT_EQ(Open()->dataset->manifest().version(), 1u);
}

TEST_F(IngestTest, CancellingChangesNothing) {
  CreateTable(*arrow::schema({arrow::field("n", arrow::int64())}));
  context_.cancel.Cancel();
  EXPECT_EQ(CodeOf(Run({Write("a.csv", "n\n1\n")}).status()), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace lake::service
