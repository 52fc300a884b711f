#pragma once

#include <memory>

#include "lake/commit/lakehouse.h"
#include "lake/commit/lakehouse_core.h"

namespace lake::commit {

/// Lakehouse::StartChange.
Result<std::unique_ptr<TableChange>> StartTableChange(const Context& context,
                                                      std::shared_ptr<LakehouseCore> core,
                                                      const catalog::Principal& principal,
                                                      std::shared_ptr<const OpenTable> table,
                                                      const WriteOptions& options);

/// Works `change` out and commits it, again and again where another commit came first.
Result<CommitOutcome> RunChange(const Context& context, TableChange* change,
                                const ChangeMaker& make);

}  // namespace lake::commit
