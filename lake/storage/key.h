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

/// Sync takes folders, too: "a/b/" is folder "a/b".
inline bool IsFolder(std::string_view key) { return key.size() > 1 && key.ends_with('/'); }
inline std::string_view FolderName(std::string_view key) { return key.substr(0, key.size() - 1); }

}  // namespace lake::storage
