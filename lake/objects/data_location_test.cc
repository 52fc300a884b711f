#include "lake/objects/data_location.h"

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::objects {
namespace {

using ::testing::HasSubstr;

const char kDigest[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::shared_ptr<arrow::Array> Strings(const std::vector<const char*>& values) {
  arrow::StringBuilder builder;
  for (const char* value : values) {
    EXPECT_TRUE((value ? builder.Append(value) : builder.AppendNull()).ok());
  }
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> Sizes(const std::vector<int64_t>& values) {
  arrow::UInt64Builder builder;
  for (int64_t value : values) {
    EXPECT_TRUE((value >= 0 ? builder.Append(value) : builder.AppendNull()).ok());
  }
  return builder.Finish().ValueOrDie();
}

// Rows: a value; a NULL value; then one row for each child that is null.
std::shared_ptr<arrow::StructArray> FileColumn() {
  std::shared_ptr<arrow::Buffer> valid = arrow::AllocateBuffer(1).ValueOrDie();
  *valid->mutable_data() = 0b111101;
  auto nullable = arrow::struct_({
      arrow::field("uri", arrow::utf8()),
      arrow::field("content_type", arrow::utf8()),
      arrow::field("size_bytes", arrow::uint64()),
      arrow::field("sha256", arrow::utf8()),
  });
  return std::make_shared<arrow::StructArray>(
      nullable, 6,
      arrow::ArrayVector{Strings({"file:///u", "x", nullptr, "c", "d", "e"}),
                         Strings({"video/mp4", "x", "b", nullptr, "d", "e"}),
                         Sizes({123, 0, 2, 3, -1, 5}),
                         Strings({kDigest, "x", "b", "c", "d", nullptr})},
      valid);
}

// MO-02
TEST(DataLocationTest, TypeIsTheStructOfFourRequiredChildren) {
  const arrow::DataType& type = *DataLocationType();
  ASSERT_EQ(type.num_fields(), 4);
  EXPECT_EQ(type.ToString(),
            "struct<uri: string not null, content_type: string not null, size_bytes: uint64 not "
            "null, sha256: string not null>");
  for (const auto& field : type.fields()) EXPECT_FALSE(field->HasMetadata());
}

// MO-03
TEST(DataLocationTest, DetectionIsByNamesTypesAndOrder) {
  auto fields = DataLocationType()->fields();
  EXPECT_TRUE(IsFileType(*DataLocationType()));
  auto nullable = fields;
  for (auto& field : nullable) field = field->WithNullable(true);
  EXPECT_TRUE(IsFileType(*arrow::struct_(nullable)));

  auto swapped = fields;
  std::swap(swapped[0], swapped[1]);
  EXPECT_FALSE(IsFileType(*arrow::struct_(swapped)));
  auto renamed = fields;
  renamed[3] = renamed[3]->WithName("SHA256");
  EXPECT_FALSE(IsFileType(*arrow::struct_(renamed)));
  auto retyped = fields;
  retyped[2] = retyped[2]->WithType(arrow::int64());
  EXPECT_FALSE(IsFileType(*arrow::struct_(retyped)));
  auto large = fields;
  large[0] = large[0]->WithType(arrow::large_utf8());
  EXPECT_FALSE(IsFileType(*arrow::struct_(large)));
  EXPECT_FALSE(IsFileType(*arrow::struct_({fields[0], fields[1], fields[2]})));
  auto longer = fields;
  longer.push_back(arrow::field("x", arrow::utf8()));
  EXPECT_FALSE(IsFileType(*arrow::struct_(longer)));
  EXPECT_FALSE(IsFileType(*arrow::utf8()));
}

// MO-03: what the reference left unprotected is found, so that it can be refused.
TEST(DataLocationTest, NestedFilesAreFound) {
  const auto& file = DataLocationType();
  EXPECT_FALSE(ContainsNestedFile(*file));
  EXPECT_FALSE(ContainsNestedFile(*arrow::list(arrow::utf8())));
  EXPECT_TRUE(ContainsNestedFile(*arrow::list(file)));
  EXPECT_TRUE(ContainsNestedFile(*arrow::large_list(file)));
  EXPECT_TRUE(ContainsNestedFile(*arrow::fixed_size_list(file, 2)));
  EXPECT_TRUE(ContainsNestedFile(*arrow::struct_({arrow::field("f", file)})));
  EXPECT_TRUE(ContainsNestedFile(*arrow::map(arrow::utf8(), file)));
  EXPECT_TRUE(ContainsNestedFile(*arrow::dictionary(arrow::int32(), file)));
  std::shared_ptr<arrow::DataType> deep = file;
  for (int i = 0; i < 10'000; ++i) deep = arrow::list(deep);
  EXPECT_TRUE(ContainsNestedFile(*deep));
}

// MO-07, MO-04
TEST(DataLocationTest, ReadsAValueAndNamesWhatIsWrong) {
  auto column = FileColumn();
  auto batch = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("video", column->type()), arrow::field("n", arrow::utf8())}), 6,
      {column, Strings({"", "", "", "", "", ""})});
  DataLocation expected{
      .uri = "file:///u", .content_type = "video/mp4", .size_bytes = 123, .sha256 = kDigest};
  EXPECT_EQ(ReadDataLocation(*batch, "video", 0).ValueOrDie(), expected);

  struct Case {
    const char* column;
    int64_t row;
    ErrorCode code;
    const char* text;
  };
  const Case cases[] = {
      {"audio", 0, ErrorCode::kInvalidArgument, "no column"},
      {"n", 0, ErrorCode::kInvalidArgument, "not a FILE column"},
      {"video", -1, ErrorCode::kInvalidArgument, "out of bounds"},
      {"video", 6, ErrorCode::kInvalidArgument, "out of bounds"},
      {"video", 1, ErrorCode::kNotFound, "NULL"},
      {"video", 2, ErrorCode::kInvalidArgument, "no uri"},
      {"video", 3, ErrorCode::kInvalidArgument, "no content_type"},
      {"video", 4, ErrorCode::kInvalidArgument, "no size_bytes"},
      {"video", 5, ErrorCode::kInvalidArgument, "no sha256"},
  };
  for (const Case& c : cases) {
    Status status = ReadDataLocation(*batch, c.column, c.row).status();
    ASSERT_FALSE(status.ok()) << c.column << " " << c.row;
    EXPECT_EQ(CodeOf(status), c.code) << status.ToString();
    EXPECT_THAT(status.ToString(), HasSubstr(c.text));
  }
}

TEST(DataLocationTest, ReadsFromASlice) {
  auto column = FileColumn();
  auto moved = std::make_shared<arrow::StructArray>(column->type(), 6, column->fields(),
                                                    column->null_bitmap());
  auto slice = std::static_pointer_cast<arrow::StructArray>(moved->Slice(1));
  EXPECT_EQ(CodeOf(ReadDataLocation(*slice, 0).status()), ErrorCode::kNotFound);
  EXPECT_THAT(ReadDataLocation(*slice, 1).status().ToString(), HasSubstr("no uri"));
  EXPECT_THAT(ReadDataLocation(*slice, 5).status().ToString(), HasSubstr("out of bounds"));
}

// VF-02
TEST(DataLocationTest, DigestFormIsChecked) {
  EXPECT_TRUE(CheckSha256(kDigest).ok());
  std::string digest = kDigest;
  for (std::string bad : {std::string(), digest.substr(1), digest + "0", "E" + digest.substr(1),
                          "g" + digest.substr(1), " " + digest.substr(1)}) {
    EXPECT_EQ(CodeOf(CheckSha256(bad)), ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(DataLocationTest, ContentTypeFormIsChecked) {
  for (const char* good :
       {"video/mp4", "application/vnd.ms-excel", "text/plain; charset=utf-8", "image/svg+xml"}) {
    EXPECT_TRUE(CheckContentType(good).ok()) << good;
  }
  for (std::string bad : {"", "video", "/mp4", "video/", "video/mp4\n", "video/m p4", "a/b/c",
                          "vidéo/mp4", "text/plain; x=\x7F"}) {
    EXPECT_EQ(CodeOf(CheckContentType(bad)), ErrorCode::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(CheckContentType("a/" + std::string(300, 'b')).ok());
}

}  // namespace
}  // namespace lake::objects
