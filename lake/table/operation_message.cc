// Operations as the messages that upstream writes for them.

#include "lake/format/schema_internal.h"
#include "lake/table/transaction_internal.h"

namespace lake::table {

namespace {

using FragmentMessages = google::protobuf::RepeatedPtrField<pb::DataFragment>;

void FragmentsToMessages(const std::vector<Fragment>& fragments, FragmentMessages* messages) {
  for (const Fragment& fragment : fragments) FragmentToMessage(fragment, messages->Add());
}

void UuidToMessage(const Uuid& uuid, pb::UUID* message) {
  message->set_uuid(uuid.bytes.data(), uuid.bytes.size());
}

void MapUpdateToMessage(const MapUpdate& update, pb::UpdateMap* message) {
  message->set_replace(update.replace);
  for (const auto& [key, value] : update.entries) {
    pb::UpdateMapEntry* entry = message->add_update_entries();
    entry->set_key(key);
    if (value) entry->set_value(*value);
  }
}

struct Writer {
  pb::Transaction* message;

  void operator()(const AppendOperation& append) const {
    FragmentsToMessages(append.fragments, message->mutable_append()->mutable_fragments());
  }

  void operator()(const OverwriteOperation& overwrite) const {
    pb::Transaction::Overwrite* to = message->mutable_overwrite();
    FragmentsToMessages(overwrite.fragments, to->mutable_fragments());
    format::FieldsToMessages(overwrite.schema, to->mutable_schema());
    format::MetadataToMessage(overwrite.schema.metadata, to->mutable_schema_metadata());
    to->mutable_config_upsert_values()->insert(overwrite.config.begin(), overwrite.config.end());
    for (const BasePath& base : overwrite.initial_bases) {
      BasePathToMessage(base, to->add_initial_bases());
    }
  }

  void operator()(const DeleteOperation& deletion) const {
    pb::Transaction::Delete* to = message->mutable_delete_();
    FragmentsToMessages(deletion.updated, to->mutable_updated_fragments());
    to->mutable_deleted_fragment_ids()->Add(deletion.removed_ids.begin(),
                                            deletion.removed_ids.end());
    to->set_predicate(deletion.predicate);
  }

  void operator()(const UpdateOperation& update) const {
    pb::Transaction::Update* to = message->mutable_update();
    to->mutable_removed_fragment_ids()->Add(update.removed_ids.begin(), update.removed_ids.end());
    FragmentsToMessages(update.updated, to->mutable_updated_fragments());
    FragmentsToMessages(update.added, to->mutable_new_fragments());
    // Upstream says it in one of two places, by mode.
    const bool rows = update.mode == UpdateOperation::Mode::kRewriteRows;
    auto* fields =
        rows ? to->mutable_fields_for_preserving_frag_bitmap() : to->mutable_fields_modified();
    fields->Add(update.fields_modified.begin(), update.fields_modified.end());
    to->set_update_mode(rows ? pb::Transaction::Update::REWRITE_ROWS
                             : pb::Transaction::Update::REWRITE_COLUMNS);
  }

  void operator()(const MergeOperation& merge) const {
    pb::Transaction::Merge* to = message->mutable_merge();
    FragmentsToMessages(merge.fragments, to->mutable_fragments());
    format::FieldsToMessages(merge.schema, to->mutable_schema());
    format::MetadataToMessage(merge.schema.metadata, to->mutable_schema_metadata());
    to->set_preserves_nullability(merge.preserves_nullability);
  }

  void operator()(const ProjectOperation& project) const {
    pb::Transaction::Project* to = message->mutable_project();
    format::FieldsToMessages(project.schema, to->mutable_schema());
    to->set_preserves_nullability(project.preserves_nullability);
  }

  void operator()(const RewriteOperation& rewrite) const {
    pb::Transaction::Rewrite* to = message->mutable_rewrite();
    for (const RewriteGroup& group : rewrite.groups) {
      pb::Transaction::Rewrite::RewriteGroup* to_group = to->add_groups();
      FragmentsToMessages(group.old_fragments, to_group->mutable_old_fragments());
      FragmentsToMessages(group.new_fragments, to_group->mutable_new_fragments());
    }
    for (const RewrittenIndex& index : rewrite.rewritten_indices) {
      pb::Transaction::Rewrite::RewrittenIndex* to_index = to->add_rewritten_indices();
      UuidToMessage(index.old_id, to_index->mutable_old_id());
      UuidToMessage(index.new_id, to_index->mutable_new_id());
      if (!index.new_details.empty()) to_index->set_new_index_details(index.new_details);
      to_index->set_new_index_version(index.new_version);
      for (const auto& [path, size] : index.files) {
        pb::IndexFile* file = to_index->add_new_index_files();
        file->set_path(path);
        file->set_size(size);
      }
    }
  }

  void operator()(const ReserveFragmentsOperation& reserve) const {
    message->mutable_reserve_fragments()->set_num_fragments(reserve.count);
  }

  void operator()(const RestoreOperation& restore) const {
    message->mutable_restore()->set_version(restore.version);
  }

  void operator()(const UpdateConfigOperation& update) const {
    pb::Transaction::UpdateConfig* to = message->mutable_update_config();
    if (update.config) MapUpdateToMessage(*update.config, to->mutable_config_updates());
    if (update.table_metadata) {
      MapUpdateToMessage(*update.table_metadata, to->mutable_table_metadata_updates());
    }
    if (update.schema_metadata) {
      MapUpdateToMessage(*update.schema_metadata, to->mutable_schema_metadata_updates());
    }
    for (const auto& [id, field] : update.field_metadata) {
      MapUpdateToMessage(field, &(*to->mutable_field_metadata_updates())[id]);
    }
  }

  void operator()(const DataReplacementOperation& replace) const {
    for (const DataReplacement& replacement : replace.replacements) {
      pb::Transaction::DataReplacement::Group* to =
          message->mutable_data_replacement()->add_replacements();
      to->set_fragment_id(replacement.fragment_id);
      DataFileToMessage(replacement.file, to->mutable_new_file());
    }
  }

  void operator()(const CreateIndexOperation& create) const {
    pb::Transaction::CreateIndex* to = message->mutable_create_index();
    for (const std::string& index : create.added) to->add_new_indices()->ParseFromString(index);
    for (const std::string& index : create.removed) {
      to->add_removed_indices()->ParseFromString(index);
    }
  }

  void operator()(const UpdateBasesOperation& update) const {
    pb::Transaction::UpdateBases* to = message->mutable_update_bases();
    for (const BasePath& base : update.added) BasePathToMessage(base, to->add_new_bases());
  }

  void operator()(const CloneOperation& clone) const {
    pb::Transaction::Clone* to = message->mutable_clone();
    to->set_is_shallow(clone.is_shallow);
    if (clone.ref_name) to->set_ref_name(*clone.ref_name);
    to->set_ref_version(clone.ref_version);
    to->set_ref_path(clone.ref_path);
    if (clone.branch_name) to->set_branch_name(*clone.branch_name);
  }
};

}  // namespace

pb::Transaction TransactionToMessage(const Transaction& transaction, const Operation& operation) {
  pb::Transaction message;
  message.set_read_version(transaction.read_version);
  message.set_uuid(transaction.uuid.ToString());
  message.mutable_transaction_properties()->insert(transaction.properties.begin(),
                                                   transaction.properties.end());
  std::visit(Writer{&message}, operation);
  return message;
}

}  // namespace lake::table
