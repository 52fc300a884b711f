#include "lake/commit/file_references.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/commit/testing/status_matchers.h"

namespace lake::commit {
namespace {

using objects::DataLocation;
using ::testing::HasSubstr;

// A stage that knows some locations and counts the questions.
class FakeStage : public objects::Stage {
 public:
  const std::string& uri() const override { return uri_; }
  const std::string& tenant() const override { return tenant_; }
  Result<DataLocation> Upload(const Context&, objects::ByteReader*,
                              const objects::UploadOptions&) override {
    return Refused();
  }
  Result<DataLocation> UploadFile(const Context&, const std::string&,
                                  const objects::UploadOptions&) override {
    return Refused();
  }
  Status CancelUpload(const Context&, const std::string&) override { return Refused(); }
  Result<std::unique_ptr<objects::ByteReader>> Open(const Context&, const DataLocation&) override {
    return Refused();
  }
  Result<std::unique_ptr<objects::ByteReader>> OpenRange(const Context&, const DataLocation&,
                                                         uint64_t, uint64_t) override {
    return Refused();
  }
  Result<std::string> PresignRead(const Context&, const DataLocation&) override {
    return Refused();
  }
  Status CheckContained(const DataLocation&) const override { return Status::OK(); }
  Status CheckExists(const Context&, const DataLocation& location) override {
    ++checks;
    if (!location.uri.starts_with(uri_ + "/")) {
      return Error(ErrorCode::kPermissionDenied, "outside of the stage: {}", location.uri);
    }
    return known_size == location.size_bytes
               ? Status::OK()
               : Error(ErrorCode::kIntegrity, "size differs: {}", location.uri);
  }

  int checks = 0;
  uint64_t known_size = 7;

 private:
  static Status Refused() { return MakeError(ErrorCode::kUnsupported, "not in this test"); }
  std::string uri_ = "file:///stage";
  std::string tenant_ = "default";
};

DataLocation Location(const std::string& name, uint64_t size = 7) {
  return {.uri = "file:///stage/" + name,
          .content_type = "video/mp4",
          .size_bytes = size,
          .sha256 = std::string(64, 'a')};
}

std::shared_ptr<arrow::RecordBatch> Batch(const std::vector<std::optional<DataLocation>>& values) {
  arrow::StringBuilder uri, content_type, sha256;
  arrow::UInt64Builder size;
  arrow::TypedBufferBuilder<bool> validity;
  for (const auto& value : values) {
    DataLocation location = value.value_or(DataLocation{});
    EXPECT_TRUE(uri.Append(location.uri).ok());
    EXPECT_TRUE(content_type.Append(location.content_type).ok());
    EXPECT_TRUE(size.Append(location.size_bytes).ok());
    EXPECT_TRUE(sha256.Append(location.sha256).ok());
    EXPECT_TRUE(validity.Append(value.has_value()).ok());
  }
  auto column = std::make_shared<arrow::StructArray>(
      objects::DataLocationType(), static_cast<int64_t>(values.size()),
      arrow::ArrayVector{uri.Finish().ValueOrDie(), content_type.Finish().ValueOrDie(),
                         size.Finish().ValueOrDie(), sha256.Finish().ValueOrDie()},
      validity.Finish().ValueOrDie());
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("video", objects::DataLocationType())}), column->length(),
      {column});
}

class FileReferenceCheckerTest : public ::testing::Test {
 protected:
  FileReferenceChecker Checker(bool provenance = true, uint64_t max = kMaxFileReferences) {
    return FileReferenceChecker(*Batch({})->schema(), stage_, provenance, max);
  }

  Context context_;
  std::shared_ptr<FakeStage> stage_ = std::make_shared<FakeStage>();
};

TEST_F(FileReferenceCheckerTest, EachDistinctValueIsCheckedOnce) {
  FileReferenceChecker checker = Checker();
  EXPECT_TRUE(checker.needed());
  ASSERT_OK(checker.Check(context_, *Batch({Location("a"), {}, Location("a"), Location("b")})));
  ASSERT_OK(checker.Check(context_, *Batch({Location("b")})));
  EXPECT_EQ(stage_->checks, 2);
  // The same object under another size is another claim.
  EXPECT_CODE(ErrorCode::kIntegrity, checker.Check(context_, *Batch({Location("a", 8)})));
  EXPECT_EQ(stage_->checks, 3);
}

TEST_F(FileReferenceCheckerTest, ValuesWithoutProvenanceAreRefusedAndNullsAreNot) {
  FileReferenceChecker checker = Checker(/*provenance=*/false);
  ASSERT_OK(checker.Check(context_, *Batch({{}, {}})));
  Status status = checker.Check(context_, *Batch({{}, Location("a")}));
  EXPECT_CODE(ErrorCode::kPermissionDenied, status);
  EXPECT_THAT(status.message(), HasSubstr("'video'"));
  EXPECT_EQ(stage_->checks, 0);
}

TEST_F(FileReferenceCheckerTest, AForeignLocationIsRefusedNamingTheColumn) {
  DataLocation location = Location("a");
  location.uri = "file:///etc/passwd";
  FileReferenceChecker checker = Checker();
  Status status = checker.Check(context_, *Batch({location}));
  EXPECT_CODE(ErrorCode::kPermissionDenied, status);
  EXPECT_THAT(status.message(), HasSubstr("'video'"));
}

TEST_F(FileReferenceCheckerTest, ANullChildIsRefused) {
  auto batch = Batch({Location("a")});
  auto column = std::static_pointer_cast<arrow::StructArray>(batch->column(0));
  for (int child = 0; child < 4; ++child) {
    arrow::ArrayVector children = column->fields();
    children[child] = arrow::MakeArrayOfNull(children[child]->type(), 1).ValueOrDie();
    auto broken = std::make_shared<arrow::StructArray>(column->type(), 1, children);
    FileReferenceChecker checker = Checker();
    EXPECT_CODE(ErrorCode::kInvalidArgument,
                checker.Check(context_, *arrow::RecordBatch::Make(batch->schema(), 1, {broken})));
  }
  EXPECT_EQ(stage_->checks, 0);
}

TEST_F(FileReferenceCheckerTest, TooManyDistinctValuesAreRefused) {
  FileReferenceChecker checker = Checker(true, 2);
  ASSERT_OK(checker.Check(context_, *Batch({Location("a"), Location("b"), Location("a")})));
  EXPECT_CODE(ErrorCode::kInvalidArgument, checker.Check(context_, *Batch({Location("c")})));
}

TEST_F(FileReferenceCheckerTest, ItsMemoryComesFromTheBudget) {
  context_.memory = MemoryBudget::Make(1000);
  FileReferenceChecker checker = Checker();
  EXPECT_CODE(ErrorCode::kOutOfMemory, checker.Check(context_, *Batch({Location("a")})));
}

TEST(RefuseNestedFileTest, OnlyAColumnOfItsOwnMayBeFile) {
  auto file = objects::DataLocationType();
  ASSERT_OK(RefuseNestedFile(*arrow::schema({arrow::field("f", file)})));
  for (const auto& type : {arrow::list(file), arrow::struct_({arrow::field("f", file)}),
                           arrow::fixed_size_list(file, 2), arrow::map(arrow::utf8(), file)}) {
    Status status = RefuseNestedFile(*arrow::schema({arrow::field("outer", type)}));
    EXPECT_CODE(ErrorCode::kUnsupported, status);
    EXPECT_THAT(status.message(), HasSubstr("'outer'"));
  }
}

}  // namespace
}  // namespace lake::commit
