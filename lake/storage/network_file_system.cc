#include "lake/storage/network_file_system.h"

#include <cerrno>
#include <fstream>
#include <sstream>

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "lake/base/posix_error.h"
#include "lake/storage/local_store.h"

namespace lake::storage {
namespace {

struct Magic {
  uint32_t value;
  std::string_view name;
};

// Values of linux/magic.h and, where they are not in the kernel, of the projects themselves.
constexpr Magic kNetworkMagics[] = {
    {0x00006969, "nfs"},    {0x0000517B, "smb"},   {0xFF534D42, "cifs"},   {0xFE534D42, "smb3"},
    {0x5346414F, "afs"},    {0x6B414653, "afs"},   {0x73757245, "coda"},   {0x0000564C, "ncpfs"},
    {0x00C36400, "ceph"},   {0x01021997, "9p"},    {0x0BD00BD0, "lustre"}, {0x47504653, "gpfs"},
    {0x01161970, "gfs2"},   {0x7461636F, "ocfs2"}, {0x19830326, "beegfs"}, {0x20030528, "orangefs"},
    {0x786F4256, "vboxsf"}, {0xAAD7AAEA, "panfs"},
};
constexpr uint32_t kFuseMagic = 0x65735546;

constexpr std::string_view kNetworkFuse[] = {
    "sshfs",    "s3fs",     "glusterfs",    "rclone",    "gcsfuse",   "mountpoint-s3",
    "mount-s3", "ceph",     "juicefs",      "davfs",     "curlftpfs", "smbnetfs",
    "goofys",   "blobfuse", "blobfuse2",    "seaweedfs", "weed",      "mfs",
    "moosefs",  "cvmfs2",   "alluxio-fuse", "hdfs",      "geesefs",
};

/// The type of the mount with device number `device`, such as "ext4" or "fuse.sshfs"; "" if
/// unknown.
std::string MountType(dev_t device) {
  const std::string wanted = fmt::format("{}:{}", major(device), minor(device));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // "36 35 98:0 /root /mount options optional... - type source ..."
    std::istringstream fields(line);
    std::string id, parent, number, field, type;
    fields >> id >> parent >> number;
    if (number != wanted) continue;
    while (fields >> field && field != "-") {
    }
    fields >> type;
    return type;
  }
  return {};
}

}  // namespace

std::string NetworkFileSystemName(uint64_t magic, std::string_view mount_type) {
  if (magic == kFuseMagic) {
    std::string_view kind = mount_type.substr(mount_type.find('.') + 1);
    for (std::string_view name : kNetworkFuse) {
      if (kind == name) return std::string(mount_type);
    }
    return {};
  }
  for (const Magic& known : kNetworkMagics) {
    if (magic == known.value) return std::string(known.name);
  }
  return {};
}

Status RefuseNetworkFileSystem(const std::string& path) {
  struct statfs info;
  struct stat file;
  if (statfs(path.c_str(), &info) != 0 || stat(path.c_str(), &file) != 0) {
    return PosixError(errno, "cannot tell the file system", path);
  }
  // f_type is signed on some architectures; only the low 32 bits carry the number.
  const auto magic = static_cast<uint32_t>(info.f_type);
  const std::string name =
      NetworkFileSystemName(magic, magic == kFuseMagic ? MountType(file.st_dev) : "");
  if (name.empty()) return Status::OK();
  return Error(ErrorCode::kUnsupported,
               "network file systems cannot hold lake's data, since they promise neither locks nor "
               "atomic names; use a local disk, or an object store with the split form: {}: '{}'",
               name, path);
}

}  // namespace lake::storage
