// Manifests of operations that take out, change or rewrite rows.

#include <set>

#include "lake/table/manifest_build_internal.h"

namespace lake::table {

namespace {

std::set<uint64_t> IdsOf(const pb::Manifest& message) {
  std::set<uint64_t> ids;
  for (const pb::DataFragment& fragment : message.fragments()) ids.insert(fragment.id());
  return ids;
}

Status ReplaceAll(const std::vector<Fragment>& fragments, ManifestDraft* draft) {
  for (const Fragment& fragment : fragments) ARROW_RETURN_NOT_OK(draft->Replace(fragment));
  return Status::OK();
}

/// True if every row of `fragment` was there before.
bool HoldsMovedRowsOnly(const Fragment& fragment, const pb::Manifest& message, uint64_t id) {
  if (fragment.row_ids == nullptr) return false;
  for (const pb::DataFragment& built : message.fragments()) {
    // Ids were given to new rows, if there were any: then the sequence is another one.
    if (built.id() == id) return built.inline_row_ids() == *fragment.row_ids;
  }
  return false;
}

}  // namespace

Status BuildDelete(const DeleteOperation& operation, ManifestDraft* draft) {
  ARROW_RETURN_NOT_OK(ReplaceAll(operation.updated, draft));
  ARROW_RETURN_NOT_OK(draft->Remove(operation.removed_ids));
  if (operation.removed_ids.empty()) return Status::OK();
  return draft->indices.DropEmptyVectorIndices(IdsOf(draft->message));
}

Status BuildUpdate(const Transaction& transaction, const UpdateOperation& operation,
                   ManifestDraft* draft) {
  ARROW_RETURN_NOT_OK(ReplaceAll(operation.updated, draft));
  ARROW_RETURN_NOT_OK(draft->Remove(operation.removed_ids));
  const std::set<int32_t> fields(operation.fields_modified.begin(),
                                 operation.fields_modified.end());
  if (operation.mode == UpdateOperation::Mode::kRewriteColumns) {
    std::vector<uint64_t> changed;
    for (const Fragment& fragment : operation.updated) changed.push_back(fragment.id);
    ARROW_RETURN_NOT_OK(draft->indices.Uncover(changed, fields));
  }
  ARROW_ASSIGN_OR_RAISE(uint64_t id, draft->Add(operation.added));
  if (draft->stable_row_ids()) {
    std::vector<uint64_t> from;
    for (const auto& [fragment, rows] : transaction.affected_rows) from.push_back(fragment);
    std::vector<uint64_t> to;
    for (const Fragment& fragment : operation.added) {
      if (HoldsMovedRowsOnly(fragment, draft->message, id)) to.push_back(id);
      ++id;
    }
    ARROW_RETURN_NOT_OK(draft->indices.CoverMoved(from, to, fields));
  }
  if (operation.removed_ids.empty()) return Status::OK();
  return draft->indices.DropEmptyVectorIndices(IdsOf(draft->message));
}

Status BuildRewrite(const RewriteOperation& operation, ManifestDraft* draft) {
  std::set<uint64_t> old_ids;
  std::set<uint64_t> new_ids;
  for (const RewriteGroup& group : operation.groups) {
    if (group.old_fragments.empty()) {
      return Error(ErrorCode::kInvalidArgument, "a rewrite replaces no fragment");
    }
    for (const Fragment& fragment : group.old_fragments) {
      if (!old_ids.insert(fragment.id).second) {
        return Error(ErrorCode::kInvalidArgument,
                     "a rewrite replaces a fragment twice: fragment {}", fragment.id);
      }
    }
    for (const Fragment& fragment : group.new_fragments) {
      const bool reserved =
          draft->message.has_max_fragment_id() && fragment.id <= draft->message.max_fragment_id();
      if (!reserved || draft->Find(fragment.id).ok() || !new_ids.insert(fragment.id).second) {
        return Error(ErrorCode::kInvalidArgument,
                     "a rewrite's new fragment has an id that was not reserved: fragment {}",
                     fragment.id);
      }
      if (draft->stable_row_ids() &&
          (fragment.row_ids == nullptr || fragment.created_at_versions == nullptr ||
           fragment.last_updated_at_versions == nullptr)) {
        return Error(ErrorCode::kInvalidArgument,
                     "a rewrite must carry the row ids along: fragment {}", fragment.id);
      }
    }
  }
  ARROW_RETURN_NOT_OK(draft->Remove({old_ids.begin(), old_ids.end()}));
  for (const RewriteGroup& group : operation.groups) {
    for (const Fragment& fragment : group.new_fragments) {
      FragmentToMessage(fragment, draft->message.add_fragments());
    }
  }
  ARROW_RETURN_NOT_OK(draft->indices.Rewrite(operation, draft->stable_row_ids()));
  return draft->indices.DropEmptyVectorIndices(IdsOf(draft->message));
}

}  // namespace lake::table
