#include "lake/storage/object_store.h"

#include <iterator>
#include <utility>

namespace lake::storage {

Result<std::vector<ObjectInfo>> ListAll(ObjectStore* store, const Context& context,
                                        const std::string& prefix, bool keys_only) {
  std::vector<ObjectInfo> all;
  ListRequest request;
  request.prefix = prefix;
  request.keys_only = keys_only;
  do {
    ARROW_ASSIGN_OR_RAISE(ListPage page, store->List(context, request));
    if (all.empty()) {
      all = std::move(page.objects);
    } else {
      all.insert(all.end(), std::make_move_iterator(page.objects.begin()),
                 std::make_move_iterator(page.objects.end()));
    }
    request.start_after = std::move(page.next_start_after);
  } while (!request.start_after.empty());
  return all;
}

}  // namespace lake::storage
