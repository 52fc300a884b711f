#include "lake/format/v20_read_call_internal.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/checked.h"
#include "lake/format/jsonb.h"
#include "lake/format/v20_concatenate_internal.h"

namespace lake::format {
namespace {

Result<std::shared_ptr<arrow::Array>> TextOfJson(const arrow::Array& jsonb,
                                                 arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto text, JsonbToText(*jsonb.data(), pool));
  return arrow::MakeArray(std::move(text));
}

}  // namespace

// --- fields -----------------------------------------------------------------------------------

Status V20ReadCall::AddField(const ColumnRequest& request) {
  ARROW_ASSIGN_OR_RAISE(auto field, ToArrow(request.field));
  const size_t wanted = Schema::ColumnIds(request.field, source_.version).size();
  if (request.columns.size() != wanted) {
    return Error(ErrorCode::kInvalidArgument, "a field of {} columns is asked for with {}: '{}'",
                 wanted, request.columns.size(), request.field.name);
  }
  std::span<const int> columns = request.columns;
  ARROW_ASSIGN_OR_RAISE(auto node,
                        MakeNode(request.field, field->type(), request.field.name, &columns));
  fields_.push_back(std::move(field));
  nodes_.push_back(std::move(node));
  return Status::OK();
}

Result<std::unique_ptr<V20ReadCall::Node>> V20ReadCall::MakeNode(
    const Field& field, const std::shared_ptr<arrow::DataType>& type, const std::string& path,
    std::span<const int>* columns) {
  auto node = std::make_unique<Node>();
  node->type = type;
  node->is_json = field.logical_type == "json";
  node->path = path;
  if (field.is_blob_v2()) {
    return Error(ErrorCode::kUnsupported,
                 "blobs of version 2 are not read from files of version 2.0: '{}'", path);
  }
  if (columns->empty()) {
    return Error(ErrorCode::kInvalidArgument, "a field is asked for without a column: '{}'", path);
  }
  node->column = columns->front();
  *columns = columns->subspan(1);
  if (field.is_packed() || field.is_blob_v1()) return node;
  switch (type->id()) {
    case arrow::Type::STRUCT:
      node->kind = Kind::kStruct;
      break;
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
      node->kind = Kind::kList;
      break;
    case arrow::Type::MAP:
      return Error(ErrorCode::kUnsupported, "maps are not read from files of version 2.0: '{}'",
                   path);
    default:
      return node;
  }
  for (size_t i = 0; i < field.children.size(); ++i) {
    const Field& child = field.children[i];
    ARROW_ASSIGN_OR_RAISE(auto child_node, MakeNode(child, type->field(static_cast<int>(i))->type(),
                                                    path + "." + child.name, columns));
    node->children.push_back(std::move(child_node));
  }
  return node;
}

// The column of a struct holds nothing, so it is never read.
template <typename Visit>
void V20ReadCall::ForEachRead(Node* node, Visit visit) {
  if (node->kind != Kind::kStruct && node->column >= 0) visit(node);
  if (node->kind == Kind::kList && node->column < 0) return;
  for (const auto& child : node->children) ForEachRead(child.get(), visit);
}

std::vector<uint32_t> V20ReadCall::Columns() const {
  std::vector<uint32_t> columns;
  for (const auto& node : nodes_) {
    ForEachRead(node.get(),
                [&](Node* read) { columns.push_back(static_cast<uint32_t>(read->column)); });
  }
  return columns;
}

bool V20ReadCall::IsPresent(const Node& node) {
  if (node.column >= 0) return true;
  return node.kind == Kind::kStruct &&
         std::any_of(node.children.begin(), node.children.end(),
                     [](const auto& child) { return IsPresent(*child); });
}

std::string V20ReadCall::Place(const Node& node, size_t page) const {
  return fmt::format("Lance {} file '{}', column {} '{}', page {}", source_.version.ToString(),
                     source_.key, node.column, node.path, page);
}

// --- planning and reading ---------------------------------------------------------------------

Status V20ReadCall::Start(Node* node, const RowSelection& rows, bool in_list) {
  node->length = rows.num_rows();
  if (node->kind == Kind::kStruct) {
    for (const auto& child : node->children) {
      ARROW_RETURN_NOT_OK(Start(child.get(), rows, in_list));
    }
    return Status::OK();
  }
  if (node->column < 0) return Status::OK();
  const V20Column& column = *node->metadata;
  const uint64_t last = rows.empty() ? 0 : rows.ranges().back().end();
  if (last > column.num_values || (!in_list && column.num_values != num_rows_)) {
    return Error(ErrorCode::kCorrupt,
                 "Lance {} file '{}', column {} '{}': its pages have {} values, not {}",
                 source_.version.ToString(), source_.key, node->column, node->path,
                 column.num_values, in_list ? last : num_rows_);
  }
  node->first_round = rounds_.size() - 1;
  if (node->kind == Kind::kList) {
    const uint32_t offset_bits = node->type->id() == arrow::Type::LIST ? 32 : 64;
    ARROW_ASSIGN_OR_RAISE(node->offsets,
                          V20Offsets::Make(offset_bits, rows.num_rows(), context_.pool()));
  }
  uint64_t first_item = 0;
  for (size_t i = 0; i < column.pages.size(); ++i) {
    const V20Page& page = column.pages[i];
    if (page.first_value >= last) break;
    RowSelection values;
    const RowSelection in_page = rows.Slice(page.first_value, page.num_values);
    for (const RowRange& range : in_page.ranges()) {
      values.Append(range.start - page.first_value, range.count);
    }
    if (!values.empty()) {
      const Status status = StartPage(node, page, i, first_item, values);
      if (!status.ok()) return WithContext(status, Place(*node, i));
    }
    if (node->kind == Kind::kList) {
      // Where a page is no list, StartPage says so when the page is wanted.
      const auto next = CheckedAdd(first_item, page.encoding.list().num_items());
      if (!next || *next > uint64_t{1} << 62) {
        return Error(ErrorCode::kCorrupt, "{}: it has too many items", Place(*node, i));
      }
      first_item = *next;
    }
  }
  waiting_.push_back(node);
  return Status::OK();
}

Status V20ReadCall::StartPage(Node* node, const V20Page& page, size_t index, uint64_t first_item,
                              const RowSelection& values) {
  const V20PageContext page_context{
      node->metadata.get(),
      &page,
      context_.pool(),
      dictionaries_,
      uint64_t{static_cast<uint32_t>(node->column)} << 32 | static_cast<uint32_t>(index),
      false};
  PageEntry entry;
  entry.index = index;
  if (node->kind == Kind::kLeaf) {
    const auto stored = node->is_json ? arrow::large_binary() : node->type;
    ARROW_ASSIGN_OR_RAISE(entry.values, MakeV20Decoder(page_context, page.encoding, stored));
    ARROW_RETURN_NOT_OK(entry.values->PlanFirst(values, &rounds_.back()));
  } else {
    if (!page.encoding.has_list()) {
      return Error(ErrorCode::kUnsupported, "encoding {} does not make lists",
                   V20EncodingName(page.encoding));
    }
    const pb::ArrayList& list = page.encoding.list();
    ARROW_ASSIGN_OR_RAISE(
        auto ends, V20Ends::Make(page_context, list.offsets(), list.null_offset_adjustment()));
    ARROW_RETURN_NOT_OK(ends.Plan(values, &rounds_.back()));
    entry.ends = std::make_unique<V20Ends>(std::move(ends));
    entry.first_item = first_item;
    entry.num_items = list.num_items();
  }
  node->pages.push_back(std::move(entry));
  return Status::OK();
}

Status V20ReadCall::ContinueList(Node* node) {
  RowSelection items;
  for (const PageEntry& page : node->pages) {
    const Status status = page.ends->Decode(rounds_[node->first_round], page.num_items,
                                            page.first_item, &node->offsets, &items);
    if (!status.ok()) return WithContext(status, Place(*node, page.index));
  }
  node->pages.clear();
  if (items.num_rows() > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return Error(ErrorCode::kInvalidArgument,
                 "{} items of lists at once: read fewer rows: column '{}' of '{}'",
                 items.num_rows(), node->path, source_.key);
  }
  return Start(node->children[0].get(), items, true);
}

Status V20ReadCall::Continue(Node* node) {
  if (node->kind == Kind::kList) return ContinueList(node);
  if (node->has_second) return Status::OK();
  node->has_second = true;
  for (const PageEntry& page : node->pages) {
    const Status status = page.values->PlanSecond(rounds_[node->first_round], &rounds_.back());
    if (!status.ok()) return WithContext(status, Place(*node, page.index));
  }
  waiting_.push_back(node);
  return Status::OK();
}

// --- results ----------------------------------------------------------------------------------

Result<std::shared_ptr<arrow::Array>> V20ReadCall::AssembleLeaf(Node* node) {
  if (node->pages.empty()) return arrow::MakeEmptyArray(node->type, context_.pool());
  arrow::ArrayVector parts;
  for (const PageEntry& page : node->pages) {
    ARROW_RETURN_NOT_OK(context_.Check());
    const auto data =
        page.values->Decode(rounds_[node->first_round], rounds_[node->first_round + 1]);
    if (!data.ok()) return WithContext(data.status(), Place(*node, page.index));
    parts.push_back(arrow::MakeArray(*data));
  }
  node->pages.clear();
  auto whole = V20Concatenate(parts, context_.pool());
  if (whole.ok() && node->is_json) whole = TextOfJson(**whole, context_.pool());
  if (!whole.ok()) {
    return WithContext(whole.status(),
                       fmt::format("Lance {} file '{}', column {} '{}'", source_.version.ToString(),
                                   source_.key, node->column, node->path));
  }
  return whole;
}

Result<std::shared_ptr<arrow::Array>> V20ReadCall::Assemble(Node* node) {
  const int64_t length = static_cast<int64_t>(node->length);
  if (!IsPresent(*node)) return arrow::MakeArrayOfNull(node->type, length, context_.pool());
  if (node->kind == Kind::kLeaf) return AssembleLeaf(node);
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  for (const auto& child : node->children) {
    ARROW_ASSIGN_OR_RAISE(const auto array, Assemble(child.get()));
    children.push_back(array->data());
  }
  if (node->kind == Kind::kStruct) {
    return arrow::MakeArray(
        arrow::ArrayData::Make(node->type, length, {nullptr}, std::move(children), 0));
  }
  return arrow::MakeArray(arrow::ArrayData::Make(
      node->type, length, {node->offsets.validity(), node->offsets.offsets()}, std::move(children),
      node->offsets.null_count()));
}

Status V20ReadCall::Fetch(std::span<const std::shared_ptr<const V20Column>> metadata) {
  size_t next = 0;
  for (const auto& node : nodes_) {
    ForEachRead(node.get(), [&](Node* read) { read->metadata = metadata[next++]; });
  }
  rounds_.emplace_back();
  for (const auto& node : nodes_) ARROW_RETURN_NOT_OK(Start(node.get(), selection_, false));
  while (!waiting_.empty()) {
    ARROW_RETURN_NOT_OK(context_.Check());
    ARROW_RETURN_NOT_OK(rounds_.back().Fetch(context_, source_.store.get(), source_.key));
    rounds_.emplace_back();
    const std::vector<Node*> fetched = std::exchange(waiting_, {});
    for (Node* node : fetched) ARROW_RETURN_NOT_OK(Continue(node));
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> V20ReadCall::Decode() {
  arrow::ArrayVector arrays;
  for (const auto& node : nodes_) {
    ARROW_ASSIGN_OR_RAISE(auto array, Assemble(node.get()));
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields_)),
                                  static_cast<int64_t>(selection_.num_rows()), std::move(arrays));
}

}  // namespace lake::format
