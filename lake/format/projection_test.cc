// Fields of any nesting are read without some of their parts, and with parts that the file lacks.

#include <random>

#include <arrow/api.h>
#include <arrow/array/util.h>
#include <arrow/compare.h>
#include <gtest/gtest.h>

#include "lake/format/file_reader.h"
#include "lake/format/schema.h"
#include "lake/format/testing/fixtures.h"

namespace lake::format {
namespace {

using ArrayData = std::shared_ptr<arrow::ArrayData>;

constexpr char kAbsent[] = "absent";

// A part of `field` at random, of each struct at least one child; struct children that the file
// lacks come in between.
class Projector {
 public:
  explicit Projector(std::mt19937_64* random) : random_(random) {}

  ColumnRequest Project(const ColumnRequest& whole) {
    whole_ = &whole;
    next_column_ = 0;
    columns_.clear();
    ColumnRequest part;
    part.field = Project(whole.field);
    part.columns = columns_;
    return part;
  }

 private:
  void AddAbsent(std::vector<Field>* children) {
    if ((*random_)() % 3 != 0) return;
    Field absent;
    absent.name = kAbsent + std::to_string(children->size());
    absent.logical_type = "list";
    absent.children.emplace_back();
    absent.children[0].name = "item";
    absent.children[0].logical_type = "string";
    children->push_back(absent);
    columns_.push_back(-1);
  }

  Field Project(const Field& field) {
    Field part = field;
    if (field.is_leaf()) {
      columns_.push_back(whole_->columns[next_column_++]);
      return part;
    }
    part.children.clear();
    const size_t kept = (*random_)() % field.children.size();
    for (size_t i = 0; i < field.children.size(); ++i) {
      const bool is_struct = field.logical_type == "struct" && field.name != "entries";
      if (is_struct) AddAbsent(&part.children);
      if (is_struct && i != kept && (*random_)() % 2 == 0) {
        next_column_ += Schema::LeafIds(field.children[i]).size();
        continue;
      }
      part.children.push_back(Project(field.children[i]));
    }
    return part;
  }

  std::mt19937_64* const random_;
  const ColumnRequest* whole_ = nullptr;
  size_t next_column_ = 0;
  std::vector<int> columns_;
};

// The same part of what is expected.
ArrayData PartOf(const ArrayData& whole, const Field& field, const Field& part) {
  if (field.is_leaf()) return whole;
  const auto type = ToArrow(part).ValueOrDie()->type();
  std::vector<ArrayData> children;
  for (size_t i = 0; i < part.children.size(); ++i) {
    const Field& child = part.children[i];
    size_t from = 0;
    if (field.logical_type == "struct") {
      while (from < field.children.size() && field.children[from].name != child.name) ++from;
    }
    if (from == field.children.size()) {
      children.push_back(
          arrow::MakeArrayOfNull(type->field(static_cast<int>(i))->type(), whole->length)
              .ValueOrDie()
              ->data());
      continue;
    }
    children.push_back(PartOf(whole->child_data[from], field.children[from], child));
  }
  return arrow::ArrayData::Make(type, whole->length, whole->buffers, children);
}

class ProjectionTest : public testing::TestWithParam<const char*> {};

TEST_P(ProjectionTest, AnyPartOfAFieldIsReadAlone) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  const Fixture& fixture = FindFixture(GetParam());
  const auto reader = OpenBytes(fixture.bytes).ValueOrDie();
  const auto columns = reader->AllColumns().ValueOrDie();
  Projector projector(&random);
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto& expected = fixture.rows->column(static_cast<int>(i));
    ASSERT_EQ(expected->offset(), 0);
    for (int round = 0; round < 10; ++round) {
      const ColumnRequest part = projector.Project(columns[i]);
      const auto wanted = arrow::MakeArray(PartOf(expected->data(), columns[i].field, part.field));
      SCOPED_TRACE(wanted->type()->ToString());
      const RowSelection some(random() % 10, reader->num_rows() / 2);
      for (const RowSelection& rows : {RowSelection(0, reader->num_rows()), some}) {
        const auto batch = reader->Read(Context(), std::span(&part, 1), rows);
        ASSERT_TRUE(batch.ok()) << batch.status();
        ASSERT_TRUE((*batch)->ValidateFull().ok()) << (*batch)->ValidateFull();
        const auto slice = wanted->Slice(static_cast<int64_t>(rows.ranges()[0].start),
                                         static_cast<int64_t>(rows.num_rows()));
        ASSERT_TRUE((*batch)->column(0)->Equals(slice)) << (*batch)->column(0)->Diff(*slice);
      }
    }
  }
}

TEST_P(ProjectionTest, AFieldThatTheFileLacksIsNull) {
  const Fixture& fixture = FindFixture(GetParam());
  const auto reader = OpenBytes(fixture.bytes).ValueOrDie();
  for (ColumnRequest column : reader->AllColumns().ValueOrDie()) {
    std::fill(column.columns.begin(), column.columns.end(), -1);
    const auto batch = reader->Read(Context(), std::span(&column, 1), RowSelection(0, 5));
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_TRUE((*batch)->Validate().ok());
    EXPECT_EQ((*batch)->column(0)->null_count(), 5);
  }
}

TEST_P(ProjectionTest, AWrongNumberOfColumnsIsRefused) {
  const Fixture& fixture = FindFixture(GetParam());
  const auto reader = OpenBytes(fixture.bytes).ValueOrDie();
  for (ColumnRequest column : reader->AllColumns().ValueOrDie()) {
    for (const bool more : {true, false}) {
      ColumnRequest wrong = column;
      if (more) {
        wrong.columns.push_back(0);
      } else {
        wrong.columns.pop_back();
      }
      const auto batch = reader->Read(Context(), std::span(&wrong, 1), RowSelection(0, 5));
      EXPECT_EQ(CodeOf(batch.status()), ErrorCode::kInvalidArgument) << batch.status();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nested, ProjectionTest,
                         testing::Values("nested_nulls-2.1", "nested_nulls-2.2", "nested_lists-2.2",
                                         "nested_valid-2.2", "map_basic-2.2", "fsl_struct-2.2",
                                         "structs-2.1"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace lake::format
