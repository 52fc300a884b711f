#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/file_reader.h"
#include "lake/format/leaf_builder.h"

namespace arrow {
class Array;
struct ArrayData;
class Field;
}  // namespace arrow

namespace lake::format {

/// A leaf of a wanted field.
struct LeafColumn {
  /// Column of the file; -1 if the file has none.
  int column = -1;
  /// Path such as "point.x".
  std::string name;
  LeafType type;
  Nesting nesting;
  /// It may be decoded as indices into the dictionary of its page (ColumnRequest).
  bool keep_dictionary = false;
  /// Slots of a row in the leaf's pages: more than 1 inside a fixed-size list of structs.
  uint64_t slots_per_row = 1;
};

/// What was decoded of a leaf. Layers as in its Nesting.
struct DecodedLeaf {
  std::shared_ptr<arrow::ArrayData> values;
  struct Layer {
    std::shared_ptr<arrow::Buffer> validity;
    std::shared_ptr<arrow::Buffer> offsets;
  };
  std::vector<Layer> layers;
  /// Slots of each domain of the nesting (NestingBuilder).
  std::vector<uint64_t> slots;

  static Result<DecodedLeaf> From(LeafBuilder* builder);
};

/// The tree of a wanted field: takes it apart into leaves, and puts it together again from what was
/// decoded of them. Immutable after From.
class ColumnTree {
 public:
  /// Adds the leaves of the request's field to `leaves`. kInvalidArgument if the request does not
  /// have one column for each of them; kUnsupported, by name, for a field that is not read.
  static Result<ColumnTree> From(const ColumnRequest& request, std::vector<LeafColumn>* leaves);

  const std::shared_ptr<arrow::Field>& field() const { return root_.field; }

  /// The rows of the field. `leaves` are those of From, `decoded` goes with them. kCorrupt if
  /// leaves of one parent do not fit each other.
  Result<std::shared_ptr<arrow::Array>> Assemble(const std::vector<LeafColumn>& leaves,
                                                 const std::vector<DecodedLeaf>& decoded,
                                                 uint64_t num_rows, arrow::MemoryPool* pool) const;

 private:
  enum class Kind { kLeaf, kJson, kStruct, kList, kFixedSizeList };

  struct Node {
    Kind kind = Kind::kLeaf;
    std::shared_ptr<arrow::Field> field;
    std::vector<Node> children;
    // The first leaf below that is in the file, which also gives this node's layer; -1 for none.
    int leaf = -1;
    // Number of the layer in that leaf's nesting.
    size_t layer = 0;
  };
  struct Assembly {
    const std::vector<LeafColumn>& leaves;
    const std::vector<DecodedLeaf>& decoded;
    arrow::MemoryPool* pool;
  };
  class Builder;

  static Result<std::shared_ptr<arrow::ArrayData>> AssembleNode(const Node& node, uint64_t length,
                                                                const Assembly& assembly);
  static Result<std::shared_ptr<arrow::ArrayData>> AssembleList(const Node& node, uint64_t length,
                                                                const Assembly& assembly);

  Node root_;
};

}  // namespace lake::format
