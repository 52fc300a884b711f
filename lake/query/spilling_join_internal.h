#pragma once

#include <string>

#include <duckdb.hpp>
#include <duckdb/execution/physical_operator.hpp>
#include <duckdb/execution/physical_plan_generator.hpp>

namespace lake::query {

/// `plan` with joins that need little memory in place of the hash joins at its top: those that only
/// projections, filters and other such joins stand above. What does not fit waits in files without
/// a name in `folder`, which exists. Joins of other kinds than inner, left, right and full stay.
duckdb::PhysicalOperator& WithSpillingJoins(duckdb::ClientContext& context,
                                            duckdb::PhysicalPlanGenerator& planner,
                                            duckdb::PhysicalOperator& plan,
                                            const std::string& folder);

}  // namespace lake::query
