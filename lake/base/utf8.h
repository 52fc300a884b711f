#pragma once

#include <string_view>

namespace lake {

/// True if `text` is well-formed UTF-8: no overlong forms, surrogates or code points above
/// U+10FFFF.
bool IsValidUtf8(std::string_view text);

}  // namespace lake
