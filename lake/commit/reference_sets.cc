#include "lake/commit/reference_sets.h"

namespace lake::commit {

Result<std::vector<std::string>> WriteReferenceSets(const Context& context,
                                                    storage::ObjectStore* store,
                                                    const std::vector<table::Fragment>& fragments) {
  return std::vector<std::string>();
}

}  // namespace lake::commit
