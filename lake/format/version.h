#pragma once

#include <cstdint>
#include <string>

#include "lake/base/error.h"

namespace lake::format {

/// A Lance file version as the manifest writes it: 2.0, 2.1, 2.2, 2.3. The footer of a 2.0 file
/// says (0, 3); FromFooter knows that.
struct FileVersion {
  uint16_t major = 2;
  uint16_t minor = 2;

  /// "2.2"
  std::string ToString() const;

  /// Reads "2.2"; kInvalidArgument for other text.
  static Result<FileVersion> Parse(const std::string& text);

  /// The version that a footer means by its two numbers.
  static FileVersion FromFooter(uint16_t major, uint16_t minor);

  auto operator<=>(const FileVersion&) const = default;
};

inline constexpr FileVersion kFileVersion20{2, 0};
inline constexpr FileVersion kFileVersion21{2, 1};
inline constexpr FileVersion kFileVersion22{2, 2};
inline constexpr FileVersion kFileVersion23{2, 3};

/// True for the versions that FileWriter writes: 2.1 and 2.2.
bool IsWritten(const FileVersion& version);

/// OK for the versions that FileReader reads (2.0, 2.1, 2.2, and 2.3 in part); else kUnsupported,
/// naming version and `file`.
Status CheckReadable(FileVersion version, const std::string& file);

}  // namespace lake::format
