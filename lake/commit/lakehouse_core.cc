#include "lake/commit/lakehouse_core.h"

namespace lake::commit {

Result<std::shared_ptr<storage::ObjectStore>> LakehouseCore::TableStore(
    const catalog::Entry& entry) const {
  if (!storage::CheckKey(entry.location).ok() ||
      !entry.location.starts_with(std::string(kTablesFolder) + "/")) {
    return Error(ErrorCode::kCorrupt,
                 "metastore: location of '{}' does not lie below {}/ of the data folder: '{}'",
                 entry.name.ToString(), kTablesFolder, entry.location);
  }
  return storage::MakePrefixStore(store_, entry.location);
}

Result<std::shared_ptr<objects::Stage>> LakehouseCore::StageFor(const Context& context,
                                                                const std::string& tenant) {
  MutexLock lock(&mutex_);
  auto found = stages_.find(tenant);
  if (found != stages_.end()) return found->second;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<objects::Stage> stage, open_stage_(context, tenant));
  stages_.emplace(tenant, stage);
  return stage;
}

std::string NewTableLocation(const catalog::QualifiedName& name, const Uuid& incarnation) {
  return fmt::format("{}/{}/{}/{}.lance", kTablesFolder, catalog::FolderName(name.name_space),
                     catalog::FolderName(name.name), incarnation.ToString());
}

Context HintContext(const Context& context) {
  constexpr int64_t kWaitNanos = 1'000'000'000;
  Context hint = context;
  hint.cancel = CancelToken();
  hint.deadline = context.clock->MonotonicNanos() + kWaitNanos;
  return hint;
}

}  // namespace lake::commit
