#include "lake/objects/file_uri.h"

#include <algorithm>
#include <cstdint>

namespace lake::objects {
namespace {

constexpr std::string_view kScheme = "file://";
constexpr size_t kShownBytes = 200;

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// RFC 3986 §2.3.
bool IsUnreserved(char c) {
  return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// RFC 3986 §3.3: pchar without the escapes.
bool IsPathCharacter(char c) {
  return IsUnreserved(c) || std::string_view("!$&'()*+,;=:@").find(c) != std::string_view::npos;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AppendEscaped(char c, std::string* out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  auto byte = static_cast<uint8_t>(c);
  out->push_back('%');
  out->push_back(kHex[byte >> 4]);
  out->push_back(kHex[byte & 15]);
}

Status BadUri(std::string_view uri, std::string_view reason) {
  return Error(ErrorCode::kInvalidArgument, "not a usable file URI, {}: '{}'", reason,
               RedactedUri(uri));
}

// Decodes one path segment behind a '/'.
Result<std::string> DecodeSegment(std::string_view uri, std::string_view segment) {
  std::string decoded;
  decoded.reserve(segment.size());
  for (size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] != '%') {
      if (!IsPathCharacter(segment[i])) return BadUri(uri, "a character in it must be escaped");
      decoded.push_back(segment[i]);
      continue;
    }
    bool complete = segment.size() - i > 2;
    int high = complete ? HexValue(segment[i + 1]) : -1;
    int low = complete ? HexValue(segment[i + 2]) : -1;
    if (high < 0 || low < 0) return BadUri(uri, "'%' is not followed by two hexadecimal digits");
    char byte = static_cast<char>(high << 4 | low);
    if (byte == '\0' || byte == '/') return BadUri(uri, "it escapes a '/' or a NUL byte");
    decoded.push_back(byte);
    i += 2;
  }
  if (decoded.empty()) return BadUri(uri, "it has an empty path segment");
  if (decoded == "." || decoded == "..") return BadUri(uri, "it has a '.' or '..' segment");
  return decoded;
}

}  // namespace

std::string FileUriFromPath(const std::string& path) {
  std::string_view kept = path;
  while (kept.size() > 1 && kept.back() == '/') kept.remove_suffix(1);
  std::string uri(kScheme);
  for (char c : kept) {
    if (c == '/' || IsUnreserved(c)) {
      uri.push_back(c);
    } else {
      AppendEscaped(c, &uri);
    }
  }
  return uri;
}

Result<std::string> PathFromFileUri(const std::string& uri) {
  std::string_view rest = uri;
  if (!rest.starts_with(kScheme)) return BadUri(uri, "it does not start with 'file://'");
  rest.remove_prefix(kScheme.size());
  if (rest.find('?') != std::string_view::npos) return BadUri(uri, "it has a query");
  if (rest.find('#') != std::string_view::npos) return BadUri(uri, "it has a fragment");
  if (rest.empty() || rest.front() != '/')
    return BadUri(uri, "it names a host or no absolute path");
  if (rest == "/") return std::string("/");

  std::string path;
  path.reserve(rest.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    size_t end = std::min(rest.find('/'), rest.size());
    ARROW_ASSIGN_OR_RAISE(std::string segment, DecodeSegment(uri, rest.substr(0, end)));
    path.push_back('/');
    path.append(segment);
    rest.remove_prefix(end);
  }
  return path;
}

std::string RedactedUri(std::string_view uri) {
  std::string_view kept = uri.substr(0, uri.find_first_of("?#"));
  bool cut = kept.size() != uri.size();
  size_t authority = kept.find("://");
  size_t userinfo_end = std::string_view::npos;
  if (authority != std::string_view::npos) {
    authority += 3;
    size_t path = std::min(kept.find('/', authority), kept.size());
    userinfo_end = kept.substr(authority, path - authority).rfind('@');
  }
  std::string shown;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (shown.size() >= kShownBytes) {
      cut = true;
      break;
    }
    if (userinfo_end != std::string_view::npos && i >= authority && i < authority + userinfo_end) {
      if (i == authority) shown.append("...");
      continue;
    }
    char c = kept[i];
    if (static_cast<uint8_t>(c) < 0x20 || static_cast<uint8_t>(c) >= 0x7F || c == '\'') {
      AppendEscaped(c, &shown);
    } else {
      shown.push_back(c);
    }
  }
  if (cut) shown.append("...");
  return shown;
}

}  // namespace lake::objects
