#include <charconv>
#include <limits>

#include "lake/table/manifest.h"

namespace lake::table {

namespace {

constexpr std::string_view kSuffix = ".manifest";
constexpr size_t kV2Digits = 20;

}  // namespace

std::string ManifestName(uint64_t version, ManifestNaming naming) {
  if (naming == ManifestNaming::kV1) return fmt::format("{}{}", version, kSuffix);
  return fmt::format("{:020}{}", std::numeric_limits<uint64_t>::max() - version, kSuffix);
}

std::optional<ParsedManifestName> ParseManifestName(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  if (name.empty() || name.size() > kV2Digits) return std::nullopt;
  uint64_t number = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;

  ParsedManifestName parsed{number, ManifestNaming::kV1};
  if (name.size() == kV2Digits) {
    parsed = {std::numeric_limits<uint64_t>::max() - number, ManifestNaming::kV2};
  } else if (name.front() == '0') {
    return std::nullopt;
  }
  if (parsed.version == 0 || parsed.version > kLastVersion) return std::nullopt;
  return parsed;
}

}  // namespace lake::table
