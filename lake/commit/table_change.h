#pragma once

#include <memory>

#include "lake/commit/lakehouse.h"
#include "lake/commit/lakehouse_core.h"

namespace lake::commit {

/// Lakehouse::Change.
Result<CommitOutcome> ChangeTable(const Context& context, std::shared_ptr<LakehouseCore> core,
                                  const catalog::Principal& principal,
                                  std::shared_ptr<const OpenTable> table, const ChangeMaker& make,
                                  const WriteOptions& options);

}  // namespace lake::commit
