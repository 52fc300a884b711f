#include "lake/format/testing/fixture_check.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <arrow/api.h>
#include <arrow/compare.h>
#include <arrow/extension_type.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <fmt/core.h>
#include <fnmatch.h>
#include <gtest/gtest.h>

namespace lake::format {
namespace {

Result<std::shared_ptr<arrow::RecordBatch>> ReadRows(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error(ErrorCode::kNotFound, "no such file: {}", path.string());
  auto input = std::make_shared<arrow::io::BufferReader>(
      arrow::Buffer::FromString(std::string(std::istreambuf_iterator<char>(file), {})));
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchStreamReader::Open(input));
  ARROW_ASSIGN_OR_RAISE(auto table, reader->ToTable());
  return table->CombineChunksToBatch();
}

std::vector<NotRead> ReadList() {
  std::vector<NotRead> lines;
  std::ifstream file(FixtureFolder() / "not_read.txt");
  EXPECT_TRUE(file.good());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    NotRead entry;
    std::istringstream words(line);
    words >> entry.fixture >> entry.column >> std::ws;
    std::getline(words, entry.text);
    lines.push_back(entry);
  }
  return lines;
}

bool FitsPattern(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// Values without the ways that types have to wrap them.
std::shared_ptr<arrow::Array> Plain(const std::shared_ptr<arrow::Array>& array) {
  if (array->type_id() == arrow::Type::EXTENSION) {
    return Plain(static_cast<const arrow::ExtensionArray&>(*array).storage());
  }
  if (array->type_id() != arrow::Type::DICTIONARY) return array;
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*array);
  auto builder = arrow::MakeBuilder(dictionary.dictionary()->type()).ValueOrDie();
  for (int64_t i = 0; i < array->length(); ++i) {
    const Status status = array->IsNull(i)
                              ? builder->AppendNull()
                              : builder->AppendArraySlice(*dictionary.dictionary()->data(),
                                                          dictionary.GetValueIndex(i), 1);
    EXPECT_TRUE(status.ok()) << status;
  }
  return builder->Finish().ValueOrDie();
}

}  // namespace

std::filesystem::path FixtureFolder() {
  return std::filesystem::path(LAKE_SOURCE_DIR) / "tests/fixtures";
}

std::shared_ptr<arrow::RecordBatch> ReadFixtureRows(const std::filesystem::path& path) {
  auto rows = ReadRows(path);
  if (!rows.ok()) {
    fmt::print(stderr, "fixtures: {}\n", rows.status().ToString());
    std::abort();
  }
  return *std::move(rows);
}

bool NotRead::Matches(const std::string& fixture_name, const std::string& column_name) const {
  return FitsPattern(fixture, fixture_name) && FitsPattern(column, column_name);
}

const std::vector<NotRead>& NotReadList() {
  static const std::vector<NotRead>* const list = new std::vector(ReadList());
  return *list;
}

const NotRead* FindNotRead(const std::string& fixture, const std::string& column) {
  for (const NotRead& line : NotReadList()) {
    if (line.Matches(fixture, column)) return &line;
  }
  return nullptr;
}

void ExpectSameValues(const std::shared_ptr<arrow::Array>& expected,
                      const std::shared_ptr<arrow::Array>& actual) {
  const Status valid =
      actual->type_id() == arrow::Type::DECIMAL256 ? actual->Validate() : actual->ValidateFull();
  ASSERT_TRUE(valid.ok()) << valid;
  const auto a = Plain(expected);
  const auto b = Plain(actual);
  ASSERT_TRUE(a->type()->Equals(b->type())) << *a->type() << ", not " << *b->type();
  ASSERT_EQ(a->length(), b->length());
  const auto exact = arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false);
  EXPECT_TRUE(a->Equals(*b, exact)) << a->Diff(*b).substr(0, 2000);
}

std::shared_ptr<arrow::Array> PickRows(const std::shared_ptr<arrow::Array>& array,
                                       const RowSelection& selection) {
  arrow::ArrayVector parts = {array->Slice(0, 0)};
  for (const RowRange& range : selection.ranges()) {
    parts.push_back(
        array->Slice(static_cast<int64_t>(range.start), static_cast<int64_t>(range.count)));
  }
  return arrow::Concatenate(parts).ValueOrDie();
}

}  // namespace lake::format
