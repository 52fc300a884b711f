#include "lake/service/result_writer.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

namespace lake::service {
namespace {

std::shared_ptr<arrow::RecordBatch> SampleBatch() {
  auto schema =
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("name", arrow::utf8()),
                     arrow::field("score", arrow::float64())});
  arrow::Int64Builder id;
  arrow::StringBuilder name;
  arrow::DoubleBuilder score;
  EXPECT_TRUE(id.AppendValues({1, 20, 300}).ok());
  EXPECT_TRUE(name.AppendValues({"a,b", "", "x"}).ok());
  EXPECT_TRUE(score.Append(0.5).ok());
  EXPECT_TRUE(score.AppendNull().ok());
  EXPECT_TRUE(score.Append(std::numeric_limits<double>::infinity()).ok());
  return arrow::RecordBatch::Make(schema, 3, {*id.Finish(), *name.Finish(), *score.Finish()});
}

std::string Render(ResultFormat format,
                   const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  std::string out;
  auto writer = ResultWriter::Make(format, [&](std::string_view bytes) {
    out.append(bytes);
    return Status::OK();
  });
  EXPECT_TRUE(writer->Begin(batches[0]->schema()).ok());
  for (const auto& batch : batches) EXPECT_TRUE(writer->Write(*batch).ok());
  EXPECT_TRUE(writer->Finish().ok());
  return out;
}

TEST(ResultWriterTest, TableAlignsColumnsAndCountsRows) {
  EXPECT_EQ(Render(ResultFormat::kTable, {SampleBatch()}),
            "  id | name |    score\n"
            "-----+------+----------\n"
            "   1 | a,b  |      0.5\n"
            "  20 |      |     NULL\n"
            " 300 | x    | Infinity\n"
            "(3 rows)\n");
}

TEST(ResultWriterTest, TableMeasuresWideCharactersAndKeepsLinesWhole) {
  arrow::StringBuilder text;
  ASSERT_TRUE(text.AppendValues({"日本", "a\nb"}).ok());
  auto batch = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("t", arrow::utf8()), arrow::field("u", arrow::utf8())}), 2,
      {*text.Finish(), *arrow::MakeArrayOfNull(arrow::utf8(), 2)});
  EXPECT_EQ(Render(ResultFormat::kTable, {batch}),
            " t    | u\n"
            "------+------\n"
            " 日本 | NULL\n"
            " a\\nb | NULL\n"
            "(2 rows)\n");
}

TEST(ResultWriterTest, CsvQuotesAndTellsNullFromEmpty) {
  EXPECT_EQ(Render(ResultFormat::kCsv, {SampleBatch()}),
            "id,name,score\r\n"
            "1,\"a,b\",0.5\r\n"
            "20,\"\",\r\n"
            "300,x,Infinity\r\n");
}

TEST(ResultWriterTest, JsonIsOneArrayOverAllBatches) {
  EXPECT_EQ(Render(ResultFormat::kJson, {SampleBatch()->Slice(0, 1), SampleBatch()->Slice(2)}),
            "[\n"
            "{\"id\":1,\"name\":\"a,b\",\"score\":0.5},\n"
            "{\"id\":300,\"name\":\"x\",\"score\":\"Infinity\"}\n"
            "]\n");
}

TEST(ResultWriterTest, JsonOfNoRowsIsAnEmptyArray) {
  EXPECT_EQ(Render(ResultFormat::kJson, {SampleBatch()->Slice(0, 0)}), "[]\n");
}

TEST(ResultWriterTest, JsonLinesAreOneObjectEach) {
  EXPECT_EQ(Render(ResultFormat::kJsonLines, {SampleBatch()->Slice(1, 1)}),
            "{\"id\":20,\"name\":\"\",\"score\":null}\n");
}

TEST(ResultWriterTest, ArrowIsAnIpcStreamThatReadsBackEqual) {
  std::string bytes = Render(ResultFormat::kArrow, {SampleBatch()});
  auto input = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes));
  auto reader = arrow::ipc::RecordBatchStreamReader::Open(input);
  ASSERT_TRUE(reader.ok());
  auto batch = (*reader)->Next();
  ASSERT_TRUE(batch.ok());
  EXPECT_TRUE((*batch)->Equals(*SampleBatch()));
}

TEST(ResultWriterTest, AnErrorOfTheSinkEndsTheRendering) {
  auto writer = ResultWriter::Make(ResultFormat::kCsv, [](std::string_view) {
    return MakeError(ErrorCode::kOutOfSpace, "full");
  });
  ASSERT_TRUE(writer->Begin(SampleBatch()->schema()).ok());
  ASSERT_TRUE(writer->Write(*SampleBatch()).ok());
  EXPECT_EQ(CodeOf(writer->Finish()), ErrorCode::kOutOfSpace);
}

TEST(ResultWriterTest, AnUnknownFormatNamesTheKnownOnes) {
  auto format = ParseResultFormat("xml");
  ASSERT_FALSE(format.ok());
  EXPECT_NE(format.status().message().find("jsonl"), std::string::npos);
}

}  // namespace
}  // namespace lake::service
