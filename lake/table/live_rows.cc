#include "lake/table/live_rows.h"

#include <algorithm>

#include "lake/table/dataset_impl.h"
#include "lake/table/row_ids_of_fragment.h"

namespace lake::table {

namespace {

/// Adds the live rows of a fragment, cut where their ids or versions do not go on.
void AddRuns(uint64_t fragment_id, const FragmentRowIds& ids, const DeletionVector& deletions,
             uint64_t physical_rows, std::vector<LiveRun>* runs) {
  const format::RowSelection survivors = deletions.Survivors(0, physical_rows);
  for (const format::RowRange& range : survivors.ranges()) {
    uint64_t row = range.start;
    ids.last_updated_at.Visit(
        format::RowSelection(range.start, range.count), [&](uint64_t version, uint64_t count) {
          ids.ids.Visit(format::RowSelection(row, count), [&](uint64_t start, uint64_t length) {
            runs->push_back({start, length, fragment_id << 32 | row, version});
            row += length;
          });
        });
  }
}

}  // namespace

Result<LiveRows> LiveRows::Of(const Context& context, const Dataset& dataset) {
  const Manifest& manifest = dataset.manifest();
  if (!manifest.has_stable_row_ids()) {
    return Error(ErrorCode::kUnsupported,
                 "rows are followed by their ids only in tables with stable row ids: {}",
                 dataset.store()->description());
  }
  // DatasetImpl is the only Dataset.
  FragmentSource& source = *static_cast<const DatasetImpl&>(dataset).source();
  LiveRows live;
  ARROW_ASSIGN_OR_RAISE(live.memory_, context.memory->Reserve(0, "row ids of a version"));
  for (const Fragment& fragment : manifest.fragments()) {
    ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows, source.PhysicalRows(context, fragment));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const FragmentRowIds> ids,
                          FragmentRowIds::Of(fragment, physical_rows));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                          source.Deletions(context, fragment));
    AddRuns(fragment.id, *ids, *deletions, physical_rows, &live.runs_);
    const size_t bytes = live.runs_.capacity() * sizeof(LiveRun);
    ARROW_RETURN_NOT_OK(WithContext(live.memory_.Resize(static_cast<int64_t>(bytes)),
                                    "row ids of " + dataset.store()->description()));
  }
  std::sort(live.runs_.begin(), live.runs_.end(),
            [](const LiveRun& a, const LiveRun& b) { return a.first_id < b.first_id; });
  for (size_t i = 1; i < live.runs_.size(); ++i) {
    if (live.runs_[i].first_id < live.runs_[i - 1].end_id()) {
      return Error(ErrorCode::kCorrupt, "two rows of a version have the same row id: {}: id {}",
                   dataset.store()->description(), live.runs_[i].first_id);
    }
  }
  return live;
}

std::optional<RowAddress> LiveRows::Find(uint64_t row_id) const {
  auto run = std::upper_bound(runs_.begin(), runs_.end(), row_id,
                              [](uint64_t id, const LiveRun& r) { return id < r.first_id; });
  if (run == runs_.begin()) return std::nullopt;
  --run;
  if (row_id - run->first_id >= run->count) return std::nullopt;
  return run->address + (row_id - run->first_id);
}

Result<std::vector<RowAddress>> AddressesOf(const Context& context, const Dataset& dataset,
                                            std::span<const uint64_t> row_ids) {
  if (!dataset.manifest().has_stable_row_ids()) {
    return std::vector<RowAddress>(row_ids.begin(), row_ids.end());
  }
  ARROW_ASSIGN_OR_RAISE(LiveRows live, LiveRows::Of(context, dataset));
  std::vector<RowAddress> addresses;
  addresses.reserve(row_ids.size());
  for (uint64_t id : row_ids) {
    std::optional<RowAddress> address = live.Find(id);
    if (!address) return Error(ErrorCode::kNotFound, "version has no row of that id: {}", id);
    addresses.push_back(*address);
  }
  return addresses;
}

}  // namespace lake::table
