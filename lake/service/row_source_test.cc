#include "lake/service/row_source.h"

#include <filesystem>
#include <fstream>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include "lake/base/testing/fake_random.h"
#include "lake/base/testing/test_folder.h"

namespace lake::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RowSourceTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  std::string Write(const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::binary | std::ios::trunc) << bytes;
    return Path(name);
  }

  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  // All rows as one table.
  Result<std::shared_ptr<arrow::Table>> ReadAll(const std::string& path,
                                                const arrow::Schema* wanted = nullptr) {
    ARROW_ASSIGN_OR_RAISE(auto source, OpenRowSource(context_, path, wanted));
    arrow::RecordBatchVector batches;
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto batch, source->Next());
      if (batch == nullptr) break;
      batches.push_back(std::move(batch));
    }
    return arrow::Table::FromRecordBatches(source->schema(), batches);
  }

  static std::shared_ptr<arrow::Table> Sample() {
    auto schema =
        arrow::schema({arrow::field("n", arrow::int64()), arrow::field("s", arrow::utf8()),
                       arrow::field("t", arrow::timestamp(arrow::TimeUnit::NANO, "Europe/Berlin")),
                       arrow::field("d", arrow::duration(arrow::TimeUnit::NANO)),
                       arrow::field("c", arrow::time64(arrow::TimeUnit::NANO)),
                       arrow::field("v", arrow::fixed_size_list(arrow::float32(), 2))});
    arrow::ArrayVector columns;
    const char* json[] = {"[1, null, 3]",    "[\"a\", null, \"\"]", "[1, 1001, null]",
                          "[1, 1001, null]", "[1, 1001, null]",     "[[1, 2], null, [3, 4]]"};
    for (int i = 0; i < schema->num_fields(); ++i) {
      columns.push_back(
          arrow::json::ArrayFromJSONString(schema->field(i)->type(), json[i]).ValueOrDie());
    }
    return arrow::Table::Make(schema, columns);
  }

  std::string WriteParquet(const std::string& name, const arrow::Table& table) {
    auto file = arrow::io::FileOutputStream::Open(Path(name)).ValueOrDie();
    auto properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    EXPECT_TRUE(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), file, 1000,
                                           parquet::default_writer_properties(), properties)
                    .ok());
    return Path(name);
  }

  std::string WriteIpc(const std::string& name, const arrow::Table& table, bool stream) {
    auto file = arrow::io::FileOutputStream::Open(Path(name)).ValueOrDie();
    auto writer = (stream ? arrow::ipc::MakeStreamWriter(file, table.schema())
                          : arrow::ipc::MakeFileWriter(file, table.schema()))
                      .ValueOrDie();
    EXPECT_TRUE(writer->WriteTable(table).ok());
    EXPECT_TRUE(writer->Close().ok());
    EXPECT_TRUE(file->Close().ok());
    return Path(name);
  }

  Context context_;
  TestFolder folder_;
};

// CLI-06: what SQL could not hold comes through exactly.
TEST_F(RowSourceTest, ParquetAndIpcKeepTypesAndValues) {
  auto table = Sample();
  for (const std::string& path :
       {WriteParquet("a.parquet", *table), WriteIpc("a.arrow", *table, false),
        WriteIpc("a.arrows", *table, true), WriteParquet("no-ending", *table)}) {
    auto rows = ReadAll(path);
    ASSERT_TRUE(rows.ok()) << path << rows.status().ToString();
    ASSERT_TRUE((*rows)->schema()->Equals(*table->schema(), false))
        << (*rows)->schema()->ToString();
    EXPECT_TRUE((*rows)->CombineChunks().ValueOrDie()->Equals(*table)) << path;
  }
}

TEST_F(RowSourceTest, CsvTypesAreInferred) {
  auto rows = ReadAll(Write("a.csv",
                            "n,f,b,s,d,t,empty\n"
                            "1,0.5,true,x,2024-01-02,2024-01-02 03:04:05,\n"
                            ",,,,,,\n"
                            "3,1,false,\"a,\"\"b\"\"\nc\",2024-01-03,2024-01-02 03:04:06,\n"
                            "4,2,true,\"\",2024-01-03,2024-01-02 03:04:06,\n"))
                  .ValueOrDie();
  EXPECT_EQ(rows->schema()->ToString(),
            "n: int64\nf: double\nb: bool\ns: string\nd: date32[day]\nt: timestamp[s]\nempty: "
            "string");
  EXPECT_TRUE(rows->column(3)->chunk(0)->Equals(
      arrow::json::ArrayFromJSONString(arrow::utf8(), R"(["x", null, "a,\"b\"\nc", ""])")
          .ValueOrDie()))
      << rows->column(3)->ToString();
}

TEST_F(RowSourceTest, CsvTakesTheTypesThatAreWanted) {
  auto wanted =
      arrow::schema({arrow::field("n", arrow::int8()), arrow::field("s", arrow::large_utf8()),
                     arrow::field("p", arrow::decimal128(5, 2)),
                     arrow::field("t", arrow::timestamp(arrow::TimeUnit::NANO, "UTC")),
                     arrow::field("v", arrow::fixed_size_list(arrow::float32(), 2))});
  auto rows = ReadAll(Write("a.csv", "n,s,p,t,v\n1,NA,1.25,2024-01-01T00:00:00.000000001Z,x\n"),
                      wanted.get())
                  .ValueOrDie();
  EXPECT_EQ(rows->schema()->ToString(),
            "n: int8\ns: large_string\np: decimal128(5, 2)\nt: timestamp[ns, tz=UTC]\nv: string");
  EXPECT_EQ(rows->column(1)->GetScalar(0).ValueOrDie()->ToString(), "NA");
}

// A CSV reader that is dropped may read ahead for a while on another thread. The next one must not
// share a position with it: only reads that name their offset are allowed.
class PositionlessFile : public arrow::io::RandomAccessFile {
 public:
  explicit PositionlessFile(std::shared_ptr<arrow::io::RandomAccessFile> file)
      : file_(std::move(file)) {}

  arrow::Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }
  arrow::Result<int64_t> GetSize() override { return file_->GetSize(); }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    return file_->ReadAt(position, size, out);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override {
    return file_->ReadAt(position, size);
  }

  arrow::Result<int64_t> Tell() const override { return Shared(); }
  arrow::Status Seek(int64_t) override { return Shared(); }
  arrow::Result<int64_t> Read(int64_t, void*) override { return Shared(); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t) override { return Shared(); }

 private:
  static arrow::Status Shared() { return arrow::Status::Invalid("a shared position was used"); }

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
};

TEST_F(RowSourceTest, CsvReadersShareNoPosition) {
  std::string path = Write("a.csv", "\xEF\xBB\xBF\"n\",\"empty\"\n1,\n2,\n");
  auto file = std::make_shared<PositionlessFile>(arrow::io::ReadableFile::Open(path).ValueOrDie());
  auto source = OpenCsvSource(context_, file, path, ',', nullptr).ValueOrDie();
  EXPECT_EQ(source->schema()->ToString(), "n: int64\nempty: string");
  EXPECT_EQ(source->Next().ValueOrDie()->num_rows(), 2);
  EXPECT_EQ(source->Next().ValueOrDie(), nullptr);
}

TEST_F(RowSourceTest, TabsSeparateTsv) {
  auto rows = ReadAll(Write("a.tsv", "a\tb\n1\tx,y\n")).ValueOrDie();
  EXPECT_EQ(rows->num_columns(), 2);
}

// Bad CSV rows: with row and column.
TEST_F(RowSourceTest, BadCsvNamesRowAndColumn) {
  auto wanted = arrow::schema({arrow::field("n", arrow::int32())});
  struct Case {
    const char* text;
    std::vector<const char*> expected;
  };
  const Case cases[] = {
      {"id,n\n1,2\n2,zz\n", {"column 'n'", "Row #3", "zz"}},
      {"id,n\n1,2\n2,99999999999\n", {"column 'n'", "Row #3", "99999999999"}},
      {"id,n\n1,2\n2\n", {"Row #3", "Expected 2 columns, got 1"}},
      {"id,n\n1,2\n2,3,4\n", {"Row #3", "Expected 2 columns, got 3"}},
      {"", {"Empty CSV file"}},
  };
  for (const Case& c : cases) {
    std::string path = Write("bad.csv", c.text);
    Status status = ReadAll(path, wanted.get()).status();
    ASSERT_FALSE(status.ok()) << c.text;
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.ToString(), HasSubstr("bad.csv"));
    for (const char* text : c.expected) EXPECT_THAT(status.ToString(), HasSubstr(text));
  }
}

// A value that comes late and does not have the inferred type.
TEST_F(RowSourceTest, ALateValueOfAnotherTypeNamesRowAndColumn) {
  std::string text = "n\n";
  for (int i = 0; i < 1'000'000; ++i) text += "1234567\n";
  text += "1.5\n";
  Status status = ReadAll(Write("late.csv", text)).status();
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("column 'n'"), HasSubstr("Row #1000002")));
}

TEST_F(RowSourceTest, OtherFormatsAreRefusedByName) {
  const std::pair<std::string, const char*> cases[] = {
      {Write("a.csv.gz", "\x1F\x8B\x08rest"), "gzip"},
      {Write("a.zip", "PK\x03\x04rest"), "zip"},
      {Write("a.zst", "\x28\xB5\x2F\xFDrest"), "zstd"},
      {Write("a.json", "[]"), "JSON"},
      {Write("a.jsonl", "{}"), "JSON"},
      {Write("a.orc", "ORC"), "ORC"},
      {Write("a.feather", "FEA1"), "Feather"},
      {Write("a.bin", std::string("a\0b", 3)), "binary"},
  };
  for (const auto& [path, text] : cases) {
    Status status = OpenRowSource(context_, path, nullptr).status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported) << path << status.ToString();
    EXPECT_THAT(status.ToString(), HasSubstr(text));
  }
  EXPECT_EQ(CodeOf(OpenRowSource(context_, Path("missing"), nullptr).status()), ErrorCode::kIo);
}

// Hostile bytes: each prefix and many mutants of a file are read or refused, naming it.
TEST_F(RowSourceTest, DamagedFilesAreRefused) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  FakeRandom random(kSeed);
  auto table = Sample();
  for (const std::string& path :
       {WriteParquet("a.parquet", *table), WriteIpc("a.arrow", *table, false),
        WriteIpc("a.arrows", *table, true)}) {
    std::string bytes = Read(path);
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
      std::string damaged = bytes;
      if (i % 4 == 0) {
        damaged.resize(random.NextBelow(bytes.size()));
      } else {
        for (uint64_t flips = 1 + random.NextBelow(4); flips > 0; --flips) {
          damaged[random.NextBelow(damaged.size())] ^= static_cast<char>(1 + random.NextBelow(255));
        }
      }
      auto rows = ReadAll(Write("damaged", damaged));
      if (rows.ok()) {
        EXPECT_TRUE((*rows)->ValidateFull().ok());
      } else {
        ++refused;
        EXPECT_THAT(rows.status().ToString(), HasSubstr("damaged"));
      }
    }
    EXPECT_GT(refused, 50) << path;
  }
}

}  // namespace
}  // namespace lake::service
