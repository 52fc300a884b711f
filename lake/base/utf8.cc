#include "lake/base/utf8.h"

#include <arrow/util/utf8.h>

namespace lake {

bool IsValidUtf8(std::string_view text) {
  // Arrow fills its tables on this call; the static makes that happen once.
  static const bool initialized = [] {
    arrow::util::InitializeUTF8();
    return true;
  }();
  return initialized && arrow::util::ValidateUTF8(text);
}

}  // namespace lake
