// What `verify` looks at of stable row ids and indices.

#include <algorithm>

#include "lake/base/uuid.h"
#include "lake/format/parse_message_internal.h"
#include "lake/table/deletion_file.h"
#include "lake/table/deletion_vector.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/row_id_sequence.h"
#include "lake/table/verify_version_internal.h"

namespace lake::table {

namespace {

constexpr char kRebuild[] = "drop the index and build it anew";

struct IdRun {
  uint64_t start;
  uint64_t count;
  uint64_t fragment;
};

/// Rows that two fragments both hold as live ones.
void FindOverlaps(VerifyJob* job, const std::string& where, std::vector<IdRun> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const IdRun& a, const IdRun& b) { return a.start < b.start; });
  for (size_t i = 1; i < runs.size(); ++i) {
    const IdRun& before = runs[i - 1];
    if (before.start + before.count <= runs[i].start) {
      continue;
    }
    job->Error(where,
               fmt::format("row id is given twice: id {} in fragments {} and {}", runs[i].start,
                           before.fragment, runs[i].fragment),
               "rows may be read twice or not at all by their id; restore an older version");
    return;
  }
}

void CheckVersions(VerifyJob* job, const std::string& name, const Manifest& manifest,
                   const std::shared_ptr<const std::string>& bytes, uint64_t rows,
                   std::string_view what) {
  if (bytes == nullptr) return;
  Result<RowVersionSequence> versions = RowVersionSequence::Decode(*bytes, rows, std::string(what));
  if (!versions.ok()) {
    job->Error(name, ErrorText(versions.status()), "restore an older version");
    return;
  }
  if (versions->size() != rows) {
    job->Error(
        name,
        fmt::format("{} are of another number of rows: {}, not {}", what, versions->size(), rows),
        "restore an older version");
  }
  for (const RowVersionSequence::Run& run : versions->runs()) {
    if (run.version <= manifest.version()) continue;
    job->Add(Severity::kWarning, name,
             fmt::format("{} name a version that is yet to come: {}", what, run.version),
             "changes between versions may be told wrongly");
    return;
  }
}

}  // namespace

void VerifyRowIds(VerifyJob* job, const std::string& where, const Manifest& manifest,
                  const std::map<uint64_t, DeletionVector>& deleted) {
  if (!manifest.has_stable_row_ids()) return;
  std::vector<IdRun> runs;
  for (const Fragment& fragment : manifest.fragments()) {
    const std::string name = fmt::format("{}, fragment {}", where, fragment.id);
    if (fragment.row_ids == nullptr) {
      job->Add(Severity::kWarning, name, "its row ids do not lie in the manifest",
               "lake does not read them");
      continue;
    }
    Result<RowIdSequence> ids =
        RowIdSequence::Decode(*fragment.row_ids, fragment.physical_rows, "row ids");
    if (!ids.ok()) {
      job->Error(name, ErrorText(ids.status()), "restore an older version");
      continue;
    }
    if (ids->size() != fragment.physical_rows) {
      job->Error(name,
                 fmt::format("it has another number of row ids than rows: {}, not {}", ids->size(),
                             fragment.physical_rows),
                 "restore an older version");
      continue;
    }
    for (const RowIdSequence::Run& run : ids->runs()) {
      if (run.start + run.count > manifest.next_row_id()) {
        job->Error(name,
                   fmt::format("row id is not below the next one to give: {}, next is {}",
                               run.start + run.count - 1, manifest.next_row_id()),
                   "the next append may give ids twice; restore an older version");
        break;
      }
    }
    // An updated row leaves its id behind in the fragment it was deleted from: only live rows are
    // compared.
    auto gone = deleted.find(fragment.id);
    if (!fragment.deletion_file || gone != deleted.end()) {
      const DeletionVector none;
      ids->Visit(
          (gone == deleted.end() ? none : gone->second).Survivors(0, fragment.physical_rows),
          [&](uint64_t start, uint64_t count) { runs.push_back({start, count, fragment.id}); });
    }
    CheckVersions(job, name, manifest, fragment.created_at_versions, fragment.physical_rows,
                  "created-at versions");
    CheckVersions(job, name, manifest, fragment.last_updated_at_versions, fragment.physical_rows,
                  "updated-at versions");
  }
  FindOverlaps(job, where, std::move(runs));
}

Status VerifyIndices(VerifyJob* job, const std::string& where, const Manifest& manifest,
                     BaseStores* bases) {
  const Result<std::optional<std::string>>& section = FileOf(manifest).index_section();
  if (!section.ok()) {
    job->Error(where, ErrorText(section.status()), kRebuild);
    return Status::OK();
  }
  if (!*section) return Status::OK();
  pb::IndexSection indices;
  Status parsed = format::ParseMessage(**section, "index section", &indices);
  if (!parsed.ok()) {
    job->Error(where, ErrorText(parsed), kRebuild);
    return Status::OK();
  }
  std::set<int32_t> fields;
  for (const format::pb::Field& field : FileOf(manifest).message().fields()) {
    fields.insert(field.id());
  }
  std::set<std::string> ids;
  for (const pb::IndexMetadata& index : indices.indices()) {
    ARROW_RETURN_NOT_OK(job->context().Check());
    const std::string name = fmt::format("{}, index {}", where, index.name());
    Uuid uuid;
    if (index.uuid().uuid().size() != uuid.bytes.size()) {
      job->Error(name, "its id is no UUID", kRebuild);
      continue;
    }
    std::copy(index.uuid().uuid().begin(), index.uuid().uuid().end(), uuid.bytes.begin());
    if (!ids.insert(index.uuid().uuid()).second) {
      job->Error(name, "two indices have one id: " + uuid.ToString(), kRebuild);
    }
    for (const int32_t field : index.fields()) {
      if (!fields.contains(field)) {
        job->Error(name, fmt::format("it is on a column that is gone: field {}", field), kRebuild);
      }
    }
    if (index.has_fragment_bitmap()) {
      Result<DeletionVector> bitmap =
          DeletionVector::FromBitmap(index.fragment_bitmap(), 1ull << 32, "fragment bitmap");
      if (!bitmap.ok()) {
        job->Error(name, ErrorText(bitmap.status()), kRebuild);
      } else if (!bitmap->empty() && bitmap->Selection().ranges().back().end() >
                                         uint64_t{manifest.max_fragment_id().value_or(0)} + 1) {
        job->Error(name, "it covers a fragment that never was", kRebuild);
      }
    }
    // System indices may lie in the manifest alone.
    if (index.fields().empty()) continue;
    std::optional<uint32_t> base_id;
    if (index.has_base_id()) base_id = index.base_id();
    const std::string folder = "_indices/" + uuid.ToString() + "/";
    Result<BaseStores::Place> place = bases->FindKey(job->context(), base_id, folder);
    if (!place.ok()) {
      job->Error(name, ErrorText(place.status()), "make the folder of the base accessible");
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(std::vector<storage::ObjectInfo> objects,
                          storage::ListAll(place->store.get(), job->context(), place->key));
    if (objects.empty()) job->Error(name, "its files are missing: " + folder, kRebuild);
    for (const pb::IndexFile& file : index.files()) {
      auto object = std::find_if(objects.begin(), objects.end(), [&](const auto& other) {
        return other.key == place->key + file.path();
      });
      if (object == objects.end()) {
        job->Error(name, "a file of it is missing: " + folder + file.path(), kRebuild);
      } else if (file.size() != 0 && object->size != file.size()) {
        job->Error(name,
                   fmt::format("a file of it has another size: {}: {} bytes, not {}", object->key,
                               object->size, file.size()),
                   kRebuild);
      }
    }
  }
  return Status::OK();
}

}  // namespace lake::table
