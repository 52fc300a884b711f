// What a read of a 2.0 file asks of the store. Values are compared in fixture_test.cc.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/util/byte_size.h>
#include <gtest/gtest.h>

#include "lake/format/file_reader.h"
#include "lake/format/testing/fixture_check.h"
#include "lake/format/testing/fixtures.h"
#include "lake/format/v20_array_internal.h"
#include "lake/format/v20_concatenate_internal.h"
#include "lake/storage/testing/recording_store.h"

namespace lake::format {
namespace {

class V20ReaderTest : public testing::Test {
 protected:
  void Open(const std::string& name) {
    fixture_ = &FindFixture(name);
    store_ = std::make_shared<storage::RecordingStore>(StoreWith("x", fixture_->bytes));
    reader_ = FileReader::Open(Context(), store_, "x", fixture_->bytes.size()).ValueOrDie();
    columns_ = reader_->AllColumns().ValueOrDie();
  }

  // Reads one column and says how many requests that took.
  size_t Requests(const std::string& column, const RowSelection& rows) {
    const int index = fixture_->rows->schema()->GetFieldIndex(column);
    store_->Clear();
    const auto batch = reader_->Read(Context(), std::span(&columns_[index], 1), rows);
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (batch.ok()) {
      ExpectSameValues(PickRows(fixture_->rows->column(index), rows), (*batch)->column(0));
    }
    return store_->calls().size();
  }

  const Fixture* fixture_ = nullptr;
  std::shared_ptr<storage::RecordingStore> store_;
  std::shared_ptr<FileReader> reader_;
  std::vector<ColumnRequest> columns_;
};

TEST_F(V20ReaderTest, EachLevelOfListsIsOneMoreRound) {
  Open("nested_lists-2.0");
  const uint64_t rows[] = {1, 3, 5, 8, 13, 21, 34, 55, 89, 144};
  const auto some = RowSelection::FromSortedRows(rows);
  EXPECT_EQ(Requests("ll", some), 3u) << "ends, ends, numbers";
  EXPECT_EQ(Requests("lll", some), 5u) << "ends three times, ends of strings, strings";
  Open("list_basic-2.0");
  EXPECT_EQ(Requests("int", some), 2u);
  EXPECT_EQ(Requests("text", some), 3u);
}

TEST_F(V20ReaderTest, AFewRowsReadAFewBytes) {
  Open("bitpack_edge_2049-2.0");
  const uint64_t rows[] = {7, 1000, 2048};
  EXPECT_EQ(Requests("wide64", RowSelection::FromSortedRows(rows)), 1u);
  uint64_t bytes = 0;
  for (const auto& call : store_->calls()) {
    for (const auto& range : call.ranges) bytes += range.length;
  }
  EXPECT_EQ(bytes, 3 * 8u);
}

TEST_F(V20ReaderTest, DictionariesAreKept) {
  Open("dictionary-2.0");
  EXPECT_EQ(Requests("longer", RowSelection(5, 1)), 2u) << "indices and ends, then strings";
  EXPECT_EQ(Requests("longer", RowSelection(9, 3)), 1u) << "indices only";
}

TEST_F(V20ReaderTest, StructsComeByField) {
  Open("nested_valid-2.0");
  ColumnRequest request = columns_[0];
  // Without the list, and with a field that the file does not hold.
  Field added = request.field.children[0];
  added.name = "added";
  request.field.children = {request.field.children[0], added, request.field.children[2]};
  request.columns = {0, 1, -1, 4, 5};
  const RowSelection rows(10, 50);
  const auto batch = reader_->Read(Context(), std::span(&request, 1), rows).ValueOrDie();
  const auto& actual = static_cast<const arrow::StructArray&>(*batch->column(0));
  const auto& expected = static_cast<const arrow::StructArray&>(*fixture_->rows->column(0));
  ExpectSameValues(PickRows(expected.field(0), rows), actual.field(0));
  EXPECT_EQ(actual.field(1)->null_count(), 50);
  ExpectSameValues(PickRows(expected.field(2), rows), actual.field(2));
}

TEST_F(V20ReaderTest, BlobsOfVersion2AreRefused) {
  Open("nested_valid-2.0");
  ColumnRequest request = columns_[0];
  request.field.metadata["lance-encoding:blob"] = "true";
  request.columns = {0};
  // With fields of its own, with more than a place has, and with none.
  for (const size_t fields : {request.field.children.size(), size_t{9}, size_t{0}}) {
    request.field.children.resize(fields, request.field.children.front());
    const auto batch = reader_->Read(Context(), std::span(&request, 1), RowSelection(0, 2));
    ASSERT_FALSE(batch.ok());
    EXPECT_EQ(CodeOf(batch.status()), ErrorCode::kUnsupported) << batch.status();
  }
}

TEST_F(V20ReaderTest, EstimatesBytes) {
  for (const char* name : {"prim_integers-2.0", "strings-2.0", "list_basic-2.0",
                           "compressed_zstd-2.0", "compressed_fsst-2.0", "nested_valid-2.0"}) {
    Open(name);
    const auto estimate =
        reader_->EstimateBytes(Context(), columns_, reader_->num_rows()).ValueOrDie();
    int64_t actual = 0;
    for (const auto& column : fixture_->rows->columns()) {
      actual += arrow::util::TotalBufferSize(*column);
    }
    EXPECT_GT(estimate * 3, static_cast<uint64_t>(actual)) << name;
    EXPECT_LT(estimate, static_cast<uint64_t>(actual) * 8 + 4096) << name;
  }
}

TEST(V20DictionaryTest, NullItemsAreNoMoreThanThePageHasValues) {
  V20Column column;
  V20Page& page = column.pages.emplace_back();
  page.num_values = 3;
  page.buffers = {{0, 3}};
  pb::ArrayDictionary* const dictionary = page.encoding.mutable_dictionary();
  pb::ArrayFlat* const indices = dictionary->mutable_indices()->mutable_flat();
  indices->set_bits_per_value(8);
  indices->mutable_buffer()->set_buffer_type(pb::ArrayBuffer::PAGE);
  dictionary->mutable_items()->mutable_nullable()->mutable_all_nulls();
  const auto pool = MakeCappedPool(1 << 20);
  const auto read = [&](uint32_t num_items) -> Status {
    dictionary->set_num_dictionary_items(num_items);
    V20DictionaryCache cache;
    const V20PageContext context{&column, &page, pool.get(), &cache, 0, false};
    ARROW_ASSIGN_OR_RAISE(const auto decoder,
                          MakeV20Decoder(context, page.encoding, arrow::utf8()));
    const auto store = StoreWith("x", std::string("\1\0\4", 3));
    RangeReads first;
    RangeReads second;
    ARROW_RETURN_NOT_OK(decoder->PlanFirst(RowSelection(0, 3), &first));
    ARROW_RETURN_NOT_OK(first.Fetch(Context(), store.get(), "x"));
    ARROW_RETURN_NOT_OK(decoder->PlanSecond(first, &second));
    return decoder->Decode(first, second).status();
  };
  EXPECT_TRUE(read(4).ok()) << read(4);
  for (const uint32_t num_items : {5u, 1u << 20, 0xffffffffu}) {
    EXPECT_EQ(CodeOf(read(num_items)), ErrorCode::kCorrupt) << num_items << read(num_items);
  }
}

std::shared_ptr<arrow::Array> Dictionary(const std::vector<std::optional<int>>& indices,
                                         const std::vector<std::string>& items) {
  arrow::Int8Builder index_builder;
  for (const auto& index : indices) {
    EXPECT_TRUE(
        (index ? index_builder.Append(static_cast<int8_t>(*index)) : index_builder.AppendNull())
            .ok());
  }
  arrow::StringBuilder item_builder;
  EXPECT_TRUE(item_builder.AppendValues(items).ok());
  return arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int8(), arrow::utf8()),
                                            index_builder.Finish().ValueOrDie(),
                                            item_builder.Finish().ValueOrDie())
      .ValueOrDie();
}

TEST(V20ConcatenateTest, DictionariesOfPagesBecomeOne) {
  const auto whole =
      V20Concatenate({Dictionary({0, std::nullopt, 1}, {"a", "b"}), Dictionary({1, 0}, {"c", "a"})},
                     arrow::default_memory_pool());
  ASSERT_TRUE(whole.ok()) << whole.status();
  ExpectSameValues(Dictionary({0, std::nullopt, 1, 0, 2}, {"a", "b", "c"}), *whole);
}

TEST(V20ConcatenateTest, TooManyItemsForTheKeysAskForFewerRows) {
  std::vector<std::string> first;
  std::vector<std::string> second;
  for (int i = 0; i < 100; ++i) {
    first.push_back("a" + std::to_string(i));
    second.push_back("b" + std::to_string(i));
  }
  const auto whole = V20Concatenate({Dictionary({0}, first), Dictionary({0}, second)},
                                    arrow::default_memory_pool());
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(CodeOf(whole.status()), ErrorCode::kInvalidArgument) << whole.status();
}

}  // namespace
}  // namespace lake::format
