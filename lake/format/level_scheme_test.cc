// Levels to Arrow and back: values of random nesting are taken apart into levels by the plain
// definition (docs/format/encodings.md), and put together again by what the decoders use.

#include <algorithm>
#include <random>

#include <arrow/array/array_base.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/type.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "lake/format/column_tree_internal.h"
#include "lake/format/level_scheme_internal.h"
#include "lake/format/schema.h"

namespace lake::format {
namespace {

using Kind = NestingLayer::Kind;

// A value of a type that has one leaf.
struct Value {
  bool is_null = false;
  int32_t number = 0;
  std::vector<Value> items;
};

// A type from the outside in: 'l' list, 'L' large list, 's' struct; the leaf is an int32.
struct Shape {
  std::string kinds;
  // From the leaf outwards, as a page has them.
  std::vector<int> layers;

  size_t num_lists() const {
    return static_cast<size_t>(
        std::count_if(kinds.begin(), kinds.end(), [](char kind) { return kind != 's'; }));
  }
  bool CanBeNull(size_t layer) const {
    return layers[layer] == pb::NULLABLE_ITEM || layers[layer] == pb::NULLABLE_LIST ||
           layers[layer] == pb::NULL_AND_EMPTY_LIST;
  }
  bool CanBeEmpty(size_t layer) const {
    return layers[layer] == pb::EMPTYABLE_LIST || layers[layer] == pb::NULL_AND_EMPTY_LIST;
  }
  // Kind of layer `layer` (1 is the one around the leaf).
  char kind(size_t layer) const { return kinds[kinds.size() - layer]; }
};

std::shared_ptr<arrow::DataType> TypeOf(std::string_view kinds) {
  if (kinds.empty()) return arrow::int32();
  const auto inner = arrow::field("item", TypeOf(kinds.substr(1)));
  if (kinds[0] == 's') return arrow::struct_({inner});
  return kinds[0] == 'l' ? arrow::list(inner) : arrow::large_list(inner);
}

Value RandomValue(const Shape& shape, size_t layer, std::mt19937_64* random) {
  Value value;
  value.is_null = shape.CanBeNull(layer) && (*random)() % 5 == 0;
  if (value.is_null) return value;
  if (layer == 0) {
    value.number = static_cast<int32_t>((*random)() % 1000);
    return value;
  }
  size_t count = 1;
  if (shape.kind(layer) != 's') {
    count = (*random)() % 4 + (shape.CanBeEmpty(layer) ? 0 : 1);
  }
  for (size_t i = 0; i < count; ++i) value.items.push_back(RandomValue(shape, layer - 1, random));
  return value;
}

// What a page holds.
struct Entries {
  std::vector<uint16_t> repetition;
  std::vector<uint16_t> levels;
  std::vector<int32_t> values;
};

class Shredder {
 public:
  explicit Shredder(const Shape& shape) : shape_(shape) {
    uint16_t level = 0;
    bool visible = true;
    for (size_t layer = 0; layer < shape.layers.size(); ++layer) {
      if (layer > 0 && shape.kind(layer) != 's') {
        visible = false;
        ++lists_inside_;
      }
      depth_.push_back(lists_inside_);
      null_level_.push_back(shape.CanBeNull(layer) ? ++level : 0);
      empty_level_.push_back(shape.CanBeEmpty(layer) ? ++level : 0);
      if (visible) max_visible_ = level;
    }
  }

  void Add(const Value& row) { Add(row, shape_.layers.size() - 1, lists_inside_); }
  const Entries& entries() const { return entries_; }

 private:
  void Emit(uint16_t repetition, uint16_t level, int32_t number) {
    entries_.repetition.push_back(repetition);
    entries_.levels.push_back(level);
    if (level <= max_visible_) entries_.values.push_back(number);
  }

  void Add(const Value& value, size_t layer, uint16_t repetition) {
    if (value.is_null) return Emit(repetition, null_level_[layer], -1);
    if (layer == 0) return Emit(repetition, 0, value.number);
    if (value.items.empty()) return Emit(repetition, empty_level_[layer], -1);
    for (size_t i = 0; i < value.items.size(); ++i) {
      Add(value.items[i], layer - 1,
          i == 0 ? repetition : static_cast<uint16_t>(depth_[layer] - 1));
    }
  }

  const Shape& shape_;
  uint16_t lists_inside_ = 0;
  uint16_t max_visible_ = 0;
  std::vector<uint16_t> depth_;
  std::vector<uint16_t> null_level_;
  std::vector<uint16_t> empty_level_;
  Entries entries_;
};

void AppendTo(const Value& value, const Shape& shape, size_t layer, arrow::ArrayBuilder* builder) {
  if (value.is_null) {
    ASSERT_TRUE(builder->AppendNull().ok());
    return;
  }
  if (layer == 0) {
    ASSERT_TRUE(static_cast<arrow::Int32Builder*>(builder)->Append(value.number).ok());
    return;
  }
  arrow::ArrayBuilder* inner = nullptr;
  if (shape.kind(layer) == 's') {
    ASSERT_TRUE(static_cast<arrow::StructBuilder*>(builder)->Append().ok());
    inner = builder->child(0);
  } else if (shape.kind(layer) == 'l') {
    ASSERT_TRUE(static_cast<arrow::ListBuilder*>(builder)->Append().ok());
    inner = static_cast<arrow::ListBuilder*>(builder)->value_builder();
  } else {
    ASSERT_TRUE(static_cast<arrow::LargeListBuilder*>(builder)->Append().ok());
    inner = static_cast<arrow::LargeListBuilder*>(builder)->value_builder();
  }
  for (const Value& item : value.items) AppendTo(item, shape, layer - 1, inner);
}

// A field of the shape, and its one leaf.
struct Tree {
  std::vector<LeafColumn> leaves;
  ColumnTree tree;
};

Tree MakeTree(const Shape& shape) {
  ColumnRequest request;
  request.field =
      SchemaFromArrow(*arrow::schema({arrow::field("c", TypeOf(shape.kinds))}))->fields[0];
  request.columns = {0};
  Tree tree;
  tree.tree = ColumnTree::From(request, &tree.leaves).ValueOrDie();
  return tree;
}

LevelScheme SchemeOf(const Shape& shape, const Nesting& nesting) {
  google::protobuf::RepeatedField<int> layers(shape.layers.begin(), shape.layers.end());
  return LevelScheme::From(layers, nesting).ValueOrDie();
}

// Appends entries [from, to) as the decoders do.
Status AppendEntries(const LevelScheme& scheme, const Entries& entries, size_t from, size_t to,
                     size_t* next_value, LeafBuilder* builder) {
  std::vector<uint16_t> scratch;
  uint64_t num_values = 0;
  const uint16_t* const levels = entries.levels.data() + from;
  if (scheme.has_lists()) {
    ARROW_RETURN_NOT_OK(
        scheme.AppendLists(entries.repetition.data() + from, levels, to - from, builder));
  }
  ARROW_ASSIGN_OR_RAISE(const uint16_t* const visible,
                        scheme.Visible(levels, to - from, &scratch, &num_values));
  ARROW_RETURN_NOT_OK(scheme.Append(visible, num_values, builder));
  ARROW_RETURN_NOT_OK(builder->ReserveValues(num_values));
  std::copy_n(entries.values.data() + *next_value, num_values,
              reinterpret_cast<int32_t*>(builder->AppendFixed(num_values)));
  *next_value += num_values;
  return Status::OK();
}

Result<std::shared_ptr<arrow::Array>> Finish(const Tree& tree, uint64_t rows,
                                             LeafBuilder* builder) {
  std::vector<DecodedLeaf> decoded(1);
  ARROW_ASSIGN_OR_RAISE(decoded[0], DecodedLeaf::From(builder));
  return tree.tree.Assemble(tree.leaves, decoded, rows, arrow::default_memory_pool());
}

Shape RandomShape(std::mt19937_64* random) {
  Shape shape;
  const size_t depth = (*random)() % 6;
  shape.layers = {(*random)() % 2 == 0 ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM};
  for (size_t i = 0; i < depth; ++i) {
    shape.kinds.push_back("lLs"[(*random)() % 3]);
  }
  for (size_t layer = 1; layer <= depth; ++layer) {
    constexpr int kLists[] = {pb::ALL_VALID_LIST, pb::NULLABLE_LIST, pb::EMPTYABLE_LIST,
                              pb::NULL_AND_EMPTY_LIST};
    shape.layers.push_back(shape.kind(layer) == 's'
                               ? ((*random)() % 2 == 0 ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM)
                               : kLists[(*random)() % 4]);
  }
  return shape;
}

TEST(LevelSchemeTest, RandomNestingComesBack) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = RandomShape(&random);
    SCOPED_TRACE(fmt::format("shape '{}', layers {}", shape.kinds, fmt::join(shape.layers, " ")));
    const uint64_t rows = random() % 60;
    Shredder shredder(shape);
    std::unique_ptr<arrow::ArrayBuilder> expected;
    ASSERT_TRUE(
        arrow::MakeBuilder(arrow::default_memory_pool(), TypeOf(shape.kinds), &expected).ok());
    for (uint64_t row = 0; row < rows; ++row) {
      const Value value = RandomValue(shape, shape.layers.size() - 1, &random);
      shredder.Add(value);
      AppendTo(value, shape, shape.layers.size() - 1, expected.get());
    }
    const Tree tree = MakeTree(shape);
    const LevelScheme scheme = SchemeOf(shape, tree.leaves[0].nesting);
    LeafBuilder builder = LeafBuilder::Make(tree.leaves[0].type, tree.leaves[0].nesting, rows,
                                            arrow::default_memory_pool())
                              .ValueOrDie();
    const Entries& entries = shredder.entries();
    size_t next_value = 0;
    for (size_t from = 0; from < entries.levels.size();) {
      const size_t to = from + 1 + random() % (entries.levels.size() - from);
      const Status status = AppendEntries(scheme, entries, from, to, &next_value, &builder);
      ASSERT_TRUE(status.ok()) << status;
      from = to;
    }
    const auto array = Finish(tree, rows, &builder);
    ASSERT_TRUE(array.ok()) << array.status();
    ASSERT_TRUE((*array)->ValidateFull().ok()) << (*array)->ValidateFull();
    const auto wanted = expected->Finish().ValueOrDie();
    ASSERT_TRUE((*array)->Equals(wanted)) << (*array)->Diff(*wanted);
  }
}

TEST(LevelSchemeTest, PagesOfOneColumnMayHaveOtherLayers) {
  Shape shape;
  shape.kinds = "sl";
  const std::vector<std::vector<int>> pages = {
      {pb::ALL_VALID_ITEM, pb::ALL_VALID_LIST, pb::ALL_VALID_ITEM},
      {pb::NULLABLE_ITEM, pb::NULL_AND_EMPTY_LIST, pb::NULLABLE_ITEM},
      {pb::ALL_VALID_ITEM, pb::EMPTYABLE_LIST, pb::ALL_VALID_ITEM},
      {pb::ALL_VALID_ITEM, pb::NULLABLE_LIST, pb::NULLABLE_ITEM}};
  std::mt19937_64 random(7);
  shape.layers = pages[0];
  const Tree tree = MakeTree(shape);
  LeafBuilder builder = LeafBuilder::Make(tree.leaves[0].type, tree.leaves[0].nesting, 40,
                                          arrow::default_memory_pool())
                            .ValueOrDie();
  std::unique_ptr<arrow::ArrayBuilder> expected;
  ASSERT_TRUE(
      arrow::MakeBuilder(arrow::default_memory_pool(), TypeOf(shape.kinds), &expected).ok());
  for (const auto& layers : pages) {
    shape.layers = layers;
    Shredder shredder(shape);
    for (int row = 0; row < 10; ++row) {
      const Value value = RandomValue(shape, 2, &random);
      shredder.Add(value);
      AppendTo(value, shape, 2, expected.get());
    }
    size_t next_value = 0;
    const LevelScheme scheme = SchemeOf(shape, tree.leaves[0].nesting);
    ASSERT_TRUE(AppendEntries(scheme, shredder.entries(), 0, shredder.entries().levels.size(),
                              &next_value, &builder)
                    .ok());
  }
  const auto array = Finish(tree, 40, &builder).ValueOrDie();
  ASSERT_TRUE(array->ValidateFull().ok());
  const auto wanted = expected->Finish().ValueOrDie();
  EXPECT_TRUE(array->Equals(wanted)) << array->Diff(*wanted);
}

TEST(LevelSchemeTest, LevelsThatDoNotFitEachOtherAreCorrupt) {
  struct Case {
    const char* what;
    std::string kinds;
    std::vector<int> layers;
    std::vector<uint16_t> repetition;
    std::vector<uint16_t> levels;
  };
  const Case cases[] = {
      {"first entry begins no row", "l", {3, 6}, {0}, {0}},
      {"null list inside a list that is open", "l", {3, 6}, {1, 0}, {0, 2}},
      {"repetition above the lists", "l", {3, 6}, {1, 2}, {0, 0}},
      {"level above the layers", "l", {3, 6}, {1}, {4}},
      {"outer null without a new row", "ll", {1, 2, 4}, {2, 1}, {0, 1}},
      {"repetition above two lists", "ll", {1, 2, 4}, {2, 3}, {0, 0}},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Shape shape;
    shape.kinds = test.kinds;
    shape.layers = test.layers;
    const Tree tree = MakeTree(shape);
    LeafBuilder builder = LeafBuilder::Make(tree.leaves[0].type, tree.leaves[0].nesting, 1,
                                            arrow::default_memory_pool())
                              .ValueOrDie();
    const Status status =
        SchemeOf(shape, tree.leaves[0].nesting)
            .AppendLists(test.repetition.data(), test.levels.data(), test.levels.size(), &builder);
    EXPECT_EQ(CodeOf(status), ErrorCode::kCorrupt) << status;
  }
}

TEST(LevelSchemeTest, LayersOfAnotherShapeThanTheFieldAreCorrupt) {
  Nesting list;
  list.layers.push_back({Kind::kList, false, true});
  const auto from = [&](std::vector<int> layers) {
    return LevelScheme::From({layers.begin(), layers.end()}, list).status();
  };
  EXPECT_TRUE(from({pb::NULLABLE_ITEM, pb::NULLABLE_LIST}).ok());
  EXPECT_EQ(CodeOf(from({pb::NULLABLE_ITEM})), ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf(from({pb::NULLABLE_ITEM, pb::NULLABLE_ITEM})), ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf(from({pb::NULLABLE_LIST, pb::NULLABLE_LIST})), ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf(from({pb::NULLABLE_ITEM, 99})), ErrorCode::kUnsupported);
}

TEST(SelectEntriesTest, FindsTheEntriesOfRows) {
  // Rows 4 (goes on from before), 5, 6 and 7 have 2, 1, 3 and 1 entries.
  const std::vector<uint16_t> repetition = {0, 0, 1, 1, 0, 0, 1};
  const auto select = [&](std::vector<RowRange> rows) {
    std::vector<RowRange> entries;
    SelectEntries(repetition.data(), repetition.size(), 1, 4, rows, &entries);
    return entries;
  };
  EXPECT_EQ(select({{0, 100}}), (std::vector<RowRange>{{0, 7}}));
  EXPECT_EQ(select({{4, 1}}), (std::vector<RowRange>{{0, 2}}));
  EXPECT_EQ(select({{5, 1}, {7, 1}}), (std::vector<RowRange>{{2, 1}, {6, 1}}));
  EXPECT_EQ(select({{3, 1}, {6, 1}}), (std::vector<RowRange>{{3, 3}}));
  EXPECT_EQ(select({{8, 3}}), std::vector<RowRange>());
  EXPECT_EQ(select({{0, 4}}), std::vector<RowRange>());
}

// One row of 300,000 items in pieces, as chunks give it.
TEST(LevelSchemeTest, OneLongRowInManyPieces) {
  Shape shape;
  shape.kinds = "l";
  shape.layers = {pb::NULLABLE_ITEM, pb::NULL_AND_EMPTY_LIST};
  const Tree tree = MakeTree(shape);
  const LevelScheme scheme = SchemeOf(shape, tree.leaves[0].nesting);
  LeafBuilder builder = LeafBuilder::Make(tree.leaves[0].type, tree.leaves[0].nesting, 1,
                                          arrow::default_memory_pool())
                            .ValueOrDie();
  constexpr size_t kItems = 300'000;
  Entries entries;
  for (size_t i = 0; i < kItems; ++i) {
    entries.repetition.push_back(i == 0 ? 1 : 0);
    entries.levels.push_back(i % 3 == 0 ? 1 : 0);
    entries.values.push_back(static_cast<int32_t>(i));
  }
  size_t next_value = 0;
  for (size_t from = 0; from < kItems; from += 4096) {
    ASSERT_TRUE(
        AppendEntries(scheme, entries, from, std::min(kItems, from + 4096), &next_value, &builder)
            .ok());
  }
  const auto array = Finish(tree, 1, &builder).ValueOrDie();
  ASSERT_TRUE(array->ValidateFull().ok());
  const auto& list = static_cast<const arrow::ListArray&>(*array);
  EXPECT_EQ(list.value_length(0), static_cast<int32_t>(kItems));
  EXPECT_EQ(list.values()->null_count(), static_cast<int64_t>(kItems / 3));
}

}  // namespace
}  // namespace lake::format
