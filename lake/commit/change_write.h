#pragma once

#include <memory>
#include <set>
#include <string>

#include "lake/commit/lakehouse.h"
#include "lake/commit/lakehouse_core.h"

namespace lake::commit {

/// Lakehouse::ChangeRows.
Result<std::unique_ptr<ChangeWrite>> StartChangeRows(const Context& context,
                                                     std::shared_ptr<LakehouseCore> core,
                                                     const catalog::Principal& principal,
                                                     std::shared_ptr<const OpenTable> table,
                                                     const std::set<std::string>& changed_columns,
                                                     const WriteOptions& options);

}  // namespace lake::commit
