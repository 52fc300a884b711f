#pragma once

#include <string_view>

namespace lake::storage {

/// Names that start with this are unpublished bytes: no key may use them and no listing shows them.
inline constexpr std::string_view kTemporaryPrefix = ".tmp-lake-";

/// What CheckKey (object_store.h) tells, without a text.
bool IsValidKey(std::string_view key);

/// "a/b/c" is folder "a/b" and name "c"; a key without '/' has the folder "".
struct KeyParts {
  std::string_view folder;
  std::string_view name;
};
KeyParts SplitKey(std::string_view key);

}  // namespace lake::storage
