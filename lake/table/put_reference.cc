// Tags and branches are files: each change of one has an outcome, as a commit has.

#include <arrow/buffer.h>

#include "lake/base/crash_point.h"
#include "lake/base/settling_context.h"
#include "lake/table/ref_files_internal.h"

namespace lake::table {

namespace {

Status Unknown(const std::string& key, std::string_view what, const Status& reason) {
  return Error(ErrorCode::kCommitUnknown, "{}; look at it, or run it again: {}: {}", what, key,
               ErrorText(reason));
}

}  // namespace

Status PutReference(const Context& context, storage::ObjectStore* store, const std::string& key,
                    const std::string& bytes, storage::PutCondition condition) {
  // The caller may give up; what was begun is settled all the same.
  const Context settling = SettlingContext(context);
  const Status put = store->Put(context, key, bytes, condition);
  if (!put.ok()) {
    // It may have happened all the same: then the file holds exactly these bytes.
    const Result<std::shared_ptr<arrow::Buffer>> there = store->GetAll(settling, key, kMaxRefBytes);
    if (!there.ok() && CodeOf(there.status()) != ErrorCode::kNotFound) {
      return Unknown(key, "reference may or may not have been written", there.status());
    }
    if (!there.ok() || std::string_view(**there) != bytes) return put;
  }
  CrashPoint("reference_written");
  const std::string keys[] = {key};
  const Status synced = store->Sync(settling, keys, {});
  if (synced.ok()) return synced;
  return Unknown(key, "reference is written, but a power loss may take it", synced);
}

Status RemoveReference(const Context& context, storage::ObjectStore* store,
                       const std::string& key) {
  // The caller may give up; what was begun is settled all the same.
  const Context settling = SettlingContext(context);
  const Status removed = store->Delete(context, key);
  if (!removed.ok()) {
    const Status there = store->Head(settling, key).status();
    if (there.ok()) return removed;
    if (CodeOf(there) != ErrorCode::kNotFound) {
      return Unknown(key, "reference may or may not have been removed", there);
    }
  }
  CrashPoint("reference_removed");
  const std::string folders[] = {key.substr(0, key.rfind('/') + 1)};
  const Status synced = store->Sync(settling, folders, {});
  if (synced.ok()) return synced;
  return Unknown(key, "reference is removed, but a power loss may bring it back", synced);
}

}  // namespace lake::table
