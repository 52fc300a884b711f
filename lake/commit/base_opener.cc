#include <string_view>

#include "lake/commit/lakehouse_core.h"

namespace lake::commit {

table::BaseOpener MakeBaseOpener(std::shared_ptr<storage::ObjectStore> data_folder) {
  return [data_folder = std::move(data_folder)](
             const Context& context,
             const std::string& path) -> Result<std::shared_ptr<storage::ObjectStore>> {
    const std::string mark = "/" + std::string(kTablesFolder) + "/";
    for (size_t at = path.find(mark); at != std::string::npos; at = path.find(mark, at + 1)) {
      const std::string folder = path.substr(at + 1);
      if (!storage::CheckKey(folder).ok() || folder.find(".lance") == std::string::npos) continue;
      storage::ListRequest request;
      request.prefix = folder + "/";
      request.max_keys = 1;
      ARROW_ASSIGN_OR_RAISE(storage::ListPage page, data_folder->List(context, request));
      if (!page.objects.empty()) return storage::MakePrefixStore(data_folder, folder);
    }
    return Error(ErrorCode::kUnsupported,
                 "files of a table lie in a folder outside of the data folder, which is not "
                 "opened: {}",
                 path);
  };
}

}  // namespace lake::commit
