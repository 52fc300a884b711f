// Manifests of operations that change columns, metadata, indices and folders.

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "lake/format/schema_internal.h"
#include "lake/table/manifest_build_internal.h"
#include "lake/table/row_lineage_internal.h"

namespace lake::table {

namespace {

constexpr int32_t kDeadField = -2;

bool SameFiles(const pb::DataFragment& a, const pb::DataFragment& b) {
  return std::equal(a.files().begin(), a.files().end(), b.files().begin(), b.files().end(),
                    [](const pb::DataFile& x, const pb::DataFile& y) {
                      return x.path() == y.path() && x.has_base_id() == y.has_base_id() &&
                             x.base_id() == y.base_id() &&
                             std::equal(x.fields().begin(), x.fields().end(), y.fields().begin(),
                                        y.fields().end());
                    });
}

std::set<int32_t> FieldIds(const pb::Manifest& message) {
  std::set<int32_t> ids;
  for (const format::pb::Field& field : message.fields()) ids.insert(field.id());
  return ids;
}

/// Applies an update of a map of texts (the values of which may be protobuf bytes).
template <typename Map>
void Apply(const MapUpdate& update, Map* map) {
  if (update.replace) map->clear();
  for (const auto& [key, value] : update.entries) {
    if (value) {
      (*map)[key] = *value;
    } else {
      map->erase(key);
    }
  }
}

}  // namespace

Status ManifestDraft::SetSchema(const format::Schema& schema) {
  std::map<int32_t, format::pb::Field> old;
  for (const format::pb::Field& field : message.fields()) old[field.id()] = field;
  google::protobuf::RepeatedPtrField<format::pb::Field> fields;
  format::FieldsToMessages(schema, &fields);
  for (format::pb::Field& field : fields) {
    auto kept = old.find(field.id());
    if (kept == old.end()) continue;
    format::pb::Field merged = kept->second;
    merged.set_name(field.name());
    merged.set_parent_id(field.parent_id());
    merged.set_logical_type(field.logical_type());
    merged.set_nullable(field.nullable());
    merged.set_encoding(field.encoding());
    field = std::move(merged);
  }
  message.mutable_fields()->Swap(&fields);

  const std::set<int32_t> ids = FieldIds(message);
  for (pb::DataFragment& fragment : *message.mutable_fragments()) {
    auto* files = fragment.mutable_files();
    auto dead = [&](const pb::DataFile& file) {
      return std::none_of(file.fields().begin(), file.fields().end(),
                          [&](int32_t id) { return ids.contains(id); });
    };
    // A fragment keeps a file: without one nothing would say how many rows it has.
    for (int i = files->size() - 1; i >= 0 && files->size() > 1; --i) {
      if (dead((*files)[i])) files->DeleteSubrange(i, 1);
    }
  }
  return indices.KeepFields(ids);
}

Status BuildMerge(const MergeOperation& operation, ManifestDraft* draft) {
  google::protobuf::RepeatedPtrField<pb::DataFragment> old;
  old.Swap(draft->message.mutable_fragments());
  draft->places.clear();
  std::unordered_map<uint64_t, const pb::DataFragment*> before;
  for (const pb::DataFragment& fragment : old) before[fragment.id()] = &fragment;
  for (const Fragment& fragment : operation.fragments) {
    pb::DataFragment* message = draft->message.add_fragments();
    FragmentToMessage(fragment, message);
    const auto found = before.find(fragment.id);
    if (found == before.end()) {
      return RetryableError(ErrorCode::kConflict, "fragment is no longer there: fragment {}",
                            fragment.id);
    }
    if (operation.rows_updated && draft->stable_row_ids() && !SameFiles(*found->second, *message)) {
      MarkUpdated(draft->version(), message);
    }
  }
  if (old.size() != draft->message.fragments_size()) {
    return RetryableError(ErrorCode::kConflict, "fragments came in since the columns were written");
  }
  return draft->SetSchema(operation.schema);
}

Status BuildProject(const ProjectOperation& operation, ManifestDraft* draft) {
  return draft->SetSchema(operation.schema);
}

Status BuildDataReplacement(const DataReplacementOperation& operation, ManifestDraft* draft) {
  for (const DataReplacement& replacement : operation.replacements) {
    ARROW_ASSIGN_OR_RAISE(pb::DataFragment * fragment, draft->Find(replacement.fragment_id));
    const std::set<int32_t> fields(replacement.file.field_ids.begin(),
                                   replacement.file.field_ids.end());
    for (pb::DataFile& file : *fragment->mutable_files()) {
      for (int32_t& id : *file.mutable_fields()) {
        if (fields.contains(id)) id = kDeadField;
      }
    }
    auto* files = fragment->mutable_files();
    for (int i = files->size() - 1; i >= 0; --i) {
      const auto& ids = (*files)[i].fields();
      const bool dead =
          !ids.empty() && std::all_of(ids.begin(), ids.end(), [](int32_t id) { return id < 0; });
      if (dead) files->DeleteSubrange(i, 1);
    }
    DataFileToMessage(replacement.file, fragment->add_files());
    if (draft->stable_row_ids()) MarkUpdated(draft->version(), fragment);
    ARROW_RETURN_NOT_OK(draft->indices.Uncover({replacement.fragment_id}, fields));
  }
  return Status::OK();
}

Status BuildUpdateConfig(const UpdateConfigOperation& operation, ManifestDraft* draft) {
  pb::Manifest& message = draft->message;
  if (operation.config) Apply(*operation.config, message.mutable_config());
  if (operation.table_metadata) Apply(*operation.table_metadata, message.mutable_table_metadata());
  if (operation.schema_metadata) {
    Apply(*operation.schema_metadata, message.mutable_schema_metadata());
  }
  for (const auto& [id, update] : operation.field_metadata) {
    auto field = std::find_if(message.mutable_fields()->begin(), message.mutable_fields()->end(),
                              [&](const format::pb::Field& other) { return other.id() == id; });
    if (field == message.mutable_fields()->end()) {
      return Error(ErrorCode::kConflict, "field is not in the table (any more): field {}", id);
    }
    Apply(update, field->mutable_metadata());
  }
  return Status::OK();
}

Status BuildUpdateBases(const UpdateBasesOperation& operation, ManifestDraft* draft) {
  for (const BasePath& base : operation.added) {
    for (const pb::Manifest::BasePath& other : draft->message.base_paths()) {
      if (other.id() == base.id || other.path() == base.path ||
          (base.name && other.has_name() && other.name() == *base.name)) {
        return Error(ErrorCode::kConflict, "base path is taken: id {}: {}", base.id, base.path);
      }
    }
    BasePathToMessage(base, draft->message.add_base_paths());
  }
  return Status::OK();
}

Status BuildCreateIndex(const CreateIndexOperation& operation, ManifestDraft* draft) {
  ARROW_RETURN_NOT_OK(draft->indices.Replace(operation));
  return draft->indices.KeepFields(FieldIds(draft->message));
}

Status BuildClone(const CloneOperation& operation, ManifestDraft* draft) {
  pb::Manifest& message = draft->message;
  if (operation.branch_name) {
    message.set_branch(*operation.branch_name);
  } else {
    message.clear_branch();
  }
  if (!operation.is_shallow) return Status::OK();
  uint32_t base_id = 0;
  for (const pb::Manifest::BasePath& base : message.base_paths()) {
    base_id = std::max(base_id, base.id() + 1);
  }
  BasePathToMessage({.id = base_id,
                     .name = operation.ref_name,
                     .is_dataset_root = true,
                     .path = operation.ref_path},
                    message.add_base_paths());
  for (pb::DataFragment& fragment : *message.mutable_fragments()) {
    for (pb::DataFile& file : *fragment.mutable_files()) {
      if (!file.has_base_id()) file.set_base_id(base_id);
    }
    if (fragment.has_deletion_file() && !fragment.deletion_file().has_base_id()) {
      fragment.mutable_deletion_file()->set_base_id(base_id);
    }
  }
  return draft->indices.SetBase(base_id);
}

}  // namespace lake::table
