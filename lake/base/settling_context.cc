#include "lake/base/settling_context.h"

#include <limits>

namespace lake {

Context SettlingContext(const Context& context) {
  Context settling = context;
  settling.cancel = CancelToken();
  settling.deadline = std::numeric_limits<int64_t>::max();
  return settling;
}

}  // namespace lake
