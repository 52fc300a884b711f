#include <limits>
#include <set>

#include "lake/base/version.h"
#include "lake/format/schema_internal.h"
#include "lake/table/manifest_build_internal.h"
#include "lake/table/transaction_internal.h"

namespace lake::table {

namespace {

// Flags that stay once they are set, whatever the version holds.
constexpr uint64_t kStickyFlags = kFlagMixedFileVersions;

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

/// Recomputes both flag words from the content, as every Lance writer does at each commit.
void SetFlags(pb::Manifest* message) {
  uint64_t reader = message->reader_feature_flags() & kStickyFlags;
  uint64_t writer = message->writer_feature_flags() & kStickyFlags;
  for (const pb::DataFragment& fragment : message->fragments()) {
    if (!fragment.has_deletion_file()) continue;
    reader |= kFlagDeletionFiles;
    writer |= kFlagDeletionFiles;
    break;
  }
  if (!message->config().empty()) writer |= kFlagTableConfig;
  message->set_reader_feature_flags(reader);
  message->set_writer_feature_flags(writer);
}

/// Adds `fragments` under ids that were never used before.
Status AddFragments(const std::vector<Fragment>& fragments, std::optional<uint32_t> max_id,
                    pb::Manifest* message) {
  uint64_t id = max_id ? uint64_t{*max_id} + 1 : 0;
  for (const Fragment& fragment : fragments) {
    if (id > std::numeric_limits<uint32_t>::max()) {
      return Error(ErrorCode::kUnsupported, "table has used up its 2^32 fragment ids");
    }
    pb::DataFragment* added = message->add_fragments();
    FragmentToMessage(fragment, added);
    added->set_id(id);
    message->set_max_fragment_id(static_cast<uint32_t>(id));
    ++id;
  }
  return Status::OK();
}

}  // namespace

Result<std::string> BuildCreatedManifest(const Transaction& transaction,
                                         const std::string& transaction_bytes, int64_t now_nanos) {
  pb::Manifest message;
  Stamp(transaction, /*version=*/1, now_nanos, &message);
  format::FieldsToMessages(transaction.schema, message.mutable_fields());
  format::MetadataToMessage(transaction.schema.metadata, message.mutable_schema_metadata());
  message.mutable_config()->insert(transaction.config.begin(), transaction.config.end());
  message.mutable_table_metadata()->insert(transaction.table_metadata.begin(),
                                           transaction.table_metadata.end());
  message.mutable_data_format()->set_file_format("lance");
  message.mutable_data_format()->set_version(format::kFileVersion22.ToString());
  ARROW_RETURN_NOT_OK(AddFragments(transaction.fragments, std::nullopt, &message));
  SetFlags(&message);
  return EncodeManifest(std::move(message), std::nullopt, transaction_bytes);
}

Result<std::string> BuildAppendedManifest(const ManifestFile& newest,
                                          const Transaction& transaction,
                                          const std::string& transaction_bytes, int64_t now_nanos) {
  ARROW_RETURN_NOT_OK(newest.index_section().status());
  pb::Manifest message = newest.message();
  Stamp(transaction, newest.version() + 1, now_nanos, &message);
  if (newest.max_fragment_id()) message.set_max_fragment_id(*newest.max_fragment_id());
  ARROW_RETURN_NOT_OK(AddFragments(transaction.fragments, newest.max_fragment_id(), &message));
  SetFlags(&message);
  return EncodeManifest(std::move(message), *newest.index_section(), transaction_bytes);
}

Status CheckFragmentsFit(const ManifestFile& newest, const std::vector<Fragment>& fragments) {
  std::set<int32_t> known;
  std::set<int32_t> needed;
  for (const format::Field& field : newest.schema().fields) {
    for (int32_t id : format::Schema::LeafIds(field)) {
      known.insert(id);
      if (!field.nullable) needed.insert(id);
    }
  }
  const bool mixed = (newest.reader_flags() & kFlagMixedFileVersions) != 0;
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
      for (int32_t id : file.field_ids) {
        missing.erase(id);
        if (id >= 0 && !known.contains(id)) {
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
