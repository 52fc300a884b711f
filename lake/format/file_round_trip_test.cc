// Random files, written and read back whole and in parts. The seed is printed; LAKE_TEST_SEED
// repeats one.

#include <cstdlib>
#include <functional>
#include <random>

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>

#include "lake/format/file_reader.h"
#include "lake/format/file_writer.h"
#include "lake/storage/memory_store.h"

namespace lake::format {
namespace {

using Random = std::mt19937_64;

std::vector<std::shared_ptr<arrow::DataType>> LeafTypes() {
  using arrow::TimeUnit;
  return {arrow::boolean(),
          arrow::int8(),
          arrow::uint8(),
          arrow::int16(),
          arrow::uint16(),
          arrow::int32(),
          arrow::uint32(),
          arrow::int64(),
          arrow::uint64(),
          arrow::float32(),
          arrow::float64(),
          arrow::decimal128(20, 3),
          arrow::utf8(),
          arrow::large_utf8(),
          arrow::binary(),
          arrow::large_binary(),
          arrow::fixed_size_binary(5),
          arrow::fixed_size_binary(16),
          arrow::fixed_size_binary(260),
          arrow::date32(),
          arrow::time64(TimeUnit::NANO),
          arrow::timestamp(TimeUnit::MICRO, "UTC"),
          arrow::duration(TimeUnit::MILLI),
          arrow::fixed_size_list(arrow::float32(), 3),
          arrow::fixed_size_list(arrow::uint8(), 1),
          arrow::fixed_size_list(arrow::float64(), 40)};
}

// How the values of a column vary, so that every encoding gets its turn.
struct Shape {
  size_t distinct;
  size_t longest_run;
  size_t longest_text;
  double null_ratio;
};

Shape RandomShape(Random* random) {
  const auto pick = [random](std::initializer_list<double> choices) {
    return choices.begin()[(*random)() % choices.size()];
  };
  return {static_cast<size_t>(pick({1, 2, 30, 5000, 1e9})),
          static_cast<size_t>(pick({1, 1, 5, 300, 5000})),
          static_cast<size_t>(pick({0, 4, 30, 200, 600})), pick({0, 0, 0.05, 0.5, 0.99, 1})};
}

// A text that depends on `key` alone. Some are compressible, some are not.
std::string TextOf(uint64_t key, size_t longest) {
  Random random(key);
  std::string text(longest == 0 ? 0 : random() % (longest + 1), 0);
  const bool words = random() % 4 != 0;
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] = words ? "robot lake camera "[i % 18] : static_cast<char>(' ' + random() % 90);
  }
  return text;
}

class ColumnMaker {
 public:
  ColumnMaker(Random* random, Shape shape) : random_(random), shape_(shape) {}

  std::shared_ptr<arrow::Array> Make(const std::shared_ptr<arrow::DataType>& type, int64_t rows) {
    switch (type->id()) {
      case arrow::Type::BOOL:
        return Build<arrow::BooleanBuilder>(
            type, rows, [](auto* builder, uint64_t key) { return builder->Append(key % 2 == 1); });
      case arrow::Type::STRING:
        return Text<arrow::StringBuilder>(type, rows);
      case arrow::Type::BINARY:
        return Text<arrow::BinaryBuilder>(type, rows);
      case arrow::Type::LARGE_STRING:
        return Text<arrow::LargeStringBuilder>(type, rows);
      case arrow::Type::LARGE_BINARY:
        return Text<arrow::LargeBinaryBuilder>(type, rows);
      case arrow::Type::FIXED_SIZE_LIST: {
        const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
        const auto items = Make(list.value_type(), rows * list.list_size());
        return WithNulls(arrow::FixedSizeListArray::FromArrays(items, type).ValueOrDie());
      }
      case arrow::Type::STRUCT: {
        arrow::ArrayVector children;
        for (const auto& field : type->fields()) {
          children.push_back(ColumnMaker(random_, RandomShape(random_)).Make(field->type(), rows));
        }
        return WithNulls(arrow::StructArray::Make(children, type->fields()).ValueOrDie());
      }
      default:
        return Bytes(type, rows);
    }
  }

 private:
  uint64_t NextKey() {
    if (run_left_ == 0) {
      key_ = (*random_)() % shape_.distinct;
      run_left_ = 1 + (*random_)() % shape_.longest_run;
    }
    --run_left_;
    return key_;
  }
  bool NextIsNull() { return std::uniform_real_distribution<>()(*random_) < shape_.null_ratio; }

  template <typename Builder, typename Append>
  std::shared_ptr<arrow::Array> Build(const std::shared_ptr<arrow::DataType>& type, int64_t rows,
                                      const Append& append) {
    Builder builder(type, arrow::default_memory_pool());
    for (int64_t row = 0; row < rows; ++row) {
      EXPECT_TRUE((NextIsNull() ? builder.AppendNull() : append(&builder, NextKey())).ok());
    }
    return builder.Finish().ValueOrDie();
  }

  template <typename Builder>
  std::shared_ptr<arrow::Array> Text(const std::shared_ptr<arrow::DataType>& type, int64_t rows) {
    return Build<Builder>(type, rows, [this](auto* builder, uint64_t key) {
      return builder->Append(TextOf(key, shape_.longest_text));
    });
  }

  // Numbers of any kind are bytes here: few bits for small keys, all bits for large ones.
  std::shared_ptr<arrow::Array> Bytes(const std::shared_ptr<arrow::DataType>& type, int64_t rows) {
    const auto raw = arrow::fixed_size_binary(type->byte_width());
    // Not every number of these types' width is one of their values.
    const bool has_limits =
        type->id() == arrow::Type::DECIMAL128 || type->id() == arrow::Type::TIME64;
    const auto array =
        Build<arrow::FixedSizeBinaryBuilder>(raw, rows, [&](auto* builder, uint64_t key) {
          std::string value(type->byte_width(), 0);
          std::memcpy(value.data(), &key, std::min<size_t>(value.size(), sizeof(key)));
          if (shape_.distinct > 5000 && !has_limits) {
            Random bytes(key);
            for (char& byte : value) byte = static_cast<char>(bytes());
          }
          return builder->Append(value);
        });
    auto data = array->data()->Copy();
    data->type = type;
    return arrow::MakeArray(data);
  }

  std::shared_ptr<arrow::Array> WithNulls(const std::shared_ptr<arrow::Array>& array) {
    arrow::BooleanBuilder mask;
    for (int64_t row = 0; row < array->length(); ++row)
      EXPECT_TRUE(mask.Append(!NextIsNull()).ok());
    return arrow::compute::IfElse(mask.Finish().ValueOrDie(), array,
                                  arrow::MakeNullScalar(array->type()))
        .ValueOrDie()
        .make_array();
  }

  Random* const random_;
  const Shape shape_;
  uint64_t key_ = 0;
  size_t run_left_ = 0;
};

std::shared_ptr<arrow::RecordBatch> RandomBatch(Random* random) {
  const auto types = LeafTypes();
  const int64_t rows = static_cast<int64_t>(
      (*random)() % std::array<uint64_t, 4>{3, 300, 3000, 20'000}[(*random)() % 4]);
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  for (size_t i = 0; i < 4; ++i) {
    auto type = types[(*random)() % types.size()];
    if ((*random)() % 4 == 0) {
      type = arrow::struct_(
          {arrow::field("x", type), arrow::field("y", types[(*random)() % types.size()])});
    }
    fields.push_back(arrow::field(fmt::format("c{}", i), type));
    columns.push_back(ColumnMaker(random, RandomShape(random)).Make(type, rows));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, columns);
}

RowSelection RandomSelection(Random* random, uint64_t rows) {
  RowSelection selection;
  uint64_t row = 0;
  while (true) {
    row += (*random)() % (rows / 4 + 2);
    const uint64_t count = 1 + (*random)() % ((*random)() % 2 == 0 ? 3 : rows / 4 + 2);
    if (row + count > rows) return selection;
    selection.Append(row, count);
    row += count;
  }
}

std::shared_ptr<arrow::RecordBatch> Select(const arrow::RecordBatch& batch,
                                           const RowSelection& selection) {
  arrow::Int64Builder rows;
  for (const RowRange& range : selection.ranges()) {
    for (uint64_t row = range.start; row < range.end(); ++row) {
      EXPECT_TRUE(rows.Append(static_cast<int64_t>(row)).ok());
    }
  }
  const auto indices = rows.Finish().ValueOrDie();
  arrow::ArrayVector columns;
  for (const auto& column : batch.columns()) {
    columns.push_back(arrow::compute::Take(*column, *indices).ValueOrDie());
  }
  return arrow::RecordBatch::Make(batch.schema(), indices->length(), columns);
}

void ExpectEqual(const arrow::RecordBatch& expected, const arrow::RecordBatch& actual) {
  ASSERT_TRUE(actual.schema()->Equals(*expected.schema())) << actual.schema()->ToString();
  ASSERT_EQ(actual.num_rows(), expected.num_rows());
  ASSERT_TRUE(actual.ValidateFull().ok()) << actual.ValidateFull();
  const auto options = arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false);
  for (int i = 0; i < expected.num_columns(); ++i) {
    ASSERT_TRUE(actual.column(i)->Equals(*expected.column(i), options))
        << expected.schema()->field(i)->ToString();
  }
}

// The same rows without dictionaries.
std::shared_ptr<arrow::RecordBatch> Materialise(const arrow::RecordBatch& batch,
                                                std::shared_ptr<arrow::Schema> schema) {
  arrow::ArrayVector columns;
  for (const auto& column : batch.columns()) {
    if (column->type_id() != arrow::Type::DICTIONARY) {
      columns.push_back(column);
      continue;
    }
    const auto& encoded = static_cast<const arrow::DictionaryArray&>(*column);
    EXPECT_TRUE(encoded.ValidateFull().ok());
    columns.push_back(arrow::compute::Take(*encoded.dictionary(), *encoded.indices()).ValueOrDie());
  }
  return arrow::RecordBatch::Make(std::move(schema), batch.num_rows(), columns);
}

void RoundTrip(Random* random) {
  const Context context;
  const auto store = storage::MakeMemoryStore();
  const auto batch = RandomBatch(random);
  FileWriterOptions options;
  if ((*random)() % 2 == 0) options.target_page_bytes = 1000 + (*random)() % 100'000;
  if ((*random)() % 2 == 0) options.max_buffered_bytes = 10'000 + (*random)() % 1'000'000;
  auto writer = FileWriter::Open(context, store, "f.lance",
                                 SchemaFromArrow(*batch->schema()).ValueOrDie(), options)
                    .ValueOrDie();
  for (int64_t start = 0; start < batch->num_rows();) {
    const int64_t count = 1 + static_cast<int64_t>((*random)() % 5000);
    const auto slice = batch->Slice(start, count);
    ASSERT_TRUE(writer->Write(*slice).ok());
    start += slice->num_rows();
  }
  const auto written = writer->Finish();
  ASSERT_TRUE(written.ok()) << written.status();

  const auto reader = FileReader::Open(context, store, "f.lance").ValueOrDie();
  const auto columns = reader->AllColumns().ValueOrDie();
  auto kept_columns = columns;
  for (ColumnRequest& column : kept_columns) column.keep_dictionary = true;
  const auto read = [&](const RowSelection& selection) {
    const auto result = reader->Read(context, columns, selection);
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectEqual(*Select(*batch, selection), **result);
    const auto kept = reader->Read(context, kept_columns, selection);
    ASSERT_TRUE(kept.ok()) << kept.status();
    ExpectEqual(*Select(*batch, selection), *Materialise(**kept, batch->schema()));
  };
  read(RowSelection(0, reader->num_rows()));
  for (int i = 0; i < 4; ++i) read(RandomSelection(random, reader->num_rows()));
}

TEST(FileRoundTripTest, RandomFiles) {
  ASSERT_TRUE(arrow::compute::Initialize().ok());
  const char* const given = std::getenv("LAKE_TEST_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  constexpr int kFiles = 60;
  std::cout << "seed " << seed << ", files " << kFiles << "\n";
  for (int i = 0; i < kFiles; ++i) {
    SCOPED_TRACE(testing::Message() << "LAKE_TEST_SEED=" << seed << ", file " << i);
    Random random(seed + i);
    RoundTrip(&random);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace lake::format
