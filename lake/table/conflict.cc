#include <algorithm>
#include <optional>
#include <string>

#include "lake/table/conflict_internal.h"
#include "lake/table/deletion_vector.h"

namespace lake::table {

namespace {

bool FieldStillFits(const format::Field& read, const format::Field& newest) {
  if (read.id != newest.id || read.name != newest.name ||
      read.logical_type != newest.logical_type || (read.nullable && !newest.nullable)) {
    return false;
  }
  return std::equal(read.children.begin(), read.children.end(), newest.children.begin(),
                    newest.children.end(), FieldStillFits);
}

bool ValuesStillFit(const format::Field& read, const format::Field& newest) {
  if (read.logical_type != newest.logical_type || (read.nullable && !newest.nullable)) return false;
  return std::all_of(newest.children.begin(), newest.children.end(), [&](const auto& child) {
    auto same = std::find_if(read.children.begin(), read.children.end(),
                             [&](const format::Field& other) { return other.id == child.id; });
    return same == read.children.end() ? child.nullable : ValuesStillFit(*same, child);
  });
}

/// Rows and columns of the table of conflicts.
enum Kind {
  kAppend,
  kDelete,
  kUpdate,
  kRewrite,
  kCreateIndex,
  kMerge,
  kProject,
  kOverwrite,
  kRestore,
  kDataReplacement,
  kUpdateConfig,
  kReserveFragments,
  kUpdateBases,
  kMemWal,
  kOther,
  kKinds,
};

Kind KindOf(const pb::Transaction& transaction) {
  switch (transaction.operation_case()) {
    case pb::Transaction::kAppend:
      return kAppend;
    case pb::Transaction::kDelete:
      return kDelete;
    case pb::Transaction::kUpdate:
      return kUpdate;
    case pb::Transaction::kRewrite:
      return kRewrite;
    case pb::Transaction::kCreateIndex:
      return kCreateIndex;
    case pb::Transaction::kMerge:
      return kMerge;
    case pb::Transaction::kProject:
      return kProject;
    case pb::Transaction::kOverwrite:
      return kOverwrite;
    case pb::Transaction::kRestore:
      return kRestore;
    case pb::Transaction::kDataReplacement:
      return kDataReplacement;
    case pb::Transaction::kUpdateConfig:
      return kUpdateConfig;
    case pb::Transaction::kReserveFragments:
      return kReserveFragments;
    case pb::Transaction::kUpdateBases:
      return kUpdateBases;
    case pb::Transaction::kUpdateMemWalState:
      return kMemWal;
    case pb::Transaction::kClone:
    case pb::Transaction::kDataOverlay:
    case pb::Transaction::kAppendFriTransitions:
    case pb::Transaction::OPERATION_NOT_SET:
      return kOther;
  }
  return kOther;
}

/// A cell of the table.
enum Rule : char {
  O,  ///< goes together
  R,  ///< again
  X,  ///< never
  B,  ///< rebase if both touch a fragment
  F,  ///< again if both touch a fragment
  A,  ///< if my rows fit the columns that were added
  P,  ///< if my rows fit the columns that are left
  I,  ///< again if they share an indexed field
  D,  ///< again if they share a fragment and a field
  K,  ///< never if they share a key of config or metadata
  S,  ///< never if they share a base path
};

// Row: mine. Column: theirs.
constexpr Rule kRules[kKinds][kKinds] = {
    // App Del Upd Rew Idx Mrg Prj Ovw Rst Dat Cfg Rsv Bas Mem Other
    {O, O, O, O, O, A, P, X, X, O, O, O, O, X, X},  // Append
    {O, B, B, F, O, R, O, X, X, F, O, O, O, X, X},  // Delete
    {O, B, B, F, O, R, P, X, X, F, O, O, O, X, X},  // Update
    {O, F, F, F, F, R, O, X, X, F, O, O, O, O, X},  // Rewrite
    {O, O, O, F, O, O, O, X, X, I, O, O, O, X, X},  // CreateIndex
    {R, R, R, R, O, R, X, X, X, R, O, O, O, X, X},  // Merge
    {O, O, O, O, O, R, R, X, X, O, O, O, O, X, X},  // Project
    {O, O, O, O, O, O, O, X, X, O, K, O, O, X, X},  // Overwrite
    {O, O, O, O, O, O, O, O, O, O, O, O, O, X, X},  // Restore
    {O, F, F, F, I, R, O, X, X, D, O, O, O, X, X},  // DataReplacement
    {O, O, O, O, O, O, O, K, O, O, K, O, O, O, X},  // UpdateConfig
    {O, O, O, O, O, O, O, X, X, O, O, O, O, O, X},  // ReserveFragments
    {O, O, O, O, O, O, O, O, O, O, O, O, S, O, X},  // UpdateBases
    {X, X, X, X, X, X, X, X, X, X, X, X, X, X, X},  // MemWal
    {X, X, X, X, X, X, X, X, X, X, X, X, X, X, X},  // Other
};

template <typename T>
bool Intersect(const std::set<T>& a, const std::set<T>& b) {
  return std::any_of(a.begin(), a.end(), [&](const T& value) { return b.contains(value); });
}

std::set<int32_t> Fields(const pb::Transaction& transaction) {
  std::set<int32_t> fields;
  for (const pb::IndexMetadata& index : transaction.create_index().new_indices()) {
    fields.insert(index.fields().begin(), index.fields().end());
  }
  for (const auto& group : transaction.data_replacement().replacements()) {
    fields.insert(group.new_file().fields().begin(), group.new_file().fields().end());
  }
  return fields;
}

/// The places of config and metadata that a transaction sets, and the maps that it replaces whole.
struct Keys {
  std::set<std::string> keys;
  std::set<std::string> maps;
};

void AddUpdate(const std::string& map, const pb::UpdateMap& update, Keys* keys) {
  for (const pb::UpdateMapEntry& entry : update.update_entries()) {
    keys->keys.insert(map + "/" + entry.key());
  }
  if (update.replace()) keys->maps.insert(map + "/");
}

Keys KeysOf(const pb::Transaction& transaction) {
  Keys keys;
  for (const auto& [key, value] : transaction.overwrite().config_upsert_values()) {
    keys.keys.insert("config/" + key);
  }
  // All columns are new, with their metadata.
  if (transaction.has_overwrite()) keys.maps.insert({"schema/", "field"});
  const pb::Transaction::UpdateConfig& update = transaction.update_config();
  AddUpdate("config", update.config_updates(), &keys);
  AddUpdate("table", update.table_metadata_updates(), &keys);
  AddUpdate("schema", update.schema_metadata_updates(), &keys);
  for (const auto& [id, field] : update.field_metadata_updates()) {
    AddUpdate("field" + std::to_string(id), field, &keys);
  }
  for (const auto& [key, value] : update.upsert_values()) keys.keys.insert("config/" + key);
  for (const std::string& key : update.delete_keys()) keys.keys.insert("config/" + key);
  // The older forms replaced the whole map.
  if (!update.schema_metadata().empty()) keys.maps.insert("schema/");
  for (const auto& [id, field] : update.field_metadata()) {
    keys.maps.insert("field" + std::to_string(id) + "/");
  }
  return keys;
}

bool Clash(const Keys& a, const Keys& b) {
  auto replaced = [](const Keys& one, const Keys& other) {
    for (const std::string& map : one.maps) {
      auto starts = [&](const std::string& key) { return key.starts_with(map); };
      if (std::any_of(other.keys.begin(), other.keys.end(), starts)) return true;
      if (std::any_of(other.maps.begin(), other.maps.end(), starts)) return true;
    }
    return false;
  };
  return Intersect(a.keys, b.keys) || replaced(a, b) || replaced(b, a);
}

bool ShareBase(const pb::Transaction& a, const pb::Transaction& b) {
  for (const pb::Manifest::BasePath& one : a.update_bases().new_bases()) {
    for (const pb::Manifest::BasePath& other : b.update_bases().new_bases()) {
      const bool same_name = one.has_name() && other.has_name() && one.name() == other.name();
      if (one.id() == other.id() || same_name || one.path() == other.path()) return true;
    }
  }
  return false;
}

void AddIds(const google::protobuf::RepeatedPtrField<pb::DataFragment>& fragments,
            std::set<uint64_t>* ids) {
  for (const pb::DataFragment& fragment : fragments) ids->insert(fragment.id());
}

}  // namespace

std::set<uint64_t> TouchedFragments(const pb::Transaction& transaction) {
  std::set<uint64_t> ids;
  const pb::Transaction::Delete& deletion = transaction.delete_();
  AddIds(deletion.updated_fragments(), &ids);
  ids.insert(deletion.deleted_fragment_ids().begin(), deletion.deleted_fragment_ids().end());
  const pb::Transaction::Update& update = transaction.update();
  AddIds(update.updated_fragments(), &ids);
  ids.insert(update.removed_fragment_ids().begin(), update.removed_fragment_ids().end());
  AddIds(transaction.rewrite().old_fragments(), &ids);
  for (const auto& group : transaction.rewrite().groups()) AddIds(group.old_fragments(), &ids);
  for (const auto& group : transaction.data_replacement().replacements()) {
    ids.insert(group.fragment_id());
  }
  return ids;
}

namespace {

/// The fragments that the new indices of `transaction` cover; nothing if that cannot be told.
std::optional<DeletionVector> Covered(const pb::Transaction& transaction) {
  DeletionVector covered;
  for (const pb::IndexMetadata& index : transaction.create_index().new_indices()) {
    if (!index.has_fragment_bitmap()) return std::nullopt;
    Result<DeletionVector> bitmap =
        DeletionVector::FromBitmap(index.fragment_bitmap(), 1ull << 32, "fragment bitmap");
    if (!bitmap.ok()) return std::nullopt;
    covered = DeletionVector::Union(covered, *bitmap);
  }
  return covered;
}

bool ShareFragment(const pb::Transaction& mine, const pb::Transaction& theirs) {
  const bool mine_is_index = mine.has_create_index();
  if (mine_is_index || theirs.has_create_index()) {
    std::optional<DeletionVector> covered = Covered(mine_is_index ? mine : theirs);
    if (!covered) return true;
    const std::set<uint64_t> touched = TouchedFragments(mine_is_index ? theirs : mine);
    return std::any_of(touched.begin(), touched.end(),
                       [&](uint64_t id) { return covered->Contains(id); });
  }
  return Intersect(TouchedFragments(mine), TouchedFragments(theirs));
}

/// True if a column may no longer hold nulls behind `transaction`.
bool ForbidsNulls(const pb::Transaction& transaction) {
  return transaction.has_project() && !transaction.project().preserves_nullability();
}

/// True if `transaction` writes rows, or values into columns of rows that are there.
bool AddsValues(const pb::Transaction& transaction) {
  const pb::Transaction::Update& update = transaction.update();
  return transaction.has_append() || transaction.has_data_replacement() ||
         update.new_fragments_size() > 0 ||
         update.update_mode() == pb::Transaction::Update::REWRITE_COLUMNS;
}

}  // namespace

Verdict Judge(const pb::Transaction& mine, bool inserted_by_key, const pb::Transaction& theirs) {
  // Both may have added a row under the same key.
  if (inserted_by_key && theirs.update().new_fragments_size() > 0) return Verdict::kRetry;
  // A column that may no longer be null was checked without the other's values.
  if ((ForbidsNulls(mine) && AddsValues(theirs)) ||
      (mine.has_data_replacement() && ForbidsNulls(theirs))) {
    return Verdict::kRetry;
  }
  auto retry_if = [](bool clash) { return clash ? Verdict::kRetry : Verdict::kOk; };
  auto never_if = [](bool clash) { return clash ? Verdict::kNever : Verdict::kOk; };
  switch (kRules[KindOf(mine)][KindOf(theirs)]) {
    case O:
      return Verdict::kOk;
    case R:
      return Verdict::kRetry;
    case X:
      return Verdict::kNever;
    case B:
      return ShareFragment(mine, theirs) ? Verdict::kRebaseRows : Verdict::kOk;
    case F:
      return retry_if(ShareFragment(mine, theirs));
    case A:
      return Verdict::kColumnsAdded;
    case P:
      return Verdict::kColumnsProjected;
    case I:
      return retry_if(Intersect(Fields(mine), Fields(theirs)));
    case D:
      return retry_if(ShareFragment(mine, theirs) && Intersect(Fields(mine), Fields(theirs)));
    case K:
      return never_if(Clash(KeysOf(mine), KeysOf(theirs)));
    case S:
      return never_if(ShareBase(mine, theirs));
  }
  return Verdict::kNever;
}

bool SchemaStillFits(const format::Schema& read, const format::Schema& newest) {
  size_t kept = 0;
  for (const format::Field& field : newest.fields) {
    auto same = std::find_if(read.fields.begin(), read.fields.end(),
                             [&](const format::Field& other) { return other.id == field.id; });
    if (same == read.fields.end()) {
      if (!field.nullable) return false;
    } else if (!FieldStillFits(*same, field)) {
      return false;
    } else {
      ++kept;
    }
  }
  return kept == read.fields.size();
}

bool DataStillFits(const format::Schema& read, const format::Schema& newest) {
  return std::all_of(newest.fields.begin(), newest.fields.end(), [&](const format::Field& field) {
    auto same = std::find_if(read.fields.begin(), read.fields.end(),
                             [&](const format::Field& other) { return other.id == field.id; });
    return same == read.fields.end() ? field.nullable : ValuesStillFit(*same, field);
  });
}

}  // namespace lake::table
