#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "lake/base/version.h"
#include "lake/format/schema_internal.h"
#include "lake/table/manifest_build_internal.h"
#include "lake/table/row_lineage_internal.h"
#include "lake/table/transaction_internal.h"

namespace lake::table {

namespace {

// Flags that stay once they are set, whatever the version holds.
constexpr uint64_t kStickyFlags = kFlagMixedFileVersions | kFlagStableRowIds;

/// Sets what every new version has of its own.
void Stamp(const Transaction& transaction, uint64_t version, int64_t now_nanos,
           pb::Manifest* message) {
  message->set_version(version);
  message->mutable_timestamp()->set_seconds(now_nanos / 1'000'000'000);
  message->mutable_timestamp()->set_nanos(static_cast<int32_t>(now_nanos % 1'000'000'000));
  message->set_transaction_file(
      TransactionFileName(transaction.read_version, transaction.uuid.ToString()));
  pb::Manifest::WriterVersion* writer = message->mutable_writer_version();
  writer->Clear();
  writer->set_library(kWriterLibrary);
  writer->set_version(LakeVersion());
}

bool MixesFileVersions(const pb::Manifest& message) {
  Result<format::FileVersion> own = format::FileVersion::Parse(message.data_format().version());
  if (!own.ok()) return false;
  for (const pb::DataFragment& fragment : message.fragments()) {
    for (const pb::DataFile& file : fragment.files()) {
      if (format::FileVersion::FromFooter(file.file_major_version(), file.file_minor_version()) !=
          *own) {
        return true;
      }
    }
  }
  return false;
}

/// Recomputes both flag words from the content, as every Lance writer does at each commit.
/// `files_were_added` spares a look at every file where no version can have come in.
void SetFlags(bool files_were_added, pb::Manifest* message) {
  uint64_t both =
      (message->reader_feature_flags() | message->writer_feature_flags()) & kStickyFlags;
  for (const pb::DataFragment& fragment : message->fragments()) {
    if (!fragment.has_deletion_file()) continue;
    both |= kFlagDeletionFiles;
    break;
  }
  if (!message->base_paths().empty()) both |= kFlagBasePaths;
  if (files_were_added && MixesFileVersions(*message)) both |= kFlagMixedFileVersions;
  message->set_reader_feature_flags(both);
  message->set_writer_feature_flags(both | (message->config().empty() ? 0 : kFlagTableConfig));
}

Status BuildOverwrite(const OverwriteOperation& operation, bool creates, ManifestDraft* draft) {
  pb::Manifest& message = draft->message;
  message.clear_fields();
  message.clear_fragments();
  message.clear_schema_metadata();
  draft->indices.Clear();
  format::FieldsToMessages(operation.schema, message.mutable_fields());
  format::MetadataToMessage(operation.schema.metadata, message.mutable_schema_metadata());
  for (const auto& [key, value] : operation.config) (*message.mutable_config())[key] = value;
  for (const auto& [key, value] : operation.table_metadata) {
    (*message.mutable_table_metadata())[key] = value;
  }
  std::optional<format::FileVersion> file_version = operation.file_version;
  if (!file_version && !operation.fragments.empty() && !operation.fragments[0].files.empty()) {
    file_version = operation.fragments[0].files[0].version;
  }
  if (creates || file_version) {
    message.mutable_data_format()->set_file_format("lance");
    message.mutable_data_format()->set_version(
        file_version.value_or(format::kFileVersion22).ToString());
  }
  if (creates) {
    if (operation.stable_row_ids) {
      message.set_reader_feature_flags(kFlagStableRowIds);
      message.set_writer_feature_flags(kFlagStableRowIds);
    }
    for (const BasePath& base : operation.initial_bases) {
      BasePathToMessage(base, message.add_base_paths());
    }
  }
  return draft->Add(operation.fragments).status();
}

/// The content of `restored` under the newest version's high-water marks.
void BuildRestore(const ManifestFile& newest, const ManifestFile& restored, ManifestDraft* draft) {
  const pb::Manifest& old = newest.message();
  draft->message = restored.message();
  pb::Manifest& message = draft->message;
  std::optional<uint32_t> max_id = newest.max_fragment_id();
  if (restored.max_fragment_id()) {
    max_id = std::max(*restored.max_fragment_id(), max_id.value_or(0));
  }
  if (max_id) message.set_max_fragment_id(*max_id);
  message.set_next_row_id(std::max(old.next_row_id(), message.next_row_id()));
  const uint64_t sticky = (old.reader_feature_flags() & kStickyFlags);
  message.set_reader_feature_flags(message.reader_feature_flags() | sticky);
}

struct Builder {
  const BuildInput& input;
  ManifestDraft* draft;

  Status operator()(const AppendOperation& append) const {
    return draft->Add(append.fragments).status();
  }
  Status operator()(const OverwriteOperation& overwrite) const {
    return BuildOverwrite(overwrite, input.newest == nullptr, draft);
  }
  Status operator()(const DeleteOperation& deletion) const { return BuildDelete(deletion, draft); }
  Status operator()(const UpdateOperation& update) const {
    return BuildUpdate(input.transaction, update, draft);
  }
  Status operator()(const MergeOperation& merge) const { return BuildMerge(merge, draft); }
  Status operator()(const ProjectOperation& project) const { return BuildProject(project, draft); }
  Status operator()(const RewriteOperation& rewrite) const { return BuildRewrite(rewrite, draft); }
  Status operator()(const ReserveFragmentsOperation& reserve) const {
    return draft->TakeFragmentIds(reserve.count).status();
  }
  Status operator()(const RestoreOperation&) const { return Status::OK(); }
  Status operator()(const UpdateConfigOperation& update) const {
    return BuildUpdateConfig(update, draft);
  }
  Status operator()(const DataReplacementOperation& replacement) const {
    return BuildDataReplacement(replacement, draft);
  }
  Status operator()(const CreateIndexOperation& create) const {
    return BuildCreateIndex(create, draft);
  }
  Status operator()(const UpdateBasesOperation& update) const {
    return BuildUpdateBases(update, draft);
  }
  Status operator()(const CloneOperation& clone) const { return BuildClone(clone, draft); }
};

}  // namespace

uint64_t FirstVersion(const Operation& operation) {
  const auto* clone = std::get_if<CloneOperation>(&operation);
  return clone == nullptr ? 1 : clone->ref_version;
}

Result<std::string> BuildManifest(const BuildInput& input) {
  ManifestDraft draft;
  const ManifestFile* base = input.newest;
  if (const auto* clone = std::get_if<CloneOperation>(&input.operation)) {
    if (base != nullptr || clone->source == nullptr) {
      return Error(ErrorCode::kInvalidArgument, "a clone is the first version of a table");
    }
    base = &FileOf(*clone->source);
  }
  uint64_t version = FirstVersion(input.operation);
  if (base != nullptr) {
    const ManifestFile& content = input.restored != nullptr ? *input.restored : *base;
    ARROW_RETURN_NOT_OK(content.index_section().status());
    draft.indices = IndexSection(*content.index_section());
    if (input.restored != nullptr) {
      BuildRestore(*base, *input.restored, &draft);
    } else {
      draft.message = base->message();
      if (base->max_fragment_id()) draft.message.set_max_fragment_id(*base->max_fragment_id());
    }
    if (input.newest != nullptr) version = input.newest->version() + 1;
  }
  Stamp(input.transaction, version, input.now_nanos, &draft.message);
  ARROW_RETURN_NOT_OK(std::visit(Builder{input, &draft}, input.operation));
  auto by_id = [](const auto& a, const auto& b) { return a.id() < b.id(); };
  auto* fragments = draft.message.mutable_fragments();
  if (!std::is_sorted(fragments->begin(), fragments->end(), by_id)) {
    std::sort(fragments->begin(), fragments->end(), by_id);
  }
  const bool adds_no_file = std::holds_alternative<DeleteOperation>(input.operation) ||
                            std::holds_alternative<UpdateConfigOperation>(input.operation);
  SetFlags(!adds_no_file, &draft.message);
  ARROW_ASSIGN_OR_RAISE(std::optional<std::string> indices, draft.indices.Finish());
  return EncodeManifest(&draft.message, indices, input.transaction_bytes);
}

Result<uint64_t> ManifestDraft::TakeFragmentIds(uint64_t count) {
  const uint64_t first =
      message.has_max_fragment_id() ? uint64_t{message.max_fragment_id()} + 1 : 0;
  if (count > (uint64_t{1} << 32) - first) {
    return Error(ErrorCode::kUnsupported, "table has used up its 2^32 fragment ids");
  }
  if (count > 0) message.set_max_fragment_id(static_cast<uint32_t>(first + count - 1));
  return first;
}

Result<uint64_t> ManifestDraft::Add(const std::vector<Fragment>& fragments) {
  ARROW_ASSIGN_OR_RAISE(const uint64_t first, TakeFragmentIds(fragments.size()));
  uint64_t id = first;
  uint64_t next_row_id = message.next_row_id();
  for (const Fragment& fragment : fragments) {
    pb::DataFragment* added = message.add_fragments();
    FragmentToMessage(fragment, added);
    added->set_id(id++);
    if (stable_row_ids()) ARROW_RETURN_NOT_OK(AssignRowIds(version(), &next_row_id, added));
  }
  message.set_next_row_id(next_row_id);
  return first;
}

Result<pb::DataFragment*> ManifestDraft::Find(uint64_t id) {
  if (places.empty()) {
    for (int i = 0; i < message.fragments_size(); ++i) places[message.fragments(i).id()] = i;
  }
  auto found = places.find(id);
  if (found == places.end()) {
    return RetryableError(ErrorCode::kConflict, "fragment is no longer there: fragment {}", id);
  }
  return message.mutable_fragments(found->second);
}

Status ManifestDraft::Replace(const Fragment& fragment) {
  ARROW_ASSIGN_OR_RAISE(pb::DataFragment * place, Find(fragment.id));
  place->Clear();
  FragmentToMessage(fragment, place);
  return Status::OK();
}

Status ManifestDraft::Remove(const std::vector<uint64_t>& ids) {
  if (ids.empty()) return Status::OK();
  const std::set<uint64_t> gone(ids.begin(), ids.end());
  for (uint64_t id : gone) ARROW_RETURN_NOT_OK(Find(id).status());
  auto* fragments = message.mutable_fragments();
  fragments->erase(
      std::remove_if(fragments->begin(), fragments->end(),
                     [&](const auto& fragment) { return gone.contains(fragment.id()); }),
      fragments->end());
  places.clear();
  return Status::OK();
}

Status CheckFragmentsFit(const ManifestFile& newest, const std::vector<Fragment>& fragments,
                         bool columns_may_be_gone) {
  // Which fields own a column depends on the version of the file.
  std::map<format::FileVersion, std::set<int32_t>> known;
  std::set<int32_t> needed;
  for (const format::Field& field : newest.schema().fields) {
    if (field.nullable) continue;
    for (int32_t id : format::Schema::LeafIds(field)) needed.insert(id);
  }
  const bool mixed = MayMixFileVersions(newest);
  for (const Fragment& fragment : fragments) {
    std::set<int32_t> missing = needed;
    if (fragment.physical_rows == 0) {
      return Error(ErrorCode::kInvalidArgument, "a fragment without rows cannot be committed");
    }
    for (const DataFile& file : fragment.files) {
      if (file.version != newest.file_version() && !mixed) {
        return Error(ErrorCode::kUnsupported,
                     "data files of several versions in one table are not written: table has "
                     "file_version {}, {} has {}",
                     newest.file_version().ToString(), file.path, file.version.ToString());
      }
      std::set<int32_t>& ids = known[file.version];
      if (ids.empty()) {
        for (const format::Field& field : newest.schema().fields) {
          for (int32_t id : format::Schema::ColumnIds(field, file.version)) ids.insert(id);
        }
      }
      for (int32_t id : file.field_ids) {
        missing.erase(id);
        if (id >= 0 && !ids.contains(id) && !columns_may_be_gone) {
          return Error(ErrorCode::kInvalidArgument,
                       "data file has a field that the table lacks: {}: {}", file.path, id);
        }
      }
    }
    if (!missing.empty()) {
      return Error(ErrorCode::kInvalidArgument,
                   "new rows lack a column that is never null: field {}", *missing.begin());
    }
  }
  return Status::OK();
}

}  // namespace lake::table
