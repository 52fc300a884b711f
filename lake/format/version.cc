#include "lake/format/version.h"

#include <charconv>

namespace lake::format {

std::string FileVersion::ToString() const { return fmt::format("{}.{}", major, minor); }

Result<FileVersion> FileVersion::Parse(const std::string& text) {
  FileVersion version;
  const char* const end = text.data() + text.size();
  const auto [dot, major_error] = std::from_chars(text.data(), end, version.major);
  if (major_error == std::errc() && dot != end && *dot == '.') {
    const auto [rest, minor_error] = std::from_chars(dot + 1, end, version.minor);
    if (minor_error == std::errc() && rest == end) return version;
  }
  return Error(ErrorCode::kInvalidArgument, "not a file version; it must look like 2.2, not '{}'",
               text);
}

FileVersion FileVersion::FromFooter(uint16_t major, uint16_t minor) {
  if (major == 0 && minor == 3) return {2, 0};
  return {major, minor};
}

bool IsWritten(const FileVersion& version) {
  return version == kFileVersion21 || version == kFileVersion22;
}

Status CheckReadable(FileVersion version, const std::string& file) {
  if (version >= kFileVersion20 && version <= kFileVersion23) return Status::OK();
  return Error(ErrorCode::kUnsupported,
               "a file of this Lance version is not read, only 2.0 to 2.3; rewrite it with a newer "
               "writer: version {}, file '{}'",
               version.ToString(), file);
}

}  // namespace lake::format
