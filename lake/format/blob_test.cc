#include "lake/format/blob.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/file_reader.h"
#include "lake/format/file_writer.h"
#include "lake/format/inspect.h"
#include "lake/storage/memory_store.h"

namespace lake::format {
namespace {

using ::testing::HasSubstr;

constexpr char kKey[] = "data/x.lance";

Schema BlobsOnly(bool nullable = true) {
  return SchemaFromArrow(*arrow::schema({arrow::field(
                             "b", arrow::large_binary(), nullable,
                             arrow::key_value_metadata({"lance-encoding:blob"}, {"true"}))}))
      .ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> Rows(const std::shared_ptr<arrow::Array>& places) {
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("b", places->type())}),
                                  places->length(), {places});
}

/// One of each kind, a null, and numbers that need all their bits.
std::shared_ptr<arrow::Array> SomePlaces() {
  BlobPlacesBuilder builder(arrow::default_memory_pool());
  EXPECT_TRUE(builder.Append({BlobKind::kInline, 64, 10, 0, ""}).ok());
  EXPECT_TRUE(builder.Append({BlobKind::kPacked, UINT64_MAX, UINT64_MAX, UINT32_MAX, ""}).ok());
  EXPECT_TRUE(builder.AppendNull().ok());
  EXPECT_TRUE(builder.Append({BlobKind::kDedicated, 0, 1, 7, ""}).ok());
  EXPECT_TRUE(builder.Append({BlobKind::kExternal, 5, 0, 0, "s3://bucket/ä"}).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> WrittenAndRead(const std::shared_ptr<arrow::Array>& places) {
  const Context context;
  auto store = storage::MakeMemoryStore();
  auto writer = FileWriter::Open(context, store, kKey, BlobsOnly()).ValueOrDie();
  const Status written = writer->Write(*Rows(places));
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_TRUE(writer->Finish().ok());
  auto reader = FileReader::Open(context, store, kKey, {}).ValueOrDie();
  const auto columns = reader->AllColumns().ValueOrDie();
  const auto rows = reader->Read(context, columns, {0, reader->num_rows()});
  EXPECT_TRUE(rows.ok()) << rows.status();
  return (*rows)->column(0);
}

TEST(BlobTest, PlacesAreReadAsTheyWereWritten) {
  const auto places = SomePlaces();
  EXPECT_TRUE(WrittenAndRead(places)->Equals(places));
  // A part of an array, nulls alone, no null.
  EXPECT_TRUE(WrittenAndRead(places->Slice(1, 3))->Equals(places->Slice(1, 3)));
  EXPECT_TRUE(WrittenAndRead(places->Slice(2, 1))->Equals(places->Slice(2, 1)));
  EXPECT_TRUE(WrittenAndRead(places->Slice(3, 2))->Equals(places->Slice(3, 2)));
}

TEST(BlobTest, PlacesTellTheirRows) {
  const auto array = SomePlaces()->Slice(1);
  const BlobPlaces places = BlobPlaces::Of(*array).ValueOrDie();
  ASSERT_EQ(places.length(), 4);
  EXPECT_TRUE(places.IsNull(1));
  const BlobPlace external = places.At(3).ValueOrDie();
  EXPECT_EQ(external.kind, BlobKind::kExternal);
  EXPECT_EQ(external.position, 5u);
  EXPECT_EQ(external.uri, "s3://bucket/ä");
  EXPECT_EQ(BlobKindName(external.kind), "external");
  EXPECT_FALSE(BlobPlaces::Of(*arrow::MakeArrayOfNull(arrow::int64(), 1).ValueOrDie()).ok());
}

TEST(BlobTest, UnknownKindsAreRefusedByNumber) {
  auto data = SomePlaces()->data()->Copy();
  data->child_data[0] =
      arrow::MakeArrayFromScalar(arrow::UInt8Scalar(4), data->length).ValueOrDie()->data();
  const auto array = arrow::MakeArray(data);
  const Status status = BlobPlaces::Of(*array).ValueOrDie().At(0).status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported);
  EXPECT_THAT(ErrorText(status), HasSubstr("4"));
}

TEST(BlobTest, NullPartsAreRefusedWithTheColumn) {
  auto data = SomePlaces()->data()->Copy();
  data->child_data[2] = arrow::MakeArrayOfNull(arrow::uint64(), data->length).ValueOrDie()->data();
  const Status status =
      PackBlobPlaces(*arrow::MakeArray(data), "s.b", arrow::default_memory_pool()).status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
  EXPECT_THAT(ErrorText(status), HasSubstr("s.b"));
}

TEST(BlobTest, NullsInAColumnWithoutAreRefused) {
  auto writer =
      FileWriter::Open({}, storage::MakeMemoryStore(), kKey, BlobsOnly(false)).ValueOrDie();
  EXPECT_EQ(CodeOf(writer->Write(*Rows(SomePlaces()))), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(writer->Write(*Rows(SomePlaces()->Slice(3))).ok());
}

TEST(BlobTest, BytesLieWhereTheWriterSays) {
  const Context context;
  auto store = storage::MakeMemoryStore();
  auto writer = FileWriter::Open(context, store, kKey, BlobsOnly()).ValueOrDie();
  EXPECT_EQ(writer->WriteBytes("one", false).ValueOrDie(), 0u);
  EXPECT_EQ(writer->WriteBytes("two ", false).ValueOrDie(), 64u);
  EXPECT_EQ(writer->WriteBytes("more", true).ValueOrDie(), 68u);
  EXPECT_EQ(writer->WriteBytes("three", false).ValueOrDie(), 128u);
  ASSERT_TRUE(writer->Write(*Rows(SomePlaces())).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_FALSE(writer->WriteBytes("late", false).ok());
  EXPECT_EQ(store->Get(context, kKey, {64, 8}).ValueOrDie()->ToString(), "two more");
  EXPECT_EQ(store->Get(context, kKey, {128, 5}).ValueOrDie()->ToString(), "three");
  const std::string text = ToText(*InspectFile(context, store.get(), kKey));
  EXPECT_THAT(text, HasSubstr("b: struct, blobs of version 2"));
  EXPECT_THAT(text, HasSubstr("full-zip: variable_packed_struct"));
}

TEST(BlobTest, TheFilesOwnSchemaTellsTheParts) {
  const Schema table = BlobsOnly();
  const Schema stored = StoredSchema(table);
  const Field& field = stored.fields[0];
  EXPECT_EQ(field.id, table.fields[0].id);
  EXPECT_EQ(field.metadata,
            (std::map<std::string, std::string>{{"lance-encoding:blob", "true"},
                                                {"lance-encoding:packed", "true"}}));
  ASSERT_EQ(field.children.size(), 5u);
  EXPECT_EQ(field.children[4].name, "blob_uri");
  EXPECT_EQ(field.children[4].id, -1);
  EXPECT_TRUE(field.is_blob_v2());
  EXPECT_TRUE(TellsBlobs(**ToArrow(table.fields[0])));
  EXPECT_TRUE(TellsBlobs(**ToArrow(field)));
}

TEST(BlobTest, OtherRowsAreRefusedByColumn) {
  auto writer = FileWriter::Open({}, storage::MakeMemoryStore(), kKey, BlobsOnly()).ValueOrDie();
  const Status status =
      writer->Write(*Rows(arrow::MakeArrayOfNull(arrow::large_binary(), 2).ValueOrDie()));
  EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
  EXPECT_THAT(ErrorText(status), HasSubstr("'b'"));
}

}  // namespace
}  // namespace lake::format
