#pragma once

#include <string_view>

namespace lake::catalog::sqlite {

/// Reads `bytes`, the columns of a tombstone one a line, as a row of the metastore, and checks what
/// comes out. Any input must pass; a failed check ends the process.
void DecodeRowInput(std::string_view bytes);

}  // namespace lake::catalog::sqlite
