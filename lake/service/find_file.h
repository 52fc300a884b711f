#pragma once

#include <string>

#include "lake/objects/data_location.h"
#include "lake/service/workspace.h"

namespace lake::service {

/// The FILE value in `column` of the one row of `table` that the SQL condition `where` holds for.
/// kNotFound if there is none or the value is NULL; kInvalidArgument if there are several, or
/// `where` is not one condition.
Result<objects::DataLocation> FindFile(const Context& context, Workspace* workspace,
                                       const std::string& table, const std::string& column,
                                       const std::string& where);

}  // namespace lake::service
