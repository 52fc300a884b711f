#include <algorithm>
#include <string_view>
#include <utility>

#include "lake/commit/lakehouse_core.h"
#include "lake/commit/maintenance.h"

namespace lake::commit {
namespace {

constexpr std::string_view kSuffix = ".lance";

// The name of the dataset folder that `folder`, a key below tables/, is or lies in, without its
// suffix; empty if there is none. Folders of namespaces and tables have no dot in their names.
std::string_view DatasetName(std::string_view folder) {
  while (!folder.empty()) {
    const size_t slash = std::min(folder.find('/'), folder.size());
    const std::string_view part = folder.substr(0, slash);
    if (part.ends_with(kSuffix)) return part.substr(0, part.size() - kSuffix.size());
    folder.remove_prefix(std::min(slash + 1, folder.size()));
  }
  return {};
}

}  // namespace

table::BaseOpener LakehouseCore::BaseOpenerFor(const catalog::Entry& entry) const {
  // Its own folder, under a path where the data folder was before, and those of its sources.
  std::string readable = entry.incarnation.ToString();
  auto sources = entry.properties.find(kCloneOfProperty);
  if (sources != entry.properties.end()) readable += " " + sources->second;
  return [data_folder = store_, readable = std::move(readable), name = entry.name.ToString()](
             const Context& context,
             const std::string& path) -> Result<std::shared_ptr<storage::ObjectStore>> {
    const std::string mark = "/" + std::string(kTablesFolder) + "/";
    for (size_t at = path.find(mark); at != std::string::npos; at = path.find(mark, at + 1)) {
      const std::string folder = path.substr(at + 1);
      const std::string_view dataset = DatasetName(folder);
      if (!storage::CheckKey(folder).ok() || dataset.empty()) continue;
      storage::ListRequest request;
      request.prefix = folder + "/";
      request.max_keys = 1;
      ARROW_ASSIGN_OR_RAISE(storage::ListPage page, data_folder->List(context, request));
      if (page.objects.empty()) continue;
      if (!Uuid::Parse(dataset).ok() || readable.find(dataset) == std::string::npos) {
        return Error(ErrorCode::kPermissionDenied,
                     "a table may read files of its own folder and of those that it is a clone of, "
                     "not of others: '{}' names {}",
                     name, path);
      }
      return storage::MakePrefixStore(data_folder, folder);
    }
    return Error(ErrorCode::kUnsupported,
                 "files of a table lie in a folder outside of the data folder, which is not "
                 "opened: {}",
                 path);
  };
}

}  // namespace lake::commit
