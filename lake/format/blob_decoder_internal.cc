#include <utility>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/type.h>

#include "lake/base/checked.h"
#include "lake/format/page_decoder_internal.h"

namespace lake::format {
namespace {

// A page of blobs: a page inside it has their positions and sizes, packed. What is no blob has size
// 0 and its levels in the position.
class BlobDecoder : public PageDecoder {
 public:
  explicit BlobDecoder(PageTask task) : task_(std::move(task)), page_(*task_.page) {
    page_.layout = task_.page->layout.blob().inner_layout();
  }

  Status Start();
  Status PlanState(std::shared_ptr<const PageState> cached, RangeReads* reads) override {
    return inner_->PlanState(std::move(cached), reads);
  }
  Status PlanData(const RangeReads& state, RangeReads* reads) override {
    return inner_->PlanData(state, reads);
  }
  Status Decode(const RangeReads& state, const RangeReads& data, DecodeScratch* scratch,
                LeafBuilder* builder) override;
  std::shared_ptr<const PageState> state() const override { return inner_->state(); }

 private:
  PageTask task_;
  PageMetadata page_;
  LeafType packed_;
  std::unique_ptr<PageDecoder> inner_;
};

Status BlobDecoder::Start() {
  if (task_.levels.has_lists()) {
    return Error(ErrorCode::kUnsupported, "blobs in lists are not read");
  }
  packed_ = task_.type;
  packed_.kind = LeafType::Kind::kPacked;
  if (packed_.parts.size() != 2 || page_.layout.has_blob()) {
    return Error(ErrorCode::kCorrupt, "blob layout of another shape");
  }
  PageTask task;
  task.column = task_.column;
  task.page = &page_;
  task.type = packed_;
  task.rows = task_.rows;
  task.pool = task_.pool;
  ARROW_ASSIGN_OR_RAISE(inner_, MakePageDecoder(std::move(task), Nesting()));
  return Status::OK();
}

Status BlobDecoder::Decode(const RangeReads& state, const RangeReads& data, DecodeScratch* scratch,
                           LeafBuilder* builder) {
  const uint64_t count = task_.rows.num_rows();
  ARROW_ASSIGN_OR_RAISE(LeafBuilder packed,
                        LeafBuilder::Make(packed_, Nesting(), count, task_.pool));
  ARROW_RETURN_NOT_OK(inner_->Decode(state, data, scratch, &packed));
  ARROW_ASSIGN_OR_RAISE(const auto positions, packed.parts()[0].Finish());
  ARROW_ASSIGN_OR_RAISE(const auto sizes, packed.parts()[1].Finish());
  const uint64_t* const position = positions->GetValues<uint64_t>(1);
  const uint64_t* const size = sizes->GetValues<uint64_t>(1);
  scratch->levels.assign(count, 0);
  uint64_t* const out_position =
      reinterpret_cast<uint64_t*>(builder->parts()[0].AppendFixed(count));
  uint64_t* const out_size = reinterpret_cast<uint64_t*>(builder->parts()[1].AppendFixed(count));
  for (uint64_t i = 0; i < count; ++i) {
    const bool is_blob = size[i] != 0 || position[i] == 0;
    if (!is_blob) scratch->levels[i] = static_cast<uint16_t>(position[i] >> 16);
    out_position[i] = is_blob ? position[i] : 0;
    out_size[i] = size[i];
  }
  for (LeafBuilder& part : builder->parts()) {
    ARROW_RETURN_NOT_OK(part.validity().AppendValid(count));
  }
  builder->CommitParts(count);
  return task_.levels.Append(scratch->levels.data(), count, builder);
}

}  // namespace

Result<std::unique_ptr<PageDecoder>> MakeBlobDecoder(PageTask task) {
  auto decoder = std::make_unique<BlobDecoder>(std::move(task));
  ARROW_RETURN_NOT_OK(decoder->Start());
  return decoder;
}

}  // namespace lake::format
