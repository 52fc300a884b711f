// Every table that upstream wrote for us (tests/fixtures/tables/) opens, counts, scans and takes as
// upstream says, in every version whose rows were kept.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include <arrow/api.h>
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "lake/format/testing/fixture_check.h"
#include "lake/storage/memory_store.h"
#include "lake/table/blobs.h"
#include "lake/table/dataset.h"

namespace lake::table {
namespace {

using format::FindNotRead;

std::filesystem::path Tables() { return format::FixtureFolder() / "tables"; }

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The table's folder, in memory: nothing that a test does changes the fixture.
std::shared_ptr<storage::ObjectStore> Load(const std::filesystem::path& folder) {
  auto store = storage::MakeMemoryStore();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string key = entry.path().lexically_relative(folder).generic_string();
    const Status status =
        store->Put(Context(), key, ReadFile(entry.path()), storage::PutCondition::kNone);
    EXPECT_TRUE(status.ok()) << status;
  }
  return store;
}

class TableFixtureTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = Tables() / GetParam();
    expect_ = boost::json::parse(ReadFile(folder_ / "expect.json")).as_object();
    store_ = Load(folder_ / "dataset");
  }

  std::string Name() const { return "tables/" + GetParam(); }

  Result<std::shared_ptr<Dataset>> Open(std::optional<uint64_t> version = {}) const {
    OpenOptions options;
    options.version = version;
    return Dataset::Open(Context(), store_, options);
  }

  // All rows of one column, and their addresses.
  Result<std::shared_ptr<arrow::Table>> Scan(const Dataset& dataset, const std::string& column) {
    ScanOptions options;
    options.columns = {column};
    options.with_row_address = true;
    ARROW_ASSIGN_OR_RAISE(const auto scanner, dataset.Scan(Context(), options));
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (size_t i = 0; i < scanner->num_morsels(); ++i) {
      ARROW_ASSIGN_OR_RAISE(const auto batch, scanner->Read(Context(), i));
      if (batch != nullptr) batches.push_back(batch);
    }
    return arrow::Table::FromRecordBatches(scanner->schema(), batches);
  }

  static std::shared_ptr<arrow::Array> Whole(const arrow::Table& table, int column) {
    const auto& chunks = table.column(column)->chunks();
    if (chunks.empty()) return arrow::MakeEmptyArray(table.field(column)->type()).ValueOrDie();
    return arrow::Concatenate(chunks).ValueOrDie();
  }

  void ExpectColumn(const Dataset& dataset, const arrow::RecordBatch& rows,
                    const std::string& column) {
    SCOPED_TRACE(GetParam() + " " + column);
    const auto scanned = Scan(dataset, column);
    // Without rows there is nothing that could not be read.
    const auto* const not_read = rows.num_rows() == 0 ? nullptr : FindNotRead(Name(), column);
    if (not_read != nullptr) {
      ASSERT_FALSE(scanned.ok()) << "it is read now: take it off tests/fixtures/not_read.txt";
      EXPECT_NE(ErrorText(scanned.status()).find(not_read->text), std::string::npos)
          << scanned.status();
      return;
    }
    ASSERT_TRUE(scanned.ok()) << scanned.status();
    const auto expected = rows.GetColumnByName(column);
    format::ExpectSameValues(expected, Whole(**scanned, 0));
    const auto addresses = rows.GetColumnByName("_rowaddr");
    if (addresses == nullptr || HasFailure()) return;
    format::ExpectSameValues(addresses, Whole(**scanned, 1));
    ExpectTake(dataset, *expected, static_cast<const arrow::UInt64Array&>(*addresses), column);
  }

  // Rows in no order, some of them twice.
  void ExpectTake(const Dataset& dataset, const arrow::Array& expected,
                  const arrow::UInt64Array& addresses, const std::string& column) {
    if (addresses.length() == 0) return;
    std::mt19937_64 random(5);
    std::vector<RowAddress> wanted;
    arrow::ArrayVector parts;
    for (int i = 0; i < 20; ++i) {
      const auto row = static_cast<int64_t>(random() % addresses.length());
      wanted.push_back(addresses.Value(row));
      parts.push_back(expected.Slice(row, 1));
    }
    const auto taken = dataset.Take(Context(), wanted, {column});
    ASSERT_TRUE(taken.ok()) << taken.status();
    format::ExpectSameValues(arrow::Concatenate(parts).ValueOrDie(), (*taken)->column(0));
  }

  void ExpectRows(std::optional<uint64_t> version, const std::filesystem::path& path) {
    SCOPED_TRACE(path.filename().string());
    const auto dataset = Open(version);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    const auto rows = format::ReadFixtureRows(path);
    for (const auto& field : (*dataset)->arrow_schema()->fields()) {
      ASSERT_NE(rows->GetColumnByName(field->name()), nullptr) << field->name();
      ExpectColumn(**dataset, *rows, field->name());
      if (HasFailure()) return;
    }
    for (const auto& name : rows->schema()->field_names()) {
      if (name.starts_with("_row")) continue;
      EXPECT_NE((*dataset)->arrow_schema()->GetFieldByName(name), nullptr) << name;
    }
  }

  std::filesystem::path folder_;
  boost::json::object expect_;
  std::shared_ptr<storage::ObjectStore> store_;
};

TEST_P(TableFixtureTest, NewestVersionIsWhatUpstreamReads) {
  if (const auto* texts = expect_.if_contains("refused"); texts != nullptr) {
    const auto dataset = Open();
    ASSERT_FALSE(dataset.ok());
    for (const auto& text : texts->as_array()) {
      EXPECT_NE(ErrorText(dataset.status()).find(std::string_view(text.as_string())),
                std::string::npos)
          << dataset.status();
    }
    return;
  }
  const auto dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->manifest().version(), expect_.at("version").to_number<uint64_t>());
  ExpectRows({}, folder_ / "rows.arrow");
}

TEST_P(TableFixtureTest, EveryVersionCountsItsRows) {
  const auto* versions = expect_.if_contains("versions");
  if (versions == nullptr) return;
  for (const auto& [number, count] : versions->as_object()) {
    SCOPED_TRACE("version " + std::string(number));
    const auto dataset = Open(std::stoull(std::string(number)));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    const auto rows = (*dataset)->CountRows(Context());
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(*rows, count.to_number<uint64_t>());
  }
  const auto newest = Open();
  ASSERT_TRUE(newest.ok());
  const auto list = (*newest)->Versions(Context());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->size(), versions->as_object().size());
}

TEST_P(TableFixtureTest, OldVersionsAreWhatUpstreamReads) {
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with("rows-")) ExpectRows(std::stoull(name.substr(5)), entry.path());
    if (HasFailure()) return;
  }
}

TEST_P(TableFixtureTest, BlobsAreWhatUpstreamReads) {
  const auto path = folder_ / "blobs.arrow";
  if (!std::filesystem::exists(path)) return;
  const auto dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto expected = format::ReadFixtureRows(path);
  const auto& bytes =
      static_cast<const arrow::LargeBinaryArray&>(*expected->GetColumnByName("blob"));
  const auto reader = BlobReader::Open(*dataset, "blob");
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto scanned = Scan(**dataset, "blob");
  ASSERT_TRUE(scanned.ok()) << scanned.status();
  const auto rows = std::static_pointer_cast<arrow::UInt64Array>(Whole(**scanned, 1));
  ASSERT_EQ(rows->length(), bytes.length());
  const std::vector<RowAddress> addresses(rows->raw_values(), rows->raw_values() + rows->length());
  const auto read = (*reader)->Read(Context(), addresses);
  ASSERT_TRUE(read.ok()) << read.status();
  const auto handles = (*reader)->Take(Context(), addresses);
  ASSERT_TRUE(handles.ok()) << handles.status();
  for (int64_t i = 0; i < bytes.length(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ((*read)[i] == nullptr, bytes.IsNull(i));
    ASSERT_EQ((*handles)[i] == nullptr, bytes.IsNull(i));
    if (bytes.IsNull(i)) continue;
    EXPECT_EQ((*read)[i]->ToString(), bytes.GetString(i));
    EXPECT_EQ((*handles)[i]->ReadAll(Context()).ValueOrDie()->ToString(), bytes.GetString(i));
  }
}

std::vector<std::string> FixtureNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Tables())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, TableFixtureTest, testing::ValuesIn(FixtureNames()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(NotReadTableTest, EveryLineIsOfUse) {
  for (const format::NotRead& line : format::NotReadList()) {
    if (!line.fixture.starts_with("tables/")) continue;
    bool used = false;
    for (const std::string& name : FixtureNames()) {
      const auto rows = Tables() / name / "rows.arrow";
      if (!std::filesystem::exists(rows)) continue;
      for (const auto& column : format::ReadFixtureRows(rows)->schema()->field_names()) {
        used |= line.Matches("tables/" + name, column);
      }
    }
    EXPECT_TRUE(used) << line.fixture << " " << line.column;
  }
}

}  // namespace
}  // namespace lake::table
