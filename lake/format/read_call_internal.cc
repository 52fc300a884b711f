#include "lake/format/read_call_internal.h"

#include <algorithm>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/checked.h"

namespace lake::format {
namespace {

// The same rows, each of them `slots` times.
RowSelection Widen(const RowSelection& rows, uint64_t slots) {
  RowSelection wide;
  for (const RowRange& range : rows.ranges()) wide.Append(range.start * slots, range.count * slots);
  return wide;
}

}  // namespace

Status ReadCall::AddField(const ColumnRequest& request) {
  auto tree = ColumnTree::From(request, &leaves_);
  if (!tree.ok()) {
    return WithContext(tree.status(),
                       fmt::format("Lance {} file '{}'", source_.version.ToString(), source_.key));
  }
  outputs_.push_back(*std::move(tree));
  const arrow::Type::type type = outputs_.back().field()->type()->id();
  if (request.keep_dictionary && (type == arrow::Type::STRING || type == arrow::Type::BINARY)) {
    leaves_.back().keep_dictionary = leaves_.back().nesting.layers.empty();
  }
  return Status::OK();
}

std::vector<uint32_t> ReadCall::Columns() const {
  std::vector<uint32_t> columns;
  for (const LeafColumn& leaf : leaves_) {
    if (leaf.column >= 0) columns.push_back(static_cast<uint32_t>(leaf.column));
  }
  return columns;
}

std::vector<const LeafColumn*> ReadCall::PresentLeaves() const {
  std::vector<const LeafColumn*> leaves;
  for (const LeafColumn& leaf : leaves_) {
    if (leaf.column >= 0) leaves.push_back(&leaf);
  }
  return leaves;
}

std::string ReadCall::Place(const LeafColumn& leaf, size_t page) const {
  return fmt::format("Lance {} file '{}', column {} '{}', page {}", source_.version.ToString(),
                     source_.key, leaf.column, leaf.name, page);
}

template <typename Step>
Status ReadCall::ForEachPage(size_t leaf, Step step) {
  for (PageEntry& page : pages_[leaf]) {
    const Status status = step(&page);
    if (!status.ok()) return WithContext(status, Place(leaves_[leaf], page.index));
  }
  return Status::OK();
}

Status ReadCall::PlanLeaf(const std::shared_ptr<const ColumnMetadata>& metadata, size_t number) {
  const LeafColumn& leaf = leaves_[number];
  std::vector<PageEntry>& planned = pages_[number];
  const auto& pages = metadata->pages;
  if (!pages.empty() && metadata->slots_per_row != leaf.slots_per_row) {
    return Error(ErrorCode::kCorrupt,
                 "its pages have {} slots for each row, its field {}: Lance {} file '{}', column "
                 "{} '{}'",
                 metadata->slots_per_row, leaf.slots_per_row, source_.version.ToString(),
                 source_.key, leaf.column, leaf.name);
  }
  RowSelection wide;
  if (leaf.slots_per_row != 1) wide = Widen(selection_, leaf.slots_per_row);
  const RowSelection& wanted = leaf.slots_per_row == 1 ? selection_ : wide;
  for (const RowRange& range : wanted.ranges()) {
    if (!planned.empty()) {
      const PageMetadata& last = pages[planned.back().index];
      if (range.end() <= last.first_row + last.num_rows) continue;
    }
    size_t index = static_cast<size_t>(std::upper_bound(pages.begin(), pages.end(), range.start,
                                                        [](uint64_t row, const PageMetadata& p) {
                                                          return row < p.first_row + p.num_rows;
                                                        }) -
                                       pages.begin());
    if (!planned.empty()) index = std::max(index, planned.back().index + 1);
    for (; index < pages.size() && pages[index].first_row < range.end(); ++index) {
      const PageMetadata& page = pages[index];
      if (page.num_rows == 0) continue;
      if (page.is_planar != (source_.version == kFileVersion23)) {
        return WithContext(
            page.is_planar
                ? Error(ErrorCode::kCorrupt, "page in the form of another file version")
                : Error(ErrorCode::kUnsupported,
                        "pages of version 2.3 in the form of pylance 10 to 13 are not read"),
            Place(leaf, index));
      }
      PageTask task;
      task.column = metadata;
      task.page = &page;
      task.type = leaf.type;
      task.pool = context_.pool();
      task.rows = wanted.Slice(page.first_row, page.num_rows, page.first_row);
      auto read = MakePageDecoder(std::move(task), leaf.nesting);
      if (!read.ok()) return WithContext(read.status(), Place(leaf, index));
      const uint64_t key = uint64_t{static_cast<uint32_t>(leaf.column)} << 32 | index;
      planned.push_back({key, index, *std::move(read), nullptr});
    }
  }
  return ForEachPage(number, [&](PageEntry* page) {
    page->cached = states_->Find(page->state_key);
    return page->read->PlanState(page->cached, &state_reads_);
  });
}

Result<DecodedLeaf> ReadCall::DecodeLeaf(size_t number) {
  const LeafColumn& leaf = leaves_[number];
  const auto slots = CheckedMul(selection_.num_rows(), leaf.slots_per_row);
  if (!slots) return Error(ErrorCode::kInvalidArgument, "too many rows at once");
  std::shared_ptr<arrow::Array> dictionary;
  LeafType type = leaf.type;
  if (leaf.keep_dictionary && pages_[number].size() == 1) {
    dictionary = pages_[number][0].read->dictionary();
    if (dictionary != nullptr) {
      ARROW_ASSIGN_OR_RAISE(type, LeafType::From(arrow::uint32()));
    }
  }
  ARROW_ASSIGN_OR_RAISE(LeafBuilder builder,
                        LeafBuilder::Make(type, leaf.nesting, *slots, context_.pool()));
  builder.set_takes_indices(dictionary != nullptr);
  DecodeScratch scratch;
  ARROW_RETURN_NOT_OK(ForEachPage(number, [&](PageEntry* page) {
    ARROW_RETURN_NOT_OK(context_.Check());
    return page->read->Decode(state_reads_, data_reads_, &scratch, &builder);
  }));
  ARROW_ASSIGN_OR_RAISE(DecodedLeaf decoded, DecodedLeaf::From(&builder));
  if (dictionary != nullptr) {
    decoded.values->type = arrow::dictionary(arrow::uint32(), leaf.type.type);
    decoded.values->dictionary = dictionary->data();
  }
  return decoded;
}

Status ReadCall::Fetch(std::span<const std::shared_ptr<const ColumnMetadata>> metadata) {
  pages_.resize(leaves_.size());
  size_t next = 0;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].column >= 0) ARROW_RETURN_NOT_OK(PlanLeaf(metadata[next++], i));
  }
  ARROW_RETURN_NOT_OK(state_reads_.Fetch(context_, source_.store.get(), source_.key));
  for (size_t i = 0; i < leaves_.size(); ++i) {
    ARROW_RETURN_NOT_OK(ForEachPage(i, [&](PageEntry* page) {
      ARROW_RETURN_NOT_OK(page->read->PlanData(state_reads_, &data_reads_));
      if (auto state = page->read->state(); state != page->cached && state != nullptr) {
        const size_t bytes = state->MemoryUse();
        states_->Put(page->state_key, std::move(state), bytes);
      }
      return Status::OK();
    }));
  }
  return data_reads_.Fetch(context_, source_.store.get(), source_.key);
}

Result<std::shared_ptr<arrow::RecordBatch>> ReadCall::Decode() {
  std::vector<DecodedLeaf> decoded(leaves_.size());
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].column < 0) continue;
    ARROW_ASSIGN_OR_RAISE(decoded[i], DecodeLeaf(i));
  }
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const ColumnTree& output : outputs_) {
    auto array = output.Assemble(leaves_, decoded, selection_.num_rows(), context_.pool());
    if (!array.ok()) {
      return WithContext(array.status(), fmt::format("Lance {} file '{}'",
                                                     source_.version.ToString(), source_.key));
    }
    fields.push_back((*array)->type_id() == arrow::Type::DICTIONARY
                         ? output.field()->WithType((*array)->type())
                         : output.field());
    arrays.push_back(*std::move(array));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                  static_cast<int64_t>(selection_.num_rows()), std::move(arrays));
}

}  // namespace lake::format
