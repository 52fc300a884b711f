#include "lake/format/column_tree_internal.h"

#include <algorithm>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "lake/base/checked.h"
#include "lake/format/jsonb.h"

namespace lake::format {
namespace {

constexpr char kJson[] = "json";

Result<std::shared_ptr<arrow::ArrayData>> NullsOf(const arrow::Field& field, uint64_t length,
                                                  arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(const auto array,
                        arrow::MakeArrayOfNull(field.type(), static_cast<int64_t>(length), pool));
  return array->data();
}

Status NotFitting(const arrow::Field& field, uint64_t has, uint64_t wanted) {
  return Error(ErrorCode::kCorrupt,
               "columns of one parent do not fit each other: '{}' has {} values, not {}",
               field.name(), has, wanted);
}

// Every `step`-th bit.
Result<std::shared_ptr<arrow::Buffer>> EveryBit(const std::shared_ptr<arrow::Buffer>& bits,
                                                uint64_t step, uint64_t count,
                                                arrow::MemoryPool* pool) {
  if (bits == nullptr || step == 1) return bits;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> out,
                        arrow::AllocateEmptyBitmap(static_cast<int64_t>(count), pool));
  for (uint64_t i = 0; i < count; ++i) {
    if (arrow::bit_util::GetBit(bits->data(), static_cast<int64_t>(i * step))) {
      arrow::bit_util::SetBit(out->mutable_data(), static_cast<int64_t>(i));
    }
  }
  return out;
}

int64_t NullCount(const std::shared_ptr<arrow::Buffer>& validity) {
  return validity == nullptr ? 0 : arrow::kUnknownNullCount;
}

}  // namespace

Result<DecodedLeaf> DecodedLeaf::From(LeafBuilder* builder) {
  DecodedLeaf leaf;
  NestingBuilder& nesting = builder->nesting();
  const std::vector<NestingLayer>& around = nesting.nesting().layers;
  if (nesting.num_lists() > 0 && nesting.slots(0) != builder->rows()) {
    return Error(ErrorCode::kInternal, "decoded {} values for {} slots", builder->rows(),
                 nesting.slots(0));
  }
  for (size_t i = 0; i < around.size(); ++i) {
    Layer& layer = leaf.layers.emplace_back();
    if (!around[i].is_built) continue;
    layer.validity = nesting.validity(i).buffer();
    if (around[i].kind == NestingLayer::Kind::kList) {
      ARROW_ASSIGN_OR_RAISE(layer.offsets, nesting.FinishOffsets(i));
    }
  }
  for (size_t k = 0; k <= nesting.num_lists(); ++k) leaf.slots.push_back(nesting.slots(k));
  leaf.slots[0] = builder->rows();
  ARROW_ASSIGN_OR_RAISE(leaf.values, builder->Finish());
  return leaf;
}

// Walks down a request's field.
class ColumnTree::Builder {
 public:
  Builder(const ColumnRequest& request, std::vector<LeafColumn>* leaves)
      : request_(request), leaves_(leaves) {}

  Result<Node> Build(const Field& field, const std::shared_ptr<arrow::Field>& arrow_field,
                     const std::string& path);
  size_t columns_used() const { return next_column_; }

 private:
  // A layer around what is built now, from the outside in.
  struct Around {
    NestingLayer layer;
    uint64_t slots;
    bool is_fixed_size_list;
    bool* is_given;
  };

  Result<Node> BuildLeaf(const Field& field, const std::shared_ptr<arrow::Field>& arrow_field,
                         const std::string& path);
  Result<LeafType> TypeOf(const Field& field, const std::shared_ptr<arrow::DataType>& type) const;

  const ColumnRequest& request_;
  std::vector<LeafColumn>* const leaves_;
  size_t next_column_ = 0;
  std::vector<Around> around_;
};

Result<LeafType> ColumnTree::Builder::TypeOf(const Field& field,
                                             const std::shared_ptr<arrow::DataType>& type) const {
  if (field.logical_type == kJson) return LeafType::From(arrow::large_binary());
  if (field.is_blob_v1()) {
    ARROW_ASSIGN_OR_RAISE(LeafType blob, LeafType::Packed(type));
    blob.kind = LeafType::Kind::kBlob;
    return blob;
  }
  if (field.is_packed() || field.is_blob_v2()) return LeafType::Packed(type);
  return LeafType::From(type);
}

Result<ColumnTree::Node> ColumnTree::Builder::BuildLeaf(
    const Field& field, const std::shared_ptr<arrow::Field>& arrow_field, const std::string& path) {
  Node node;
  node.field = arrow_field;
  if (field.logical_type == kJson) node.kind = Kind::kJson;
  LeafColumn leaf;
  leaf.name = path;
  const size_t number = next_column_++;
  if (number >= request_.columns.size()) return node;
  leaf.column = request_.columns[number];
  auto type = TypeOf(field, arrow_field->type());
  if (!type.ok()) return WithContext(type.status(), fmt::format("column '{}'", path));
  leaf.type = *std::move(type);
  bool inside_list = false;
  bool inside_fixed_size_list = false;
  for (size_t i = around_.size(); i-- > 0;) {
    NestingLayer layer = around_[i].layer;
    layer.is_built = leaf.column >= 0 && !*around_[i].is_given;
    if (leaf.column >= 0) *around_[i].is_given = true;
    leaf.nesting.layers.push_back(layer);
    leaf.slots_per_row *= around_[i].slots;
    inside_list |= layer.kind == NestingLayer::Kind::kList;
    inside_fixed_size_list |= around_[i].is_fixed_size_list;
  }
  if (leaf.column >= 0 && inside_list && inside_fixed_size_list) {
    return Error(ErrorCode::kUnsupported,
                 "lists together with fixed-size lists of structs are not read: column '{}'", path);
  }
  if (leaf.column >= 0) node.leaf = static_cast<int>(leaves_->size());
  leaves_->push_back(std::move(leaf));
  return node;
}

Result<ColumnTree::Node> ColumnTree::Builder::Build(
    const Field& field, const std::shared_ptr<arrow::Field>& arrow_field, const std::string& path) {
  if (field.is_leaf() || field.logical_type == kJson) return BuildLeaf(field, arrow_field, path);
  Node node;
  node.field = arrow_field;
  bool is_given = false;
  Around around{{}, 1, false, &is_given};
  switch (arrow_field->type()->id()) {
    case arrow::Type::STRUCT:
      node.kind = Kind::kStruct;
      break;
    case arrow::Type::FIXED_SIZE_LIST: {
      node.kind = Kind::kFixedSizeList;
      const auto& list = static_cast<const arrow::FixedSizeListType&>(*arrow_field->type());
      around.slots = static_cast<uint64_t>(list.list_size());
      around.is_fixed_size_list = true;
      break;
    }
    default:
      node.kind = Kind::kList;
      around.layer.kind = NestingLayer::Kind::kList;
      around.layer.is_large = arrow_field->type()->id() == arrow::Type::LARGE_LIST;
  }
  uint64_t slots = around.slots;
  for (const Around& outer : around_) {
    slots = CheckedMul(slots, outer.slots).value_or(uint64_t{1} << 62);
  }
  if (slots > uint64_t{1} << 31) {
    return Error(ErrorCode::kUnsupported, "a row of {} values is not read: column '{}'", slots,
                 path);
  }
  if (static_cast<size_t>(arrow_field->type()->num_fields()) != field.children.size()) {
    return Error(ErrorCode::kCorrupt, "a column of type {} has {} fields: '{}'", field.logical_type,
                 field.children.size(), path);
  }
  around_.push_back(around);
  for (size_t i = 0; i < field.children.size(); ++i) {
    const Field& child = field.children[i];
    ARROW_ASSIGN_OR_RAISE(Node built, Build(child, arrow_field->type()->field(static_cast<int>(i)),
                                            path + "." + child.name));
    if (node.leaf < 0 && built.leaf >= 0) {
      node.leaf = built.leaf;
      // Layers count from the leaf outwards.
      node.layer = (*leaves_)[built.leaf].nesting.layers.size() - around_.size();
    }
    node.children.push_back(std::move(built));
  }
  around_.pop_back();
  return node;
}

Result<ColumnTree> ColumnTree::From(const ColumnRequest& request, std::vector<LeafColumn>* leaves) {
  ColumnTree tree;
  ARROW_ASSIGN_OR_RAISE(const auto field, ToArrow(request.field));
  Builder builder(request, leaves);
  ARROW_ASSIGN_OR_RAISE(tree.root_, builder.Build(request.field, field, request.field.name));
  if (request.columns.size() != builder.columns_used()) {
    return Error(ErrorCode::kInvalidArgument,
                 "a field of {} leaves is asked for with {} columns: '{}'", builder.columns_used(),
                 request.columns.size(), request.field.name);
  }
  return tree;
}

Result<std::shared_ptr<arrow::ArrayData>> ColumnTree::AssembleList(const Node& node,
                                                                   uint64_t length,
                                                                   const Assembly& assembly) {
  const DecodedLeaf& decoded = assembly.decoded[node.leaf];
  const DecodedLeaf::Layer& layer = decoded.layers[node.layer];
  const Nesting& nesting = assembly.leaves[node.leaf].nesting;
  // The domain of this list counts it and all lists inside.
  const size_t domain = static_cast<size_t>(std::count_if(
      nesting.layers.begin(), nesting.layers.begin() + static_cast<int64_t>(node.layer) + 1,
      [](const NestingLayer& l) { return l.kind == NestingLayer::Kind::kList; }));
  if (decoded.slots[domain] != length) {
    return NotFitting(*node.field, decoded.slots[domain], length);
  }
  ARROW_ASSIGN_OR_RAISE(auto items,
                        AssembleNode(node.children[0], decoded.slots[domain - 1], assembly));
  if (node.field->type()->id() == arrow::Type::MAP) {
    // Arrow, and whoever gets the rows from us, relies on this.
    for (const auto& part : {items, items->child_data[0]}) {
      if (part->GetNullCount() != 0) {
        return Error(ErrorCode::kCorrupt, "a map has a null key or entry: column '{}'",
                     node.field->name());
      }
    }
  }
  return arrow::ArrayData::Make(node.field->type(), static_cast<int64_t>(length),
                                {layer.validity, layer.offsets}, {std::move(items)},
                                NullCount(layer.validity));
}

Result<std::shared_ptr<arrow::ArrayData>> ColumnTree::AssembleNode(const Node& node,
                                                                   uint64_t length,
                                                                   const Assembly& assembly) {
  if (node.leaf < 0) return NullsOf(*node.field, length, assembly.pool);
  const DecodedLeaf& decoded = assembly.decoded[node.leaf];
  switch (node.kind) {
    case Kind::kLeaf:
    case Kind::kJson:
      if (static_cast<uint64_t>(decoded.values->length) != length) {
        return NotFitting(*node.field, static_cast<uint64_t>(decoded.values->length), length);
      }
      if (node.kind == Kind::kLeaf) return decoded.values;
      return JsonbToText(*decoded.values, assembly.pool);
    case Kind::kList:
      return AssembleList(node, length, assembly);
    case Kind::kStruct: {
      std::vector<std::shared_ptr<arrow::ArrayData>> children;
      for (const Node& child : node.children) {
        ARROW_ASSIGN_OR_RAISE(auto data, AssembleNode(child, length, assembly));
        children.push_back(std::move(data));
      }
      // In slots of the leaf, of which a row inside fixed-size lists has several.
      uint64_t step = 1;
      const auto& values = assembly.leaves[node.leaf];
      if (values.slots_per_row != 1) step = decoded.slots[0] / std::max<uint64_t>(length, 1);
      ARROW_ASSIGN_OR_RAISE(const auto validity, EveryBit(decoded.layers[node.layer].validity, step,
                                                          length, assembly.pool));
      return arrow::ArrayData::Make(node.field->type(), static_cast<int64_t>(length), {validity},
                                    std::move(children), NullCount(validity));
    }
    case Kind::kFixedSizeList: {
      const auto& type = static_cast<const arrow::FixedSizeListType&>(*node.field->type());
      const uint64_t step = length == 0 ? 1 : decoded.slots[0] / length;
      ARROW_ASSIGN_OR_RAISE(const auto validity, EveryBit(decoded.layers[node.layer].validity, step,
                                                          length, assembly.pool));
      ARROW_ASSIGN_OR_RAISE(
          auto items, AssembleNode(node.children[0],
                                   length * static_cast<uint64_t>(type.list_size()), assembly));
      return arrow::ArrayData::Make(node.field->type(), static_cast<int64_t>(length), {validity},
                                    {std::move(items)}, NullCount(validity));
    }
  }
  return Error(ErrorCode::kInternal, "a column of no kind");
}

Result<std::shared_ptr<arrow::Array>> ColumnTree::Assemble(const std::vector<LeafColumn>& leaves,
                                                           const std::vector<DecodedLeaf>& decoded,
                                                           uint64_t num_rows,
                                                           arrow::MemoryPool* pool) const {
  ARROW_ASSIGN_OR_RAISE(auto data, AssembleNode(root_, num_rows, {leaves, decoded, pool}));
  return arrow::MakeArray(data);
}

}  // namespace lake::format
