#include <algorithm>

#include "lake/table/deletion_file.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/rebase_internal.h"

namespace lake::table {

namespace {

Status MustRetry(uint64_t fragment, std::string_view reason) {
  return RetryableError(ErrorCode::kConflict,
                        "another commit came first; run the operation again: fragment {} {}",
                        fragment, reason);
}

/// True if every file of `part` is one of `all`: columns may have been dropped.
bool FilesLeft(const Fragment& all, const Fragment& part) {
  return std::all_of(part.files.begin(), part.files.end(), [&](const DataFile& file) {
    return std::any_of(all.files.begin(), all.files.end(),
                       [&](const DataFile& other) { return SameFile(file, other); });
  });
}

/// OK if `fragment`, as it was read, is still there as it was.
Status CheckUnchanged(const Fragment& fragment, const Manifest& newest) {
  const Fragment* now = FindFragment(newest, fragment.id);
  if (now == nullptr) return MustRetry(fragment.id, "is gone");
  if (!SameFiles(fragment, *now) || !SameDeletions(fragment, *now)) {
    return MustRetry(fragment.id, "was changed");
  }
  return Status::OK();
}

class Rebaser {
 public:
  Rebaser(const Context& context, storage::ObjectStore* store, const Transaction& transaction,
          const Manifest& read, const Manifest& newest)
      : context_(context), store_(store), transaction_(transaction), read_(read), newest_(newest) {}

  Result<RebasedOperation> Run() {
    RebasedOperation rebased{transaction_.operation, {}, {}};
    Status status =
        std::visit([this](auto& operation) { return Rebase(&operation); }, rebased.operation);
    if (!status.ok()) {
      // Best effort: what stays behind is a leftover that no version names.
      (void)RemoveUncommitted(context_, store_, new_objects_);
      return status;
    }
    rebased.new_objects = std::move(new_objects_);
    rebased.replaced_objects = std::move(replaced_objects_);
    return rebased;
  }

 private:
  /// Operations that name no fragment of the version they read.
  template <typename T>
  Status Rebase(T*) {
    return Status::OK();
  }

  Status Rebase(DeleteOperation* operation) {
    return RebaseRows(&operation->updated, &operation->removed_ids);
  }
  Status Rebase(UpdateOperation* operation) {
    return RebaseRows(&operation->updated, &operation->removed_ids);
  }

  Status Rebase(MergeOperation*) {
    if (newest_.fragments().size() != read_.fragments().size()) {
      return RetryableError(ErrorCode::kConflict,
                            "another commit changed the fragments; run the operation again");
    }
    for (const Fragment& fragment : read_.fragments()) {
      ARROW_RETURN_NOT_OK(CheckUnchanged(fragment, newest_));
    }
    return Status::OK();
  }

  Status Rebase(RewriteOperation* operation) {
    for (const RewriteGroup& group : operation->groups) {
      for (const Fragment& fragment : group.old_fragments) {
        ARROW_RETURN_NOT_OK(CheckUnchanged(fragment, newest_));
      }
    }
    return Status::OK();
  }

  Status RebaseRows(std::vector<Fragment>* updated, std::vector<uint64_t>* removed_ids) {
    std::vector<Fragment> rebased;
    for (Fragment& fragment : *updated) {
      const Fragment* read = FindFragment(read_, fragment.id);
      const Fragment* now = FindFragment(newest_, fragment.id);
      if (now == nullptr || read == nullptr) return MustRetry(fragment.id, "is gone");
      auto mine = transaction_.affected_rows.find(fragment.id);
      if (mine == transaction_.affected_rows.end()) {
        // Columns were written: any other change of the fragment is one too many.
        ARROW_RETURN_NOT_OK(CheckUnchanged(*read, newest_));
        rebased.push_back(std::move(fragment));
        continue;
      }
      if (!FilesLeft(*read, *now)) return MustRetry(fragment.id, "has other files");
      Fragment merged = *now;
      if (SameDeletions(*read, *now)) {
        merged.deletion_file = fragment.deletion_file;
      } else {
        if (fragment.deletion_file) {
          replaced_objects_.push_back(DeletionFileKey(fragment.id, *fragment.deletion_file));
        }
        ARROW_ASSIGN_OR_RAISE(bool is_empty, MergeDeletions(mine->second, &merged));
        if (is_empty) {
          removed_ids->push_back(merged.id);
          continue;
        }
      }
      rebased.push_back(std::move(merged));
    }
    *updated = std::move(rebased);
    for (uint64_t id : *removed_ids) {
      const Fragment* read = FindFragment(read_, id);
      const Fragment* now = FindFragment(newest_, id);
      if (now == nullptr || read == nullptr) return MustRetry(id, "is gone");
      // All its rows were mine: whatever another took out is one of them.
      const bool also_theirs = !SameDeletions(*read, *now) && !JustMerged(id);
      if (also_theirs || !FilesLeft(*read, *now)) return MustRetry(id, "was changed");
    }
    return Status::OK();
  }

  bool JustMerged(uint64_t id) const {
    return std::find(emptied_.begin(), emptied_.end(), id) != emptied_.end();
  }

  /// Adds my rows to those that are deleted in `fragment` by now; true if none is left.
  Result<bool> MergeDeletions(const DeletionVector& mine, Fragment* fragment) {
    if (fragment->physical_rows == 0) return MustRetry(fragment->id, "has an unknown row count");
    if (fragment->deletion_file && fragment->deletion_file->base_id) {
      return MustRetry(fragment->id, "has its deletions in another folder");
    }
    ARROW_ASSIGN_OR_RAISE(DeletionVector theirs,
                          ReadDeletionFile(context_, store_, *fragment, fragment->physical_rows));
    if (!DeletionVector::Intersection(mine, theirs).empty()) {
      return MustRetry(fragment->id, "lost rows that this operation changes, too");
    }
    const DeletionVector all = DeletionVector::Union(mine, theirs);
    if (all.num_deleted() == fragment->physical_rows) {
      emptied_.push_back(fragment->id);
      return true;
    }
    std::string key;
    Result<DeletionFile> file =
        WriteDeletionFile(context_, store_, fragment->id, newest_.version(), all, &key);
    new_objects_.push_back(key);
    ARROW_RETURN_NOT_OK(file.status());
    fragment->deletion_file = *std::move(file);
    return false;
  }

  const Context& context_;
  storage::ObjectStore* const store_;
  const Transaction& transaction_;
  const Manifest& read_;
  const Manifest& newest_;
  std::vector<std::string> new_objects_;
  std::vector<std::string> replaced_objects_;
  /// Fragments that have no row left since my rows joined those of others.
  std::vector<uint64_t> emptied_;
};

}  // namespace

Result<RebasedOperation> RebaseOperation(const Context& context, storage::ObjectStore* store,
                                         const Transaction& transaction, const Manifest& read,
                                         const Manifest& newest) {
  return Rebaser(context, store, transaction, read, newest).Run();
}

}  // namespace lake::table
