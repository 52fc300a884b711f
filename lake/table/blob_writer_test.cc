#include "lake/table/blob_writer.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/storage/testing/faulty_store.h"
#include "lake/table/testing/blob_fixture_internal.h"

namespace lake::table {
namespace {

using format::BlobKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BlobWriterTest : public BlobFixture {
 protected:
  struct Told {
    BlobKind kind;
    uint64_t size;
    uint32_t blob_id;
    std::string uri;
    bool operator==(const Told&) const = default;
  };
  /// What a scan tells of the blobs.
  std::vector<std::optional<Told>> Scanned() {
    std::vector<std::optional<Told>> told;
    for (const auto& batch : ScanAll({.columns = {{"b"}}})) {
      const auto places = format::BlobPlaces::Of(*batch->column(0)).ValueOrDie();
      for (int64_t i = 0; i < places.length(); ++i) {
        told.emplace_back();
        if (places.IsNull(i)) continue;
        const auto place = places.At(i).ValueOrDie();
        told.back() = Told{place.kind, place.size, place.blob_id, std::string(place.uri)};
      }
    }
    return told;
  }

  Status Write(const BlobTexts& texts, AppendWriterOptions options = {}) {
    std::vector<std::string> keys;
    return WriteRows(texts, &keys, 0, options).status();
  }
};

TEST_F(BlobWriterTest, SizesDecideWhereABlobGoes) {
  const BlobTexts texts{BlobText(16),    BlobText(17, 1), std::nullopt,    "",
                        BlobText(64, 2), BlobText(65, 3), BlobText(40, 4), BlobText(1, 5)};
  CreateBlobs(texts);
  EXPECT_THAT(Scanned(),
              ElementsAre(Told{BlobKind::kInline, 16, 0, ""}, Told{BlobKind::kPacked, 17, 1, ""},
                          std::nullopt, Told{BlobKind::kInline, 0, 0, ""},
                          Told{BlobKind::kPacked, 64, 1, ""}, Told{BlobKind::kDedicated, 65, 2, ""},
                          Told{BlobKind::kPacked, 40, 3, ""}, Told{BlobKind::kInline, 1, 0, ""}));
  const auto by_id = BlobsById();
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(by_id.at(i), texts[i]) << i;

  const std::string file = Open()->manifest().fragments()[0].files[0].path;
  const std::string stem = "data/" + file.substr(0, file.size() - 6);
  EXPECT_THAT(Keys(), ElementsAre("data/" + file, stem + "/01000000000000000000000000000000.blob",
                                  stem + "/10000000000000000000000000000000.blob",
                                  stem + "/11000000000000000000000000000000.blob"));
  EXPECT_EQ(store_->Head(context(), BlobFileKey(file, 1)).ValueOrDie().size, 17u + 64);
  // Only the field of the struct has a column.
  EXPECT_EQ(Open()->manifest().fragments()[0].files[0].field_ids, (std::vector<int32_t>{0, 1}));
  ExpectSound();
}

TEST_F(BlobWriterTest, DefaultsAreUpstreams) {
  format::Field field;
  const auto thresholds = BlobThresholds::From(field, "b").ValueOrDie();
  EXPECT_EQ(thresholds.most_inline, 65'536u);
  EXPECT_EQ(thresholds.most_packed, 4'194'304u);
}

TEST_F(BlobWriterTest, BadThresholdsNameTheColumn) {
  for (const char* value : {"", "x", "12k", "-1"}) {
    format::Field field;
    field.metadata["lance-encoding:blob-inline-size-threshold"] = value;
    const Status status = BlobThresholds::From(field, "s.b").status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument) << value;
    EXPECT_THAT(ErrorText(status), HasSubstr("s.b"));
  }
  format::Field field;
  field.metadata["lance-encoding:blob-pack-file-size-threshold"] = "0";
  EXPECT_FALSE(BlobThresholds::From(field, "b").ok());
}

TEST_F(BlobWriterTest, FilesOfRowsHaveBlobFilesOfTheirOwn) {
  BlobTexts texts;
  for (int i = 0; i < 25; ++i) texts.push_back(BlobText(i * 5, i));
  CreateBlobs(texts, {.max_rows_per_file = 10});
  EXPECT_EQ(Open()->manifest().fragments().size(), 3u);
  const auto by_id = BlobsById();
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(by_id.at(i), texts[i]) << i;
  ExpectSound();
}

TEST_F(BlobWriterTest, BytesAreTakenAsBlobs) {
  auto writer = AppendWriter::Open(context(), store_, BlobSchema()).ValueOrDie();
  const BlobTexts texts{BlobText(20), std::nullopt, "x"};
  auto rows = BlobRows(texts);
  rows =
      rows->SetColumn(1, arrow::field("b", arrow::large_binary()), BlobValues(texts)).ValueOrDie();
  // A part of a batch, too.
  ASSERT_TRUE(writer->Write(*rows).ok());
  ASSERT_TRUE(writer->Write(*rows->Slice(1)).ok());
  Transaction create = MakeCreate(context(), BlobSchema(), writer->Finish().ValueOrDie());
  ASSERT_TRUE(Commit(context(), store_, create, {}).ok());
  EXPECT_EQ(ReadBlobs(Addresses()).ValueOrDie(),
            (BlobTexts{BlobText(20), std::nullopt, "x", std::nullopt, "x"}));
}

TEST_F(BlobWriterTest, BlobsInStructsAndBesideEachOther) {
  const auto metadata = arrow::key_value_metadata({"lance-encoding:blob"}, {"true"});
  const auto inner = arrow::field("blob", arrow::large_binary(), true, metadata);
  const auto schema = format::SchemaFromArrow(
      *arrow::schema({arrow::field("s", arrow::struct_({arrow::field("n", arrow::int64()), inner})),
                      arrow::field("b", arrow::large_binary(), true, metadata)}));
  ASSERT_TRUE(schema.ok()) << schema.status();
  const std::string large = BlobText(70'000, 1);
  const BlobTexts texts{"one", large, std::nullopt, "four"};
  auto ids = BlobRows(texts)->column(0);
  // Rows 1 and 3 have a struct; a blob below none is null.
  auto validity = arrow::Buffer::FromString(std::string(1, '\x0a'));
  auto parent = std::make_shared<arrow::StructArray>(
      arrow::struct_(
          {arrow::field("n", arrow::int64()), arrow::field("blob", arrow::large_binary())}),
      4, arrow::ArrayVector{ids, BlobValues(texts)}, validity);
  auto rows = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("s", parent->type()), arrow::field("b", arrow::large_binary())}),
      4, arrow::ArrayVector{parent, BlobValues({large, "b", "", std::nullopt})});
  auto writer = AppendWriter::Open(context(), store_, *schema).ValueOrDie();
  const Status written = writer->Write(*rows);
  ASSERT_TRUE(written.ok()) << written;
  ASSERT_TRUE(
      Commit(context(), store_, MakeCreate(context(), *schema, writer->Finish().ValueOrDie()), {})
          .ok());
  const std::vector<RowAddress> addresses{0, 1, 2, 3};
  auto reader = BlobReader::Open(Open(), "s.blob").ValueOrDie();
  auto nested = reader->Read(context(), addresses).ValueOrDie();
  EXPECT_EQ(nested[0], nullptr);
  EXPECT_EQ(nested[1]->ToString(), large);
  EXPECT_EQ(nested[2], nullptr);
  EXPECT_EQ(nested[3]->ToString(), "four");
  auto top = BlobReader::Open(Open(), "b").ValueOrDie()->Read(context(), addresses).ValueOrDie();
  EXPECT_EQ(top[0]->ToString(), large);
  EXPECT_EQ(top[2]->size(), 0);
  EXPECT_EQ(top[3], nullptr);
  ExpectSound();
}

TEST_F(BlobWriterTest, ExternalBlobsNeedABaseOrLeave) {
  const BlobTexts inside{"uri:file:///media/a/b.bin", "uri:/media/c%20d.bin@3+4"};
  const BlobTexts outside{"uri:s3://bucket/x"};
  EXPECT_EQ(CodeOf(Write(inside)), ErrorCode::kPermissionDenied);
  EXPECT_EQ(CodeOf(Write(outside)), ErrorCode::kPermissionDenied);
  AppendWriterOptions options;
  options.blobs.bases = {{.id = 1, .name = {}, .is_dataset_root = true, .path = "/media"},
                         {.id = 4, .name = {}, .is_dataset_root = false, .path = "file:///media/"}};
  EXPECT_THAT(ErrorText(Write({"uri:file:///media/../etc/passwd"}, options)),
              HasSubstr("outside of the table's bases"));
  EXPECT_THAT(ErrorText(Write({"uri:file:///media2/x"}, options)), HasSubstr("outside"));
  EXPECT_THAT(ErrorText(Write({"uri:relative/x"}, options)), HasSubstr("absolute"));
  EXPECT_TRUE(Keys().empty());
  options.blobs.allow_outside_bases = true;
  CreateBlobs({inside[0], inside[1], outside[0], "bytes"}, options);
  EXPECT_THAT(Scanned(), ElementsAre(Told{BlobKind::kExternal, 0, 4, "a/b.bin"},
                                     Told{BlobKind::kExternal, 4, 4, "c d.bin"},
                                     Told{BlobKind::kExternal, 0, 0, "s3://bucket/x"},
                                     Told{BlobKind::kInline, 5, 0, ""}));
}

TEST_F(BlobWriterTest, WrongValuesNameColumnAndRow) {
  struct Case {
    const char* what;
    std::shared_ptr<arrow::Array> blobs;
    const char* text;
  };
  const auto edit = [](BlobTexts texts, int child, const std::shared_ptr<arrow::Array>& with) {
    auto data = BlobStructs(texts)->data()->Copy();
    data->child_data[child] = with->data();
    return arrow::MakeArray(data);
  };
  const auto uris = std::static_pointer_cast<arrow::StructArray>(BlobStructs({"uri:x", "uri:y"}));
  const auto numbers =
      std::static_pointer_cast<arrow::StructArray>(BlobStructs({"uri:x@1+0", "uri:x@1+2"}));
  format::BlobPlacesBuilder places(arrow::default_memory_pool());
  ASSERT_TRUE(places.Append({}).ok() && places.AppendNull().ok());
  const std::vector<Case> cases{
      {"both", edit({"a", "b"}, 1, uris->field(1)), "exactly one of data and uri"},
      {"neither", edit({"a", "b"}, 0, uris->field(0)), "exactly one of data and uri"},
      {"half a range", edit({"uri:x", "uri:x"}, 2, numbers->field(2)), "both position and size"},
      {"empty range", numbers, "empty or endless range"},
      {"text", BlobRows({"a", "b"})->column(0), "written as bytes, or as a struct"},
      {"places", places.Finish().ValueOrDie(), "places of blobs are not written"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    auto writer = AppendWriter::Open(context(), store_, BlobSchema()).ValueOrDie();
    const auto rows = BlobRows({"a", "b"})
                          ->SetColumn(1, arrow::field("b", test.blobs->type()), test.blobs)
                          .ValueOrDie();
    const Status status = writer->Write(*rows);
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr(test.text));
    EXPECT_THAT(ErrorText(status), HasSubstr("'b'"));
  }
  EXPECT_TRUE(Keys("").empty());
}

TEST_F(BlobWriterTest, WhatIsNoBlobIsRefusedByName) {
  const auto metadata = arrow::key_value_metadata({"lance-encoding:blob"}, {"true"});
  const auto blob = arrow::field("item", arrow::large_binary(), true, metadata);
  const auto list = format::SchemaFromArrow(*arrow::schema({arrow::field("l", arrow::list(blob))}));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(ErrorText(format::CheckWritable(*list)), HasSubstr("blob inside a list"));
  const auto old = format::CheckWritable(BlobSchema(), format::kFileVersion21);
  EXPECT_EQ(CodeOf(old), ErrorCode::kUnsupported);
  EXPECT_THAT(ErrorText(old), HasSubstr("2.1"));
  const auto places = format::SchemaFromArrow(
      *arrow::schema({arrow::field("p", format::BlobPlaceType(), true, metadata)}));
  EXPECT_EQ(CodeOf(places.status()), ErrorCode::kUnsupported);
  const auto extension = arrow::key_value_metadata({"ARROW:extension:name"}, {"lance.blob.v2"});
  const auto shape = format::SchemaFromArrow(
      *arrow::schema({arrow::field("p", arrow::large_binary(), true, extension)}));
  EXPECT_EQ(CodeOf(shape.status()), ErrorCode::kInvalidArgument);
}

// Whatever call to the store fails: what was published goes with the writer.
TEST_F(BlobWriterTest, AFailedWriterLeavesNothing) {
  const BlobTexts texts{BlobText(10), BlobText(30, 1), BlobText(80, 2), BlobText(90, 3)};
  const auto write = [&](std::shared_ptr<storage::ObjectStore> store) -> Status {
    ARROW_ASSIGN_OR_RAISE(
        auto writer, AppendWriter::Open(context(), store, BlobSchema(), {.max_rows_per_file = 3}));
    ARROW_RETURN_NOT_OK(writer->Write(*BlobRows(texts)));
    return writer->Finish().status();
  };
  auto probe = std::make_shared<storage::FaultyStore>(storage::MakeMemoryStore());
  ASSERT_TRUE(write(probe).ok());
  const size_t calls = probe->calls().size();
  EXPECT_GT(calls, 8u);
  for (size_t call = 0; call < calls; ++call) {
    auto below = storage::MakeMemoryStore();
    auto faulty = std::make_shared<storage::FaultyStore>(below);
    for (const storage::Fault fault : {storage::Fault::kError, storage::Fault::kEffectThenError}) {
      faulty->Reset();
      faulty->FailCall(call, fault);
      EXPECT_FALSE(write(faulty).ok()) << call;
      EXPECT_TRUE(storage::ListAll(below.get(), context(), "").ValueOrDie().empty()) << call;
    }
  }
}

}  // namespace
}  // namespace lake::table
