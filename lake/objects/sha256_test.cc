#include "lake/objects/sha256.h"

#include <gtest/gtest.h>

namespace lake::objects {
namespace {

// FIPS 180-2, appendix B, and the digest of nothing.
TEST(Sha256Test, KnownDigests) {
  Sha256 empty;
  EXPECT_EQ(empty.Finish(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 abc;
  abc.Update(std::string_view("a"));
  abc.Update(std::string_view("bc"));
  EXPECT_EQ(abc.Finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 million;
  for (int i = 0; i < 1000; ++i) million.Update(std::string(1000, 'a'));
  EXPECT_EQ(million.Finish(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace lake::objects
