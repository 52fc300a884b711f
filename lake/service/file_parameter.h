#pragma once

#include <cstdint>
#include <string>

#include "lake/base/error.h"

namespace lake::service {

/// A file that a user names as the value of a FILE parameter.
struct FileParameter {
  std::string path;
  std::string content_type;
  uint64_t size_bytes = 0;
};

/// Reads `file:PATH` or `file:PATH;type=TYPE/SUBTYPE` and looks at the file: kInvalidArgument if
/// the text has another form or the file is not regular, kNotFound, kPermissionDenied. The content
/// type is guessed from the name where it is not given.
Result<FileParameter> ParseFileParameter(const std::string& text);

}  // namespace lake::service
