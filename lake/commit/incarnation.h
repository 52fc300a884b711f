#pragma once

#include <memory>

#include "lake/base/context.h"
#include "lake/catalog/types.h"
#include "lake/storage/object_store.h"
#include "lake/table/manifest.h"

namespace lake::commit {

/// The key of a table's metadata that holds the incarnation of its row.
inline constexpr char kIncarnationKey[] = "lake.incarnation";

/// OK if `newest`, the newest version in the entry's folder, belongs to the entry: it carries the
/// entry's incarnation, or version 1 is provably the one that the entry's creation made. Else
/// kTableReplaced. `store` is rooted at the table's folder.
Status CheckIncarnation(const Context& context, const catalog::Entry& entry,
                        storage::ObjectStore* store, const table::Manifest& newest);

/// kTableReplaced for an entry whose folder holds no table.
Status TableMissing(const catalog::Entry& entry);

}  // namespace lake::commit
