#include "lake/table/testing/blob_fixture_internal.h"

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "lake/table/row_change.h"
#include "lake/table/verify.h"

namespace lake::table {

std::string BlobText(size_t size, int seed) {
  std::string text;
  for (size_t i = 0; text.size() < size; ++i) text += fmt::format("{}:{};", seed, i);
  text.resize(size);
  return text;
}

std::shared_ptr<arrow::Array> BlobValues(const BlobTexts& texts) {
  arrow::LargeBinaryBuilder builder;
  for (const auto& text : texts) {
    EXPECT_TRUE((text ? builder.Append(*text) : builder.AppendNull()).ok());
  }
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> BlobStructs(const BlobTexts& texts) {
  auto data = std::make_shared<arrow::LargeBinaryBuilder>();
  auto uri = std::make_shared<arrow::StringBuilder>();
  auto position = std::make_shared<arrow::UInt64Builder>();
  auto size = std::make_shared<arrow::UInt64Builder>();
  const auto type = arrow::struct_(
      {arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8()),
       arrow::field("position", arrow::uint64()), arrow::field("size", arrow::uint64())});
  arrow::StructBuilder builder(type, arrow::default_memory_pool(), {data, uri, position, size});
  for (const auto& text : texts) {
    EXPECT_TRUE(builder.Append(text.has_value()).ok());
    const bool external = text && text->starts_with("uri:");
    if (text && !external) {
      EXPECT_TRUE(data->Append(*text).ok());
    } else {
      EXPECT_TRUE(data->AppendNull().ok());
    }
    const size_t at = external ? text->find('@') : std::string::npos;
    if (external) {
      EXPECT_TRUE(uri->Append(text->substr(4, at == std::string::npos ? at : at - 4)).ok());
    } else {
      EXPECT_TRUE(uri->AppendNull().ok());
    }
    if (at != std::string::npos) {
      EXPECT_TRUE(position->Append(std::stoull(text->substr(at + 1))).ok());
      EXPECT_TRUE(size->Append(std::stoull(text->substr(text->find('+', at) + 1))).ok());
    } else {
      EXPECT_TRUE(position->AppendNull().ok());
      EXPECT_TRUE(size->AppendNull().ok());
    }
  }
  return builder.Finish().ValueOrDie();
}

format::Schema BlobFixture::BlobSchema() {
  const auto metadata =
      arrow::key_value_metadata({"lance-encoding:blob", "lance-encoding:blob-inline-size-threshold",
                                 "lance-encoding:blob-dedicated-size-threshold",
                                 "lance-encoding:blob-pack-file-size-threshold"},
                                {"true", "16", "64", "100"});
  return format::SchemaFromArrow(
             *arrow::schema({arrow::field("id", arrow::int64(), false),
                             arrow::field("b", arrow::large_binary(), true, metadata)}))
      .ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> BlobFixture::BlobRows(const BlobTexts& texts,
                                                          int64_t first_id) {
  arrow::Int64Builder ids;
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(ids.Append(first_id + static_cast<int64_t>(i)).ok());
  }
  auto id = ids.Finish().ValueOrDie();
  auto blobs = BlobStructs(texts);
  const int64_t rows = id->length();
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("id", id->type(), false), arrow::field("b", blobs->type())}),
      rows, {id, blobs});
}

Result<std::vector<Fragment>> BlobFixture::WriteRows(const BlobTexts& texts,
                                                     std::vector<std::string>* keys,
                                                     int64_t first_id,
                                                     AppendWriterOptions options) {
  ARROW_ASSIGN_OR_RAISE(auto writer, AppendWriter::Open(context(), store_, BlobSchema(), options));
  ARROW_RETURN_NOT_OK(writer->Write(*BlobRows(texts, first_id)));
  ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> fragments, writer->Finish());
  *keys = writer->new_objects();
  return fragments;
}

void BlobFixture::CreateBlobs(const BlobTexts& texts, AppendWriterOptions options) {
  std::vector<std::string> keys;
  auto fragments = WriteRows(texts, &keys, 0, options);
  ASSERT_TRUE(fragments.ok()) << fragments.status();
  Transaction create = MakeCreate(context(), BlobSchema(), *std::move(fragments));
  std::get<OverwriteOperation>(create.operation).initial_bases = options.blobs.bases;
  create.new_objects = keys;
  const auto result = Commit(context(), store_, create, {});
  ASSERT_TRUE(result.ok()) << result.status();
}

void BlobFixture::AppendBlobs(const BlobTexts& texts, int64_t first_id) {
  std::vector<std::string> keys;
  auto fragments = WriteRows(texts, &keys, first_id);
  ASSERT_TRUE(fragments.ok()) << fragments.status();
  Transaction append = MakeAppend(context(), Open()->manifest().version(), *std::move(fragments));
  append.new_objects = keys;
  const auto result = Commit(context(), store_, append, {});
  ASSERT_TRUE(result.ok()) << result.status();
}

Status BlobFixture::CommitChange(Result<PreparedChange> change) {
  ARROW_RETURN_NOT_OK(change.status());
  return Commit(context(), store_, change->transaction, {}).status();
}

std::vector<RowAddress> BlobFixture::Addresses() {
  std::vector<RowAddress> addresses;
  for (const auto& batch : ScanAll({.columns = {{"_rowaddr"}}})) {
    const auto& values = static_cast<const arrow::UInt64Array&>(*batch->column(0));
    addresses.insert(addresses.end(), values.raw_values(), values.raw_values() + values.length());
  }
  return addresses;
}

Result<BlobTexts> BlobFixture::ReadBlobs(const std::vector<RowAddress>& addresses,
                                         BlobOptions options) {
  ARROW_ASSIGN_OR_RAISE(auto reader, BlobReader::Open(Open(), "b", std::move(options)));
  ARROW_ASSIGN_OR_RAISE(auto buffers, reader->Read(context(), addresses));
  BlobTexts texts;
  for (const auto& buffer : buffers) {
    texts.push_back(buffer == nullptr ? std::nullopt : std::optional(buffer->ToString()));
  }
  return texts;
}

std::map<int64_t, std::optional<std::string>> BlobFixture::BlobsById() {
  std::map<int64_t, std::optional<std::string>> by_id;
  const std::vector<RowAddress> addresses = Addresses();
  auto reader = BlobReader::Open(Open(), "b").ValueOrDie();
  const auto whole = reader->Read(context(), addresses);
  EXPECT_TRUE(whole.ok()) << whole.status();
  const auto handles = reader->Take(context(), addresses);
  EXPECT_TRUE(handles.ok()) << handles.status();
  if (!whole.ok() || !handles.ok()) return by_id;
  std::vector<BlobRange> ranges;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto& buffer = (*whole)[i];
    const uint64_t size = buffer == nullptr ? 0 : static_cast<uint64_t>(buffer->size());
    ranges.push_back({addresses[i], size / 3, size - size / 3});
  }
  const auto parts = reader->ReadRanges(context(), ranges).ValueOrDie();
  const std::vector<int64_t> ids = ScanIds({.columns = {{"id"}}});
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto& buffer = (*whole)[i];
    EXPECT_EQ((*handles)[i] == nullptr, buffer == nullptr);
    EXPECT_EQ(parts[i] == nullptr, buffer == nullptr);
    if (buffer != nullptr) {
      EXPECT_EQ((*handles)[i]->size(), static_cast<uint64_t>(buffer->size()));
      EXPECT_TRUE((*handles)[i]->ReadAll(context()).ValueOrDie()->Equals(*buffer));
      EXPECT_EQ(parts[i]->ToString(), buffer->ToString().substr(ranges[i].offset));
    }
    by_id[ids[i]] = buffer == nullptr ? std::nullopt : std::optional(buffer->ToString());
  }
  return by_id;
}

std::vector<std::string> BlobFixture::Keys(const std::string& prefix) {
  std::vector<std::string> keys;
  for (auto& info : storage::ListAll(store_.get(), context(), prefix).ValueOrDie()) {
    keys.push_back(std::move(info.key));
  }
  return keys;
}

void BlobFixture::ExpectSound() {
  VerifyOptions options;
  options.read_data = true;
  const VerifyReport report = Verify(context(), store_, options).ValueOrDie();
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.severity, Severity::kInfo) << finding.object << ": " << finding.what;
    EXPECT_EQ(finding.what.find("leftover"), std::string::npos)
        << finding.object << ": " << finding.what;
  }
}

}  // namespace lake::table
