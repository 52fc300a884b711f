#include "lake/table/row_collector.h"

#include <vector>

#include <roaring/roaring.h>

#include "lake/base/checked.h"
#include "lake/format/row_selection.h"

namespace lake::table {

namespace {

// What is reserved at a time: the budget is shared by threads.
constexpr uint64_t kReservedStep = 64 << 10;
constexpr uint32_t kRowsAtOnce = 4096;

}  // namespace

void RowCollector::FreeBitmap::operator()(roaring_bitmap_s* bitmap) const {
  roaring_bitmap_free(bitmap);
}

RowCollector::RowCollector(const Context& context, const char* purpose)
    : budget_(context.memory), purpose_(purpose) {}

RowCollector::~RowCollector() = default;

Status RowCollector::AddTo(Collected* collected, std::span<const RowAddress> addresses) {
  if (collected->rows == nullptr) collected->rows.reset(roaring_bitmap_create());
  std::vector<uint32_t> rows;
  rows.reserve(addresses.size());
  for (const RowAddress address : addresses) rows.push_back(static_cast<uint32_t>(address));
  roaring_bitmap_add_many(collected->rows.get(), rows.size(), rows.data());
  const uint64_t bytes = roaring_bitmap_portable_size_in_bytes(collected->rows.get());
  num_bytes_ += bytes - collected->bytes;
  collected->bytes = bytes;
  const auto needed = static_cast<int64_t>(RoundUp(num_bytes_, kReservedStep));
  if (needed <= reservation_.bytes()) return Status::OK();
  if (reservation_.bytes() == 0) return budget_->Reserve(needed, purpose_).Value(&reservation_);
  return WithContext(reservation_.Resize(needed), purpose_);
}

Status RowCollector::Add(std::span<const RowAddress> addresses) {
  num_added_ += addresses.size();
  while (!addresses.empty()) {
    const uint64_t fragment = addresses.front() >> 32;
    size_t count = 1;
    while (count < addresses.size() && addresses[count] >> 32 == fragment) ++count;
    ARROW_RETURN_NOT_OK(AddTo(&fragments_[fragment], addresses.first(count)));
    addresses = addresses.subspan(count);
  }
  return Status::OK();
}

std::map<uint64_t, DeletionVector> RowCollector::Take() {
  std::map<uint64_t, DeletionVector> sets;
  std::vector<uint32_t> block(kRowsAtOnce);
  for (auto& [fragment, collected] : fragments_) {
    format::RowSelection selection;
    roaring_uint32_iterator_t rows;
    roaring_init_iterator(collected.rows.get(), &rows);
    while (const uint32_t count = roaring_read_uint32_iterator(&rows, block.data(), kRowsAtOnce)) {
      for (uint32_t i = 0; i < count; ++i) selection.Append(block[i], 1);
    }
    sets[fragment] = DeletionVector::FromSelection(selection);
    collected.rows.reset();
  }
  fragments_.clear();
  reservation_ = MemoryReservation();
  num_added_ = 0;
  num_bytes_ = 0;
  return sets;
}

}  // namespace lake::table
