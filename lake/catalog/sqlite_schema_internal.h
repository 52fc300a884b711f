#pragma once

#include "lake/base/context.h"
#include "lake/catalog/sqlite_internal.h"

namespace lake::catalog::sqlite {

/// The schema version that this program reads and writes (docs/catalog.md).
int CurrentSchemaVersion();

/// Brings the database to CurrentSchemaVersion in one exclusive transaction; nothing to do if it is
/// there already. kUnsupported if it is newer; kInvalidArgument if the file is another program's
/// database.
Status Migrate(const Context& context, Connection* connection);

}  // namespace lake::catalog::sqlite
