#pragma once

#include <string_view>

namespace lake::commit {

/// Reads `bytes` as a lake.json and checks what comes out. Any input must pass; a failed check ends
/// the process.
void DecodeIdentityInput(std::string_view bytes);

}  // namespace lake::commit
