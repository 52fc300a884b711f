#include "lake/commit/reference_sets.h"

namespace lake::commit {

Result<std::vector<std::string>> WriteReferenceSets(const Context& context,
                                                    storage::ObjectStore* store,
                                                    const table::Transaction& transaction) {
  return std::vector<std::string>();
}

}  // namespace lake::commit
