#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lake/table/index_section_internal.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/transaction.h"

namespace lake::table {

/// What a manifest is built from.
struct BuildInput {
  const Transaction& transaction;
  /// The transaction's operation, rebased onto `newest`.
  const Operation& operation;
  /// The serialized message of both.
  const std::string& transaction_bytes;
  /// The time that the version carries.
  int64_t now_nanos = 0;
  /// The version on top of which it goes; null for the first version of a table.
  const ManifestFile* newest = nullptr;
  /// RestoreOperation: the version whose content comes back.
  const ManifestFile* restored = nullptr;
};

/// The number of the first version that a creating operation makes.
uint64_t FirstVersion(const Operation& operation);

/// The bytes of the manifest that the operation makes. All that `newest` holds and the operation
/// does not change is carried over, unknown fields and the index section included.
Result<std::string> BuildManifest(const BuildInput& input);

/// A manifest while it is built.
struct ManifestDraft {
  google::protobuf::Arena arena;
  pb::Manifest& message = *google::protobuf::Arena::CreateMessage<pb::Manifest>(&arena);
  IndexSection indices;

  uint64_t version() const { return message.version(); }
  bool stable_row_ids() const { return (message.reader_feature_flags() & kFlagStableRowIds) != 0; }
  /// The fragment with that id; kConflict if there is none (any more).
  Result<pb::DataFragment*> Find(uint64_t id);
  /// Places by id, made at the first Find.
  std::map<uint64_t, int> places;

  /// Takes the fragment ids that follow the highest one ever used.
  Result<uint64_t> TakeFragmentIds(uint64_t count);
  /// Adds `fragments` under new ids; with stable row ids, gives ids and versions to rows that have
  /// none. Returns the first id.
  Result<uint64_t> Add(const std::vector<Fragment>& fragments);
  /// Puts `fragment` at the place of the one with its id.
  Status Replace(const Fragment& fragment);
  Status Remove(const std::vector<uint64_t>& ids);
  /// The schema is another one: fields that stay keep their metadata and what lake does not know of
  /// them. Indices on fields that are gone go, and data files without a living field.
  Status SetSchema(const format::Schema& schema);
};

/// The parts of BuildManifest, by operation. Each changes the draft of the version.
Status BuildDelete(const DeleteOperation& operation, ManifestDraft* draft);
Status BuildUpdate(const Transaction& transaction, const UpdateOperation& operation,
                   ManifestDraft* draft);
Status BuildRewrite(const RewriteOperation& operation, ManifestDraft* draft);
Status BuildMerge(const MergeOperation& operation, ManifestDraft* draft);
Status BuildProject(const ProjectOperation& operation, ManifestDraft* draft);
Status BuildDataReplacement(const DataReplacementOperation& operation, ManifestDraft* draft);
Status BuildUpdateConfig(const UpdateConfigOperation& operation, ManifestDraft* draft);
Status BuildUpdateBases(const UpdateBasesOperation& operation, ManifestDraft* draft);
Status BuildCreateIndex(const CreateIndexOperation& operation, ManifestDraft* draft);
Status BuildClone(const CloneOperation& operation, ManifestDraft* draft);

/// OK if the files of `fragments` can become part of a version with `newest`'s schema and file
/// version; else kUnsupported (file version) or kInvalidArgument (columns). With
/// `columns_may_be_gone`, columns that the table lacks by now pass.
Status CheckFragmentsFit(const ManifestFile& newest, const std::vector<Fragment>& fragments,
                         bool columns_may_be_gone = false);

}  // namespace lake::table
