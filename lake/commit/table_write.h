#pragma once

#include <map>
#include <memory>
#include <string>

#include "lake/commit/lakehouse.h"
#include "lake/commit/lakehouse_core.h"

namespace arrow {
class Schema;
}

namespace lake::commit {

/// Lakehouse::Append.
Result<std::unique_ptr<TableWrite>> StartAppend(const Context& context,
                                                std::shared_ptr<LakehouseCore> core,
                                                const catalog::Principal& principal,
                                                std::shared_ptr<const OpenTable> table,
                                                const WriteOptions& options);

/// Lakehouse::Replace.
Result<std::unique_ptr<TableWrite>> StartReplace(const Context& context,
                                                 std::shared_ptr<LakehouseCore> core,
                                                 const catalog::Principal& principal,
                                                 std::shared_ptr<const OpenTable> table,
                                                 const arrow::Schema& schema,
                                                 const WriteOptions& options);

/// Lakehouse::Create.
Result<std::unique_ptr<TableWrite>> StartCreate(
    const Context& context, std::shared_ptr<LakehouseCore> core,
    const catalog::Principal& principal, const catalog::QualifiedName& name,
    const arrow::Schema& schema, const std::map<std::string, std::string>& properties,
    const WriteOptions& options);

}  // namespace lake::commit
