#pragma once

#include <cstdint>

#include "lake/base/error.h"
#include "lake/table/table.pb.h"

namespace lake::table {

/// Stable row ids: gives the rows of a new fragment behind those that have ids new ones from
/// `*next_row_id` on, and all rows versions: made in `version` unless the fragment says otherwise,
/// changed in `version`.
Status AssignRowIds(uint64_t version, uint64_t* next_row_id, pb::DataFragment* fragment);

/// Marks all rows of a fragment as changed in `version`.
void MarkUpdated(uint64_t version, pb::DataFragment* fragment);

}  // namespace lake::table
