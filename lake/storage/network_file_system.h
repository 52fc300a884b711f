#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lake::storage {

/// The name of the network file system that a mount is, or "" if it is a local one. `magic` is
/// statfs's f_type; `mount_type` is the type in /proc/self/mountinfo, which alone tells FUSE file
/// systems apart.
std::string NetworkFileSystemName(uint64_t magic, std::string_view mount_type);

}  // namespace lake::storage
