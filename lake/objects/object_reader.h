#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lake/base/unique_fd.h"
#include "lake/objects/posix_calls.h"
#include "lake/objects/stage.h"

namespace lake::objects {

/// An object that was opened for reading, and how to speak of it.
struct OpenedObject {
  UniqueFd fd;
  /// For error texts.
  std::string uri;
  PosixCalls* calls = nullptr;
};

/// A stream over the whole object, as Stage::Open promises. The last bytes are handed out only
/// after the end was probed and the digest compared, so that a caller who stops after `size_bytes`
/// is safe, too.
std::unique_ptr<ByteReader> MakeVerifiedReader(const Context& context, OpenedObject object,
                                               uint64_t size_bytes, std::string sha256);

/// A stream over [start, end), as Stage::OpenRange promises.
std::unique_ptr<ByteReader> MakeRangeReader(const Context& context, OpenedObject object,
                                            uint64_t start, uint64_t end);

}  // namespace lake::objects
