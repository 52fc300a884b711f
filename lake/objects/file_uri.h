#pragma once

#include <string>
#include <string_view>

#include "lake/base/error.h"

namespace lake::objects {

/// The `file://` URI of an absolute path, with RFC 3986 escapes: every byte but the unreserved ones
/// and
/// '/' becomes %XX, so that a path has exactly one URI. Trailing '/' are dropped.
std::string FileUriFromPath(const std::string& path);

/// The path of a `file://` URI; escapes are decoded exactly once. kInvalidArgument for another
/// scheme, an authority, a query, a fragment, a malformed escape, an escaped '/' or NUL, an empty,
/// "." or ".." segment, or a byte that RFC 3986 does not allow. Any input is safe.
Result<std::string> PathFromFileUri(const std::string& uri);

/// `uri` as it may stand in an error text or a log: without userinfo, query and fragment (where
/// credentials and signatures live), control characters and quotes escaped, cut at 200 bytes.
std::string RedactedUri(std::string_view uri);

}  // namespace lake::objects
