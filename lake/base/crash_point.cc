#include "lake/base/crash_point.h"

#ifndef NDEBUG

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string>

namespace lake {
namespace {

struct Target {
  std::string name;
  int pass = 1;
};

const Target& KillTarget() {
  static const Target target = [] {
    Target parsed;
    const char* text = std::getenv("LAKE_TEST_KILL_AT");
    if (text == nullptr) return parsed;
    parsed.name = text;
    size_t colon = parsed.name.rfind(':');
    if (colon != std::string::npos) {
      std::from_chars(parsed.name.data() + colon + 1, parsed.name.data() + parsed.name.size(),
                      parsed.pass);
      parsed.name.resize(colon);
    }
    return parsed;
  }();
  return target;
}

}  // namespace

void CrashPoint(std::string_view name) {
  const Target& target = KillTarget();
  if (target.name.empty() || target.name != name) return;
  static std::atomic<int> passes{0};
  if (++passes == target.pass) std::raise(SIGKILL);
}

}  // namespace lake

#endif  // NDEBUG
