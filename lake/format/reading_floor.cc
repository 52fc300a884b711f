#include "lake/format/reading_floor.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lake/format/schema.h"

namespace lake::format {

std::string LanceRelease::ToString() const { return fmt::format("{}.{}", major, minor); }

const std::vector<FloorRow>& FloorRows() {
  static const std::vector<FloorRow> rows = {
      {FloorFact::kVersion20, "files of version 2.0", {0, 16}},
      {FloorFact::kVersion21, "files of version 2.1", {1, 0}},
      {FloorFact::kVersion22, "files of version 2.2", {3, 0}},
      {FloorFact::kVersion23, "files of version 2.3", {14, 0}},
      {FloorFact::kJson, "JSON columns", {1, 0}},
      {FloorFact::kBlobIn20, "blobs in files of version 2.0", {0, 24}},
      {FloorFact::kAllNullItems, "fixed-size lists of nothing but null items", {12, 0}},
      {FloorFact::kBasePaths, "files in other folders (flag 16)", {1, 0}},
      {FloorFact::kMixedFileVersions, "files of several versions (flag 256)", {12, 0}},
      {FloorFact::kTaggedFragmentReuse, "tagged fragment reuse (flag 1024)", {14, 0}},
      {FloorFact::kManagedBlobs, "managed blobs (flag 16384)", {14, 0}},
  };
  return rows;
}

void ReadingFloor::Add(FloorFact fact) {
  const auto is_fact = [&](const FloorRow& row) { return row.fact == fact; };
  if (std::any_of(rows_.begin(), rows_.end(), is_fact)) return;
  rows_.push_back(*std::find_if(FloorRows().begin(), FloorRows().end(), is_fact));
}

void ReadingFloor::Add(const FileVersion& version) {
  if (version == kFileVersion20) return Add(FloorFact::kVersion20);
  if (version == kFileVersion21) return Add(FloorFact::kVersion21);
  if (version == kFileVersion22) return Add(FloorFact::kVersion22);
  if (version == kFileVersion23) return Add(FloorFact::kVersion23);
  AddUnknown("files of version " + version.ToString());
}

void ReadingFloor::Add(const Field& field, const FileVersion& version) {
  if (field.logical_type == "json") Add(FloorFact::kJson);
  if (field.is_blob_v1() && version == kFileVersion20) Add(FloorFact::kBlobIn20);
  for (const Field& child : field.children) Add(child, version);
}

void ReadingFloor::AddUnknown(const std::string& what) {
  if (std::find(unknown_.begin(), unknown_.end(), what) == unknown_.end()) unknown_.push_back(what);
}

std::optional<LanceRelease> ReadingFloor::release() const {
  if (!unknown_.empty()) return std::nullopt;
  LanceRelease floor;
  for (const FloorRow& row : rows_) floor = std::max(floor, row.since);
  return floor;
}

std::vector<std::string> ReadingFloor::reasons() const {
  if (!unknown_.empty()) return unknown_;
  std::vector<std::string> reasons;
  for (const FloorRow& row : rows_) {
    if (row.since == *release()) reasons.emplace_back(row.what);
  }
  return reasons;
}

std::string ReadingFloor::ToString() const {
  const std::optional<LanceRelease> oldest = release();
  return oldest ? fmt::format("Lance {} and later ({})", oldest->ToString(),
                              fmt::join(reasons(), ", "))
                : fmt::format("no Lance that lake knows of ({})", fmt::join(unknown_, ", "));
}

}  // namespace lake::format
