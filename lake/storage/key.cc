#include "lake/storage/key.h"

#include "lake/base/utf8.h"
#include "lake/storage/object_store.h"

namespace lake::storage {
namespace {

std::string_view SegmentFault(std::string_view segment) {
  if (segment.empty()) return "it has an empty segment";
  if (segment == "." || segment == "..") return "it has a '.' or '..' segment";
  if (segment.starts_with(kTemporaryPrefix)) return "it has a segment reserved for temporaries";
  return {};
}

std::string_view KeyFault(std::string_view key) {
  if (key.empty()) return "it is empty";
  if (key.find('\0') != std::string_view::npos) return "it holds a NUL byte";
  if (!IsValidUtf8(key)) return "it is not UTF-8";
  size_t begin = 0;
  while (true) {
    size_t end = key.find('/', begin);
    std::string_view segment = key.substr(begin, end == key.npos ? key.npos : end - begin);
    if (std::string_view fault = SegmentFault(segment); !fault.empty()) return fault;
    if (end == key.npos) return {};
    begin = end + 1;
  }
}

}  // namespace

bool IsValidKey(std::string_view key) { return KeyFault(key).empty(); }

Status CheckKey(std::string_view key) {
  std::string_view fault = KeyFault(key);
  if (fault.empty()) return Status::OK();
  // Bytes that are not UTF-8 must not get into texts.
  if (!IsValidUtf8(key)) return Error(ErrorCode::kInvalidArgument, "not a valid key: {}", fault);
  return Error(ErrorCode::kInvalidArgument, "not a valid key: {}: '{}'", fault, key);
}

KeyParts SplitKey(std::string_view key) {
  size_t slash = key.rfind('/');
  if (slash == key.npos) return {std::string_view(), key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

}  // namespace lake::storage
