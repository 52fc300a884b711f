#pragma once

#include <vector>

#include "lake/format/schema.h"
#include "lake/format/testing/fixtures.h"

namespace lake::format {

/// Small files of lake's own for what the fixtures hold nothing of, or only in large: packed
/// structs of the fields that page inputs have, and full-zip lists. Only `name` and `bytes` are
/// set.
std::vector<Fixture> WrittenFiles();

/// Schemas of the rarer types, which need no file.
std::vector<Schema> RareSchemas();

}  // namespace lake::format
