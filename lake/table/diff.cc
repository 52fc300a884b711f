#include "lake/table/diff.h"

#include <algorithm>
#include <set>

namespace lake::table {

namespace {

uint64_t LiveRows(const Fragment& fragment) {
  const uint64_t deleted = fragment.deletion_file ? fragment.deletion_file->num_deleted_rows : 0;
  return fragment.physical_rows - std::min(deleted, fragment.physical_rows);
}

/// The files of `a` that `b` does not name.
uint64_t BytesOnlyIn(const Manifest& a, const Manifest& b) {
  std::set<std::string> named;
  for (const Fragment& fragment : b.fragments()) {
    for (const DataFile& file : fragment.files) named.insert(file.path);
  }
  uint64_t bytes = 0;
  for (const Fragment& fragment : a.fragments()) {
    for (const DataFile& file : fragment.files) {
      if (named.insert(file.path).second) bytes += file.size_bytes;
    }
  }
  return bytes;
}

std::string Describe(const format::Field& field) {
  return field.logical_type + (field.nullable ? "" : " not null");
}

void CompareFields(const std::vector<format::Field>& before,
                   const std::vector<format::Field>& after, const std::string& prefix,
                   std::vector<ColumnChange>* changes) {
  // By id: a renamed column is the same one.
  auto find = [](const std::vector<format::Field>& fields, int32_t id) {
    return std::find_if(fields.begin(), fields.end(),
                        [&](const format::Field& field) { return field.id == id; });
  };
  for (const format::Field& field : before) {
    auto now = find(after, field.id);
    const std::string name = prefix + field.name;
    if (now == after.end()) {
      changes->push_back({name, Describe(field), std::nullopt});
      continue;
    }
    if (field.name != now->name || Describe(field) != Describe(*now)) {
      const std::string old_name = field.name == now->name ? "" : field.name + " ";
      const std::string new_name = field.name == now->name ? "" : now->name + " ";
      changes->push_back({name, old_name + Describe(field), new_name + Describe(*now)});
    }
    CompareFields(field.children, now->children, name + ".", changes);
  }
  for (const format::Field& field : after) {
    if (find(before, field.id) == before.end()) {
      changes->push_back({prefix + field.name, std::nullopt, Describe(field)});
    }
  }
}

std::vector<ValueChange> Compare(const std::map<std::string, std::string>& before,
                                 const std::map<std::string, std::string>& after) {
  std::vector<ValueChange> changes;
  for (const auto& [key, value] : before) {
    auto now = after.find(key);
    if (now == after.end()) {
      changes.push_back({key, value, std::nullopt});
    } else if (now->second != value) {
      changes.push_back({key, value, now->second});
    }
  }
  for (const auto& [key, value] : after) {
    if (!before.contains(key)) changes.push_back({key, std::nullopt, value});
  }
  return changes;
}

void CompareFragments(const Manifest& from, const Manifest& to, VersionDiff* diff) {
  std::map<uint64_t, const Fragment*> before;
  for (const Fragment& fragment : from.fragments()) before[fragment.id] = &fragment;
  for (const Fragment& fragment : to.fragments()) {
    auto old = before.find(fragment.id);
    if (old == before.end()) {
      diff->fragments_added.push_back(fragment.id);
      diff->rows_added += LiveRows(fragment);
      continue;
    }
    const uint64_t had = LiveRows(*old->second);
    const uint64_t has = LiveRows(fragment);
    const bool other_files = !SameFiles(*old->second, fragment);
    if (had != has || other_files) {
      diff->fragments_changed.push_back({fragment.id, had > has ? had - has : 0, other_files});
      if (had > has) diff->rows_removed += had - has;
      if (has > had) diff->rows_added += has - had;
    }
    before.erase(old);
  }
  for (const auto& [id, fragment] : before) {
    diff->fragments_removed.push_back(id);
    diff->rows_removed += LiveRows(*fragment);
  }
}

}  // namespace

bool VersionDiff::empty() const {
  return fragments_added.empty() && fragments_removed.empty() && fragments_changed.empty() &&
         columns.empty() && config.empty() && table_metadata.empty();
}

Result<VersionDiff> Diff(const Context& context, const Dataset& from, const Dataset& to) {
  const Manifest& before = from.manifest();
  const Manifest& after = to.manifest();
  VersionDiff diff;
  diff.from_version = before.version();
  diff.to_version = after.version();
  ARROW_ASSIGN_OR_RAISE(diff.rows_before, from.CountRows(context));
  ARROW_ASSIGN_OR_RAISE(diff.rows_after, to.CountRows(context));
  CompareFragments(before, after, &diff);
  diff.bytes_added = BytesOnlyIn(after, before);
  diff.bytes_removed = BytesOnlyIn(before, after);
  CompareFields(before.schema().fields, after.schema().fields, "", &diff.columns);
  diff.config = Compare(before.config(), after.config());
  diff.table_metadata = Compare(before.table_metadata(), after.table_metadata());
  if (from.branch() == to.branch() && before.version() < after.version()) {
    ARROW_ASSIGN_OR_RAISE(std::vector<VersionInfo> versions, to.Versions(context));
    for (VersionInfo& version : versions) {
      if (version.version > before.version() && version.version <= after.version()) {
        diff.commits.push_back(std::move(version));
      }
    }
  }
  return diff;
}

}  // namespace lake::table
