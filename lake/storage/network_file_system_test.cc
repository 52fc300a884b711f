#include "lake/storage/network_file_system.h"

#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/storage/local_store.h"

namespace lake::storage {
namespace {

TEST(NetworkFileSystemTest, NetworkOnesAreNamed) {
  const struct {
    uint64_t magic;
    const char* mount_type;
    const char* name;
  } cases[] = {
      {0x6969, "nfs4", "nfs"},
      {0xFF534D42, "cifs", "cifs"},
      {0xFE534D42, "cifs", "smb3"},
      {0x00C36400, "ceph", "ceph"},
      {0x01021997, "9p", "9p"},
      {0x0BD00BD0, "lustre", "lustre"},
      {0x65735546, "fuse.sshfs", "fuse.sshfs"},
      {0x65735546, "fuse.s3fs", "fuse.s3fs"},
      {0x65735546, "fuse.glusterfs", "fuse.glusterfs"},
  };
  for (const auto& expected : cases) {
    EXPECT_EQ(NetworkFileSystemName(expected.magic, expected.mount_type), expected.name);
  }
}

TEST(NetworkFileSystemTest, LocalOnesAreNot) {
  const struct {
    uint64_t magic;
    const char* mount_type;
  } cases[] = {
      {0xEF53, "ext4"},         {0x58465342, "xfs"},
      {0x9123683E, "btrfs"},    {0x01021994, "tmpfs"},
      {0x794C7630, "overlay"},  {0x2FC12FC1, "zfs"},
      {0x65735546, "fuseblk"},  {0x65735546, "fuse.fuse-overlayfs"},
      {0x65735546, "virtiofs"},
  };
  for (const auto& expected : cases) {
    EXPECT_EQ(NetworkFileSystemName(expected.magic, expected.mount_type), "")
        << expected.mount_type;
  }
}

TEST(NetworkFileSystemTest, TheDiskOfTheTestsIsLocal) {
  TestFolder folder;
  Status status = RefuseNetworkFileSystem(folder.path());
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(CodeOf(RefuseNetworkFileSystem(folder / "missing")), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace lake::storage
