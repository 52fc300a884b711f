#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lake/base/context.h"
#include "lake/base/uuid.h"
#include "lake/format/schema.h"
#include "lake/storage/object_store.h"
#include "lake/table/deletion_vector.h"
#include "lake/table/manifest.h"

namespace lake::table {

/// Changes of a map of texts: a key without a value goes away; with `replace` all others do, too.
struct MapUpdate {
  std::map<std::string, std::optional<std::string>> entries;
  bool replace = false;
};

/// New rows. Fragments carry no ids yet.
struct AppendOperation {
  std::vector<Fragment> fragments;
};

/// Version 1 of a table (where the transaction's read version is 0), or all rows and columns
/// replaced. Indices go; config and table metadata stay and get the new entries.
struct OverwriteOperation {
  std::vector<Fragment> fragments;
  format::Schema schema;
  std::map<std::string, std::string> config;
  /// Version 1 only.
  std::map<std::string, std::string> table_metadata;
  std::vector<BasePath> initial_bases;
  /// Version 1 only: rows keep their ids for life (flag 2).
  bool stable_row_ids = false;
  /// The file version of the table from now on; nothing: that of the fragments' files, and without
  /// any, as it is (2.2 in version 1).
  std::optional<format::FileVersion> file_version;
};

/// Rows taken out: `updated` fragments of the read version with another deletion file, and
/// fragments that lost all their rows.
struct DeleteOperation {
  std::vector<Fragment> updated;
  std::vector<uint64_t> removed_ids;
  /// For people and logs.
  std::string predicate;
};

/// Rows changed: taken out of `updated` and `removed_ids` as a delete does, and written again into
/// `added` (kRewriteRows); or columns of `updated` fragments in further files (kRewriteColumns).
struct UpdateOperation {
  enum class Mode { kRewriteRows, kRewriteColumns };
  Mode mode = Mode::kRewriteRows;
  std::vector<uint64_t> removed_ids;
  std::vector<Fragment> updated;
  /// Without ids. With stable row ids a fragment carries the ids of its first rows (those that were
  /// moved) and their created-at versions; rows behind them are new.
  std::vector<Fragment> added;
  /// Ids of the fields whose values may have changed.
  std::vector<uint32_t> fields_modified;
  /// A merge-insert that added rows by key: does not go together with other changes that may have
  /// added the same keys.
  bool inserted_by_key = false;
};

/// Columns added, or files of columns rewritten: all fragments of the read version as they shall
/// be, and the schema.
struct MergeOperation {
  std::vector<Fragment> fragments;
  format::Schema schema;
  /// No column that may not be null came to be one that may, or the reverse.
  bool preserves_nullability = true;
  /// Values of existing columns were written again: rows count as updated.
  bool rows_updated = true;
};

/// Columns dropped, renamed, reordered or retyped without touching data.
struct ProjectOperation {
  format::Schema schema;
  bool preserves_nullability = true;
};

/// A group of fragments replaced by others with the same rows, at the place of the first one.
struct RewriteGroup {
  std::vector<Fragment> old_fragments;
  /// With ids that ReserveFragmentsOperation took.
  std::vector<Fragment> new_fragments;
};

/// An index whose row addresses were brought along.
struct RewrittenIndex {
  Uuid old_id;
  Uuid new_id;
  /// A google.protobuf.Any, serialized; empty: that of the old one.
  std::string new_details;
  uint32_t new_version = 0;
  /// Path and size.
  std::vector<std::pair<std::string, uint64_t>> files;
};

struct RewriteOperation {
  std::vector<RewriteGroup> groups;
  std::vector<RewrittenIndex> rewritten_indices;
};

/// Takes fragment ids for a rewrite that follows.
struct ReserveFragmentsOperation {
  uint32_t count = 0;
};

/// The content of an older version becomes the newest one.
struct RestoreOperation {
  uint64_t version = 0;
};

/// Config, table, schema and field metadata.
struct UpdateConfigOperation {
  std::optional<MapUpdate> config;
  std::optional<MapUpdate> table_metadata;
  std::optional<MapUpdate> schema_metadata;
  std::map<int32_t, MapUpdate> field_metadata;
};

/// One file in place of what a fragment had for the file's fields.
struct DataReplacement {
  uint64_t fragment_id = 0;
  DataFile file;
};
struct DataReplacementOperation {
  std::vector<DataReplacement> replacements;
};

/// Index entries, each a serialized IndexMetadata message.
struct CreateIndexOperation {
  std::vector<std::string> added;
  std::vector<std::string> removed;
};

struct UpdateBasesOperation {
  std::vector<BasePath> added;
};

/// The first version of a clone: the content of `source`. A shallow one names the source's files
/// through a base path.
struct CloneOperation {
  bool is_shallow = true;
  std::optional<std::string> ref_name;
  uint64_t ref_version = 0;
  std::string ref_path;
  std::optional<std::string> branch_name;
  /// Not stored.
  std::shared_ptr<const Manifest> source;
};

using Operation =
    std::variant<AppendOperation, OverwriteOperation, DeleteOperation, UpdateOperation,
                 MergeOperation, ProjectOperation, RewriteOperation, ReserveFragmentsOperation,
                 RestoreOperation, UpdateConfigOperation, DataReplacementOperation,
                 CreateIndexOperation, UpdateBasesOperation, CloneOperation>;

/// A change to a table that is not committed yet: what the functions of this module that change
/// tables make, and what lake/commit commits.
struct Transaction {
  Uuid uuid;
  /// The version that the writer looked at; 0 for the creation of a table.
  uint64_t read_version = 0;
  Operation operation;
  /// Stored with the transaction; carries `lake.operation_id` and `lake.payload_digest`.
  std::map<std::string, std::string> properties;
  /// Keys of the objects that were written for it. A commit syncs them before it publishes, and
  /// removes them after a definite failure; nothing else may name them.
  std::vector<std::string> new_objects;
  /// Delete and Update of rows: by fragment id, the rows that this transaction takes out. With them
  /// it can go on top of another that took out other rows of the same fragments.
  std::map<uint64_t, DeletionVector> affected_rows;
};

/// A new transaction with a random UUID.
Transaction NewTransaction(const Context& context, uint64_t read_version, Operation operation,
                           std::vector<std::string> new_objects = {});

/// Lance's name of an operation, such as "append".
std::string_view OperationName(const Operation& operation);

/// Removes the objects of a transaction that will never be committed. Best effort; the first error
/// is returned after all were tried.
Status RemoveUncommitted(const Context& context, storage::ObjectStore* store,
                         const std::vector<std::string>& new_objects);

}  // namespace lake::table
