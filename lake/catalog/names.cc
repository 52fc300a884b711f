#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <utf8proc.h>

#include "lake/catalog/types.h"

namespace lake::catalog {
namespace {

constexpr size_t kMaxNameBytes = 255;
// Longer input is refused before it is looked at; NFC never makes text shorter than a third.
constexpr size_t kMaxInputBytes = 4 * kMaxNameBytes;
constexpr size_t kMaxFolderBytes = 200;

Result<std::string> Mapped(const std::string& name, int options) {
  if (name.size() > kMaxInputBytes) {
    return Error(ErrorCode::kInvalidArgument, "name is too long: {} bytes, at most {} are allowed",
                 name.size(), kMaxNameBytes);
  }
  utf8proc_uint8_t* mapped = nullptr;
  utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(name.data()),
                   static_cast<utf8proc_ssize_t>(name.size()), &mapped,
                   static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
  if (size == UTF8PROC_ERROR_INVALIDUTF8) {
    return Error(ErrorCode::kInvalidArgument, "name is not valid UTF-8 ({} bytes)", name.size());
  }
  if (size < 0) {
    return Error(ErrorCode::kInvalidArgument, "name cannot be normalised: {}",
                 utf8proc_errmsg(size));
  }
  return std::string(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
}

bool HasControlCharacter(std::string_view name) {
  auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(name.data());
  auto left = static_cast<utf8proc_ssize_t>(name.size());
  while (left > 0) {
    utf8proc_int32_t code_point;
    utf8proc_ssize_t used = utf8proc_iterate(bytes, left, &code_point);
    if (used <= 0 || utf8proc_category(code_point) == UTF8PROC_CATEGORY_CC) return true;
    bytes += used;
    left -= used;
  }
  return false;
}

bool IsReserved(std::string_view folded, std::string_view what) {
  if (folded.starts_with("__") || folded.starts_with("_lake")) return true;
  if (what == "namespace") {
    constexpr std::array<std::string_view, 4> kNamespaces = {"information_schema", "pg_catalog",
                                                             "temp", "system"};
    return std::find(kNamespaces.begin(), kNamespaces.end(), folded) != kNamespaces.end();
  }
  if (what == "column") {
    return folded.starts_with("_row") || folded == "_distance" || folded == "_score";
  }
  return false;
}

}  // namespace

Result<std::string> NormalizedName(const std::string& name) { return Mapped(name, 0); }

Result<std::string> FoldedName(const std::string& name) { return Mapped(name, UTF8PROC_CASEFOLD); }

Result<std::string> CheckedName(const std::string& name, const char* what) {
  Result<std::string> mapped = NormalizedName(name);
  if (!mapped.ok()) return WithContext(mapped.status(), what);
  std::string normal = *std::move(mapped);
  if (normal.empty()) {
    return Error(ErrorCode::kInvalidArgument, "{}: name is empty", what);
  }
  if (normal.size() > kMaxNameBytes) {
    return Error(ErrorCode::kInvalidArgument,
                 "{}: name is too long: {} bytes, at most {} are allowed", what, normal.size(),
                 kMaxNameBytes);
  }
  if (HasControlCharacter(normal)) {
    return Error(ErrorCode::kInvalidArgument, "{}: name holds a control character", what);
  }
  if (normal.find('/') != std::string::npos) {
    return Error(ErrorCode::kInvalidArgument, "{}: name holds a '/': '{}'", what, normal);
  }
  ARROW_ASSIGN_OR_RAISE(std::string folded, FoldedName(normal));
  if (IsReserved(folded, what)) {
    return Error(ErrorCode::kInvalidArgument, "{}: name is reserved, choose another: '{}'", what,
                 normal);
  }
  return normal;
}

std::string FolderName(const std::string& name) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string folder;
  for (char c : name) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '_' || c == '-';
    if (folder.size() + (plain ? 1 : 3) > kMaxFolderBytes) break;
    if (plain) {
      folder.push_back(c);
    } else {
      auto byte = static_cast<unsigned char>(c);
      folder.push_back('%');
      folder.push_back(kHex[byte >> 4]);
      folder.push_back(kHex[byte & 15]);
    }
  }
  return folder;
}

}  // namespace lake::catalog
