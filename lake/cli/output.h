#pragma once

#include <string_view>

#include "lake/base/error.h"

namespace lake::cli {

/// Standard output. A reader that went away (EPIPE) is no failure: the command stops writing and
/// ends quietly, after any commit under way. Not thread-safe.
class Output {
 public:
  /// Writes all of `text`. Once the reader is gone, kCancelled and closed() is true.
  Status Write(std::string_view text);

  bool closed() const { return closed_; }

 private:
  bool closed_ = false;
};

}  // namespace lake::cli
