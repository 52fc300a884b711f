#include "lake/format/leaf_path.h"

#include <algorithm>
#include <utility>

#include <arrow/type.h>

#include "lake/format/file_writer.h"
#include "lake/format/packed_rows.h"
#include "lake/format/page_builder.h"

namespace lake::format {
namespace {

// A chunk holds two values at least.
constexpr size_t kMostPackedBytes = 4096;

Status Refuse(const Field& field, const std::string& path, const std::string& why) {
  return Error(ErrorCode::kUnsupported, "a column is not written: '{}', type {}: {}", path,
               field.logical_type, why);
}

class PathFinder {
 public:
  PathFinder(const FileVersion& version, std::vector<LeafPath>* out)
      : version_(version), out_(out) {}

  Status Add(const Field& field, size_t top_level) {
    column_ = &field;
    current_ = LeafPath();
    current_.top_level = top_level;
    return Descend(field, field.name);
  }

 private:
  Status Descend(const Field& field, const std::string& path);
  Status DescendInto(const Field& field, const std::string& path, PathStep step, int child);
  Status AddLeaf(const Field& field, const std::string& path);
  Status SetPacked(const Field& field, const std::string& path, LeafPath* leaf) const;
  Status NeedsVersion22(const Field& field, const std::string& path) const;

  const FileVersion version_;
  const Field* column_ = nullptr;
  LeafPath current_;
  std::vector<LeafPath>* const out_;
};

Status PathFinder::DescendInto(const Field& field, const std::string& path, PathStep step,
                               int child) {
  step.child = child;
  const Field& next = field.children[child];
  current_.steps.push_back(std::move(step));
  ARROW_RETURN_NOT_OK(Descend(next, path + "." + next.name));
  current_.steps.pop_back();
  return Status::OK();
}

Status PathFinder::Descend(const Field& field, const std::string& path) {
  if (field.is_blob_v1()) return Refuse(field, path, "it is a blob of version 1");
  if (field.is_blob_v2()) {
    ARROW_RETURN_NOT_OK(NeedsVersion22(field, path));
    return AddLeaf(field, path);
  }
  if (field.is_leaf()) return AddLeaf(field, path);
  PathStep step;
  step.nullable = field.nullable;
  step.path = path;
  const std::string& type = field.logical_type;
  if (type == "struct") {
    for (size_t i = 0; i < field.children.size(); ++i) {
      ARROW_RETURN_NOT_OK(DescendInto(field, path, step, static_cast<int>(i)));
    }
    return Status::OK();
  }
  if (type == "map" || type.starts_with("list") || type.starts_with("large_list")) {
    const auto is_fixed_size_list = [](const PathStep& outer) {
      return outer.kind == PathStep::Kind::kFixedSizeList;
    };
    if (std::any_of(current_.steps.begin(), current_.steps.end(), is_fixed_size_list)) {
      return Refuse(field, path, "Lance does not read lists inside fixed-size lists of structs");
    }
    if (type == "map") ARROW_RETURN_NOT_OK(NeedsVersion22(field, path));
    step.kind = PathStep::Kind::kList;
    return DescendInto(field, path, std::move(step), 0);
  }
  ARROW_RETURN_NOT_OK(NeedsVersion22(field, path));
  if (!current_.steps.empty()) {
    return Refuse(field, path,
                  "Lance does not read fixed-size lists of structs inside other types");
  }
  ARROW_ASSIGN_OR_RAISE(const auto arrow_field, ToArrow(field));
  step.kind = PathStep::Kind::kFixedSizeList;
  step.dimension = static_cast<const arrow::FixedSizeListType&>(*arrow_field->type()).list_size();
  return DescendInto(field, path, std::move(step), 0);
}

Status PathFinder::NeedsVersion22(const Field& field, const std::string& path) const {
  if (version_ >= kFileVersion22) return Status::OK();
  return Refuse(field, path, "files of version 2.1 do not have this type, 2.2 does");
}

Status PathFinder::AddLeaf(const Field& field, const std::string& path) {
  LeafPath leaf = current_;
  leaf.field = &field;
  leaf.path = path;
  ARROW_ASSIGN_OR_RAISE(const auto arrow_field, ToArrow(field));
  // JSON is read as text, but lies in the file as binary.
  if (field.logical_type == "json") {
    leaf.shape = ValueShapeOf(*arrow::large_binary());
  } else if (field.is_blob_v2()) {
    leaf.shape = ValueShapeOf(*arrow::binary());
    leaf.shape.is_blob = true;
  } else if (field.is_packed()) {
    ARROW_RETURN_NOT_OK(SetPacked(field, path, &leaf));
  } else {
    leaf.shape = ValueShapeOf(*arrow_field->type());
  }
  if (leaf.shape.entries && leaf.shape.entries->is_bool) {
    return Refuse(field, path, "it is a dictionary of booleans");
  }
  std::vector<LevelShape::Layer> layers;
  for (auto step = leaf.steps.rbegin(); step != leaf.steps.rend(); ++step) {
    layers.push_back(step->kind == PathStep::Kind::kList ? LevelShape::Layer::kList
                                                         : LevelShape::Layer::kItem);
    leaf.slots_per_row *= step->dimension;
  }
  leaf.levels = LevelShape(layers);
  if (leaf.levels.num_lists() != 0 && field.is_blob_v2()) {
    return Refuse(field, path, "it is a blob inside a list");
  }
  if (field.children.empty() && field.logical_type == "struct" && leaf.levels.num_lists() != 0) {
    return Refuse(field, path, "a struct without fields inside a list is lost");
  }
  if (leaf.shape.dimensions.size() > kMostDimensions) {
    return Refuse(field, path, fmt::format("it has more than {} dimensions", kMostDimensions));
  }
  std::vector<LeafEncoding> fields = std::move(leaf.encoding.fields);
  ARROW_ASSIGN_OR_RAISE(leaf.encoding,
                        LeafEncoding::From(column_->metadata, field.metadata, path, version_));
  leaf.encoding.fields = std::move(fields);
  out_->push_back(std::move(leaf));
  return Status::OK();
}

Status PathFinder::SetPacked(const Field& field, const std::string& path, LeafPath* leaf) const {
  ARROW_ASSIGN_OR_RAISE(std::vector<PackedField> fields, PackedFieldsOf(field, path));
  leaf->shape = PackedShape(std::move(fields));
  for (const Field& child : field.children) {
    ARROW_ASSIGN_OR_RAISE(
        leaf->encoding.fields.emplace_back(),
        LeafEncoding::From({}, child.metadata, path + "." + child.name, version_));
  }
  if (leaf->shape.kind == ValueShape::Kind::kVariable) {
    return NeedsVersion22(field, path);
  }
  if (leaf->shape.width > kMostPackedBytes) {
    return Refuse(field, path,
                  fmt::format("rows of a packed struct have at most {} bytes, these {}",
                              kMostPackedBytes, leaf->shape.width));
  }
  return Status::OK();
}

}  // namespace

Result<std::vector<LeafPath>> LeafPathsOf(const Schema& schema, const FileVersion& version) {
  if (!IsWritten(version)) {
    return Error(ErrorCode::kUnsupported,
                 "files of this version are not written (2.1 and 2.2 are): {}", version.ToString());
  }
  std::vector<LeafPath> paths;
  PathFinder finder(version, &paths);
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    ARROW_RETURN_NOT_OK(finder.Add(schema.fields[i], i));
  }
  return paths;
}

Status CheckWritable(const Schema& schema, const FileVersion& version) {
  return LeafPathsOf(schema, version).status();
}

}  // namespace lake::format
