#include <algorithm>

#include "lake/format/parse_message_internal.h"
#include "lake/table/compaction.h"
#include "lake/table/deletion_vector.h"
#include "lake/table/fragment_source.h"
#include "lake/table/manifest_internal.h"

namespace lake::table {

namespace {

constexpr std::string_view kSystemIndexPrefix = "__lance_";

/// The fragments that each index covers.
Result<std::vector<DeletionVector>> Coverage(const Manifest& manifest) {
  std::vector<DeletionVector> coverage;
  ARROW_ASSIGN_OR_RAISE(const std::optional<std::string> section, FileOf(manifest).index_section());
  if (!section) return coverage;
  pb::IndexSection indices;
  ARROW_RETURN_NOT_OK(format::ParseMessage(*section, "index section", &indices));
  for (const pb::IndexMetadata& index : indices.indices()) {
    if (index.name().starts_with(kSystemIndexPrefix)) continue;
    if (!index.has_fragment_bitmap()) {
      return Error(
          ErrorCode::kUnsupported,
          "index does not say which fragments it covers, so they cannot be rewritten; drop "
          "it or build it anew: {}",
          index.name());
    }
    ARROW_ASSIGN_OR_RAISE(DeletionVector bitmap,
                          DeletionVector::FromBitmap(index.fragment_bitmap(), 1ull << 32,
                                                     "fragment bitmap of index " + index.name()));
    coverage.push_back(std::move(bitmap));
  }
  return coverage;
}

struct Candidate {
  const Fragment* fragment = nullptr;
  uint64_t physical_rows = 0;
  uint64_t deleted_rows = 0;
  uint64_t bytes = 0;
  /// Worth a rewrite without any neighbour.
  bool alone = false;
  std::vector<bool> covered;

  uint64_t live_rows() const { return physical_rows - deleted_rows; }
};

/// Groups of neighbours that may be joined, cut so that each has enough rows for a file.
class Grouping {
 public:
  Grouping(const CompactionOptions& options, CompactionPlan* plan)
      : options_(options), plan_(plan) {}

  void Add(Candidate candidate) {
    if (!run_.empty() && run_.back().covered != candidate.covered) Flush();
    run_.push_back(std::move(candidate));
  }

  void Flush() {
    uint64_t left = 0;
    for (const Candidate& candidate : run_) left += candidate.live_rows();
    std::vector<Candidate> group;
    uint64_t rows = 0;
    for (Candidate& candidate : run_) {
      rows += candidate.live_rows();
      left -= candidate.live_rows();
      group.push_back(std::move(candidate));
      // What is left must be enough for a group of its own.
      if (rows < options_.target_rows || left < options_.target_rows) continue;
      Emit(std::move(group));
      group.clear();
      rows = 0;
    }
    Emit(std::move(group));
    run_.clear();
  }

 private:
  void Emit(std::vector<Candidate> members) {
    CompactionGroup group;
    bool deletions = false;
    for (const Candidate& member : members) {
      group.fragments.push_back(*member.fragment);
      group.physical_rows += member.physical_rows;
      group.deleted_rows += member.deleted_rows;
      group.bytes += member.bytes;
      deletions |= member.alone;
    }
    const uint64_t live = group.physical_rows - group.deleted_rows;
    const uint64_t files = NumOutputs(live, options_.target_rows);
    // As many files as before, and none the better: nothing is gained.
    if (!deletions && files >= members.size()) return;
    plan_->groups.push_back(std::move(group));
  }

  const CompactionOptions& options_;
  CompactionPlan* const plan_;
  std::vector<Candidate> run_;
};

Status CheckOptions(const CompactionOptions& options) {
  if (options.target_rows == 0 || options.target_rows > (1ull << 31)) {
    return Error(ErrorCode::kInvalidArgument, "rows per fragment must be 1 to 2^31: {}",
                 options.target_rows);
  }
  if (!(options.deletion_threshold >= 0 && options.deletion_threshold <= 1)) {
    return Error(ErrorCode::kInvalidArgument, "deletion threshold must be 0 to 1: {}",
                 options.deletion_threshold);
  }
  return Status::OK();
}

Result<Candidate> Measure(const Context& context, FragmentSource* source,
                          const Fragment& fragment) {
  Candidate candidate;
  candidate.fragment = &fragment;
  ARROW_ASSIGN_OR_RAISE(candidate.physical_rows, source->PhysicalRows(context, fragment));
  if (fragment.deletion_file) {
    candidate.deleted_rows = fragment.deletion_file->num_deleted_rows;
    if (candidate.deleted_rows == 0) {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                            source->Deletions(context, fragment));
      candidate.deleted_rows = deletions->num_deleted();
    }
    candidate.deleted_rows = std::min(candidate.deleted_rows, candidate.physical_rows);
  }
  for (const DataFile& file : fragment.files) candidate.bytes += file.size_bytes;
  return candidate;
}

}  // namespace

uint64_t NumOutputs(uint64_t rows, uint64_t target_rows) {
  if (rows == 0) return 0;
  return std::max<uint64_t>(1, (rows + target_rows / 2) / target_rows);
}

uint64_t CompactionPlan::num_rows() const {
  uint64_t rows = 0;
  for (const CompactionGroup& group : groups) rows += group.physical_rows - group.deleted_rows;
  return rows;
}

size_t CompactionPlan::num_fragments() const {
  size_t count = 0;
  for (const CompactionGroup& group : groups) count += group.fragments.size();
  return count;
}

uint64_t CompactionPlan::num_bytes() const {
  uint64_t bytes = 0;
  for (const CompactionGroup& group : groups) bytes += group.bytes;
  return bytes;
}

Result<CompactionPlan> PlanCompaction(const Context& context, const Dataset& dataset,
                                      const CompactionOptions& options) {
  ARROW_RETURN_NOT_OK(CheckOptions(options));
  const Manifest& manifest = dataset.manifest();
  ARROW_RETURN_NOT_OK(VersionOfNewFiles(manifest, dataset.store()->description()).status());
  ARROW_ASSIGN_OR_RAISE(const std::vector<DeletionVector> coverage, Coverage(manifest));
  const auto source = std::make_shared<FragmentSource>(dataset.bases(), dataset.shared_manifest());
  CompactionPlan plan;
  plan.read_version = manifest.version();
  Grouping grouping(options, &plan);
  for (const Fragment& fragment : manifest.fragments()) {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(Candidate candidate, Measure(context, source.get(), fragment));
    const bool small = candidate.physical_rows < options.target_rows &&
                       (!options.max_bytes || candidate.bytes < *options.max_bytes);
    candidate.alone = options.materialize_deletions && candidate.deleted_rows > 0 &&
                      static_cast<double>(candidate.deleted_rows) >
                          options.deletion_threshold * static_cast<double>(candidate.physical_rows);
    if (!small && !candidate.alone) {
      grouping.Flush();
      continue;
    }
    for (const DeletionVector& covered : coverage) {
      candidate.covered.push_back(covered.Contains(fragment.id));
    }
    grouping.Add(std::move(candidate));
  }
  grouping.Flush();
  return plan;
}

void AssignFragmentIds(uint64_t first_id, std::vector<CompactedGroup>* groups) {
  for (CompactedGroup& compacted : *groups) {
    for (Fragment& fragment : compacted.group.new_fragments) fragment.id = first_id++;
  }
}

bool IsCurrent(const RewriteGroup& group, const Manifest& newest) {
  return std::all_of(group.old_fragments.begin(), group.old_fragments.end(),
                     [&](const Fragment& old) {
                       const Fragment* const now = FindFragment(newest, old.id);
                       return now != nullptr && SameFiles(*now, old) && SameDeletions(*now, old);
                     });
}

}  // namespace lake::table
