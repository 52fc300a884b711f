#pragma once

#include <string_view>

#include <sys/stat.h>

#include "lake/base/error.h"
#include "lake/base/unique_fd.h"

namespace lake::storage {

/// Opens the folder `folder` (segments of a key; "" is the root itself) below the folder `root`,
/// without ever following a symbolic link: kPermissionDenied for one, kNotFound if there is no such
/// folder.
Result<UniqueFd> OpenFolder(int root, std::string_view folder);

/// The same, and makes what is missing with mode 0700. kInvalidArgument if a part of it is an
/// object.
Result<UniqueFd> MakeFolder(int root, std::string_view folder);

/// Opens the object `key` for reading in one call, over no symbolic link; not valid if that fails,
/// for whatever reason: OpenFolderOf and the steps behind it tell which.
UniqueFd TryOpenFile(int root, std::string_view key);

/// OpenFolder of the folder that the object `key` is in; an error names the object.
Result<UniqueFd> OpenFolderOf(int root, std::string_view key);

/// Stats the object `key` below `root`. kNotFound if it is missing or a folder, kPermissionDenied
/// if it is a symbolic link, kUnsupported if it is no regular file.
Result<struct stat> StatObject(int root, std::string_view key);

/// The same in `folder`, which OpenFolderOf opened for the key.
Result<struct stat> StatObjectIn(int folder, std::string_view key);

}  // namespace lake::storage
