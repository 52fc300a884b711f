#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lake/base/context.h"
#include "lake/objects/stage.h"

namespace lake::service {

/// The bytes from `start` up to and without `end`.
struct HalfOpenRange {
  uint64_t start = 0;
  uint64_t end = 0;
};

/// Reads "A..B": two decimal numbers, kInvalidArgument for anything else and for A >= B.
Result<HalfOpenRange> ParseRange(std::string_view text);

struct GetFileOptions {
  /// Where the bytes go: "-" is standard output; a path that is no regular file (a FIFO, /dev/null)
  /// is written in place; any other is replaced as a whole once all bytes are there.
  std::string output;
  /// Without it the whole object is read and verified.
  std::optional<HalfOpenRange> range = {};
  /// Called with the number of bytes written since the last call. May be empty.
  std::function<void(uint64_t bytes)> progress = {};
};

struct GetFileResult {
  uint64_t bytes = 0;
  /// The reader at the other end of a pipe went away: the rest was not written, and that is fine.
  bool output_closed = false;
};

/// Copies a managed object, or a range of it, to a file or to standard output. On error an output
/// file is as it was before. What a damaged object wrote to standard output before the damage was
/// seen stays there; the error is the result.
Result<GetFileResult> GetFile(const Context& context, objects::Stage* stage,
                              const objects::DataLocation& location, const GetFileOptions& options);

}  // namespace lake::service
