#include "lake/format/page_decoder_internal.h"

#include <utility>

#include <arrow/buffer.h>

namespace lake::format {

size_t RangeReads::Add(ByteRange range) {
  ranges_.push_back(range);
  num_bytes_ += range.length;
  return ranges_.size() - 1;
}

Status RangeReads::Fetch(const Context& context, storage::ObjectStore* store,
                         const std::string& key) {
  if (ranges_.empty()) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(buffers_, store->GetMany(context, key, ranges_));
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (static_cast<uint64_t>(buffers_[i]->size()) != ranges_[i].length) {
      return Error(ErrorCode::kIo, "the store gave {} bytes of {} at {} of {}", buffers_[i]->size(),
                   ranges_[i].length, ranges_[i].offset, key);
    }
  }
  return Status::OK();
}

std::string_view RangeReads::Get(size_t number) const {
  const arrow::Buffer& buffer = *buffers_[number];
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

Result<std::unique_ptr<PageDecoder>> MakePageDecoder(PageTask task, const Nesting& nesting) {
  const pb::PageLayout& layout = task.page->layout;
  const auto set_levels = [&](const google::protobuf::RepeatedField<int>& layers) {
    ARROW_ASSIGN_OR_RAISE(task.levels, LevelScheme::From(layers, nesting));
    return Status::OK();
  };
  if ((task.type.kind == LeafType::Kind::kBlob) != layout.has_blob()) {
    return Error(ErrorCode::kCorrupt, "page of a blob layout and its column do not go together");
  }
  switch (layout.layout_case()) {
    case pb::PageLayout::kMiniBlock:
      ARROW_RETURN_NOT_OK(set_levels(layout.mini_block().layers()));
      return MakeMiniBlockDecoder(std::move(task));
    case pb::PageLayout::kFullZip:
      ARROW_RETURN_NOT_OK(set_levels(layout.full_zip().layers()));
      return MakeFullZipDecoder(std::move(task));
    case pb::PageLayout::kConstant:
      ARROW_RETURN_NOT_OK(set_levels(layout.constant().layers()));
      return MakeConstantDecoder(std::move(task));
    case pb::PageLayout::kBlob:
      ARROW_RETURN_NOT_OK(set_levels(layout.blob().layers()));
      return MakeBlobDecoder(std::move(task));
    case pb::PageLayout::kSparse:
      return Error(ErrorCode::kUnsupported, "page layout Sparse is not read");
    case pb::PageLayout::LAYOUT_NOT_SET:
      break;
  }
  return Error(ErrorCode::kUnsupported, "unknown page layout is not read");
}

}  // namespace lake::format
