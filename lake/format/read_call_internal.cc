#include "lake/format/read_call_internal.h"

#include <algorithm>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/checked.h"

namespace lake::format {

Status ReadCall::AddField(const ColumnRequest& request) {
  if (request.field.is_packed() || request.field.is_blob_v1() || request.field.is_blob_v2() ||
      request.field.logical_type == "json" ||
      (request.field.logical_type == "struct" && request.field.children.empty())) {
    return Error(ErrorCode::kUnsupported,
                 "a column stored as packed struct, blob, JSON or empty struct is not read: Lance "
                 "{} file '{}', "
                 "column '{}'",
                 source_.version.ToString(), source_.key, request.field.name);
  }
  OutputField output;
  ARROW_ASSIGN_OR_RAISE(output.field, ToArrow(request.field));
  output.first_leaf = leaves_.size();
  const bool is_struct = output.field->type()->id() == arrow::Type::STRUCT;
  const size_t num_leaves = is_struct ? output.field->type()->fields().size() : 1;
  if (request.columns.size() != num_leaves) {
    return Error(ErrorCode::kInvalidArgument,
                 "a field of {} leaves is asked for with {} columns: '{}'", num_leaves,
                 request.columns.size(), request.field.name);
  }
  if (is_struct) {
    bool has_parent = false;
    for (size_t i = 0; i < num_leaves; ++i) {
      const auto& child = output.field->type()->field(static_cast<int>(i));
      const bool with_parent = !has_parent && request.columns[i] >= 0;
      has_parent |= with_parent;
      ARROW_RETURN_NOT_OK(AddLeaf(child, output.field->name() + "." + child->name(),
                                  request.columns[i], true, with_parent));
    }
  } else {
    ARROW_RETURN_NOT_OK(
        AddLeaf(output.field, output.field->name(), request.columns[0], false, false));
  }
  outputs_.push_back(std::move(output));
  return Status::OK();
}

Status ReadCall::AddLeaf(const std::shared_ptr<arrow::Field>& field, const std::string& name,
                         int column, bool in_struct, bool with_parent) {
  Leaf leaf;
  leaf.column = column;
  leaf.name = name;
  leaf.in_struct = in_struct;
  leaf.with_parent = with_parent;
  auto type = LeafType::From(field->type());
  if (!type.ok())
    return WithContext(type.status(), fmt::format("Lance {} file '{}', column '{}'",
                                                  source_.version.ToString(), source_.key, name));
  leaf.type = *std::move(type);
  leaves_.push_back(std::move(leaf));
  return Status::OK();
}

std::vector<uint32_t> ReadCall::Columns() const {
  std::vector<uint32_t> columns;
  for (const Leaf& leaf : leaves_) {
    if (leaf.column >= 0) columns.push_back(static_cast<uint32_t>(leaf.column));
  }
  return columns;
}

std::vector<LeafType> ReadCall::PresentTypes() const {
  std::vector<LeafType> types;
  for (const Leaf& leaf : leaves_) {
    if (leaf.column >= 0) types.push_back(leaf.type);
  }
  return types;
}

std::string ReadCall::Place(const Leaf& leaf, size_t page) const {
  return fmt::format("Lance {} file '{}', column {} '{}', page {}", source_.version.ToString(),
                     source_.key, leaf.column, leaf.name, page);
}

template <typename Step>
Status ReadCall::ForEachPage(Leaf* leaf, Step step) {
  for (PageEntry& page : leaf->pages) {
    const Status status = step(&page);
    if (!status.ok()) return WithContext(status, Place(*leaf, page.index));
  }
  return Status::OK();
}

Status ReadCall::PlanLeaf(const std::shared_ptr<const ColumnMetadata>& metadata, Leaf* leaf) {
  const auto& pages = metadata->pages;
  for (const RowRange& range : selection_.ranges()) {
    size_t index = static_cast<size_t>(std::upper_bound(pages.begin(), pages.end(), range.start,
                                                        [](uint64_t row, const PageMetadata& p) {
                                                          return row < p.first_row + p.num_rows;
                                                        }) -
                                       pages.begin());
    if (!leaf->pages.empty()) index = std::max(index, leaf->pages.back().index + 1);
    for (; index < pages.size() && pages[index].first_row < range.end(); ++index) {
      const PageMetadata& page = pages[index];
      if (page.num_rows == 0) continue;
      PageTask task;
      task.column = metadata;
      task.page = &page;
      task.type = leaf->type;
      task.pool = context_.pool();
      const RowSelection rows = selection_.Slice(page.first_row, page.num_rows);
      for (const RowRange& part : rows.ranges()) {
        task.rows.Append(part.start - page.first_row, part.count);
      }
      auto read = MakePageDecoder(std::move(task), leaf->in_struct);
      if (!read.ok()) return WithContext(read.status(), Place(*leaf, index));
      const uint64_t key = uint64_t{static_cast<uint32_t>(leaf->column)} << 32 | index;
      leaf->pages.push_back({key, index, *std::move(read), nullptr});
    }
  }
  return ForEachPage(leaf, [&](PageEntry* page) {
    page->cached = states_->Find(page->state_key);
    return page->read->PlanState(page->cached, &state_reads_);
  });
}

Result<ReadCall::Column> ReadCall::DecodeLeaf(Leaf* leaf) {
  ARROW_ASSIGN_OR_RAISE(LeafBuilder builder, LeafBuilder::Make(leaf->type, selection_.num_rows(),
                                                               leaf->with_parent, context_.pool()));
  DecodeScratch scratch;
  ARROW_RETURN_NOT_OK(ForEachPage(leaf, [&](PageEntry* page) {
    ARROW_RETURN_NOT_OK(context_.Check());
    return page->read->Decode(state_reads_, data_reads_, &scratch, &builder);
  }));
  Column column;
  ARROW_ASSIGN_OR_RAISE(column.data, builder.Finish());
  column.parent_validity = builder.parent_validity().buffer();
  return column;
}

Result<std::shared_ptr<arrow::Array>> ReadCall::Assemble(const OutputField& output,
                                                         std::span<const Column> columns) {
  const int64_t length = static_cast<int64_t>(selection_.num_rows());
  const auto leaf_array =
      [&](size_t leaf,
          const std::shared_ptr<arrow::DataType>& type) -> Result<std::shared_ptr<arrow::Array>> {
    if (leaves_[leaf].column >= 0) return arrow::MakeArray(columns[leaf].data);
    return arrow::MakeArrayOfNull(type, length, context_.pool());
  };
  const auto& type = output.field->type();
  if (type->id() != arrow::Type::STRUCT) return leaf_array(output.first_leaf, type);
  arrow::ArrayVector children;
  std::shared_ptr<arrow::Buffer> validity;
  bool present = false;
  for (size_t i = 0; i < type->fields().size(); ++i) {
    const size_t leaf = output.first_leaf + i;
    ARROW_ASSIGN_OR_RAISE(auto child, leaf_array(leaf, type->field(static_cast<int>(i))->type()));
    children.push_back(std::move(child));
    if (leaves_[leaf].with_parent) {
      present = true;
      validity = columns[leaf].parent_validity;
    }
  }
  if (!present) return arrow::MakeArrayOfNull(type, length, context_.pool());
  return std::make_shared<arrow::StructArray>(type, length, std::move(children), validity,
                                              validity == nullptr ? 0 : arrow::kUnknownNullCount);
}

Result<std::shared_ptr<arrow::RecordBatch>> ReadCall::Run(
    std::span<const std::shared_ptr<const ColumnMetadata>> metadata) {
  size_t next = 0;
  for (Leaf& leaf : leaves_) {
    if (leaf.column >= 0) ARROW_RETURN_NOT_OK(PlanLeaf(metadata[next++], &leaf));
  }
  ARROW_RETURN_NOT_OK(state_reads_.Fetch(context_, source_.store.get(), source_.key));
  for (Leaf& leaf : leaves_) {
    ARROW_RETURN_NOT_OK(ForEachPage(&leaf, [&](PageEntry* page) {
      ARROW_RETURN_NOT_OK(page->read->PlanData(state_reads_, &data_reads_));
      if (auto state = page->read->state(); state != page->cached && state != nullptr) {
        const size_t bytes = state->MemoryUse();
        states_->Put(page->state_key, std::move(state), bytes);
      }
      return Status::OK();
    }));
  }
  ARROW_RETURN_NOT_OK(data_reads_.Fetch(context_, source_.store.get(), source_.key));

  std::vector<Column> columns(leaves_.size());
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].column < 0) continue;
    ARROW_ASSIGN_OR_RAISE(columns[i], DecodeLeaf(&leaves_[i]));
  }
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const OutputField& output : outputs_) {
    ARROW_ASSIGN_OR_RAISE(auto array, Assemble(output, columns));
    fields.push_back(output.field);
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                  static_cast<int64_t>(selection_.num_rows()), std::move(arrays));
}

}  // namespace lake::format
