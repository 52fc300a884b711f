#include "lake/objects/containment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::objects {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const char kStage[] = "file:///srv/my%20lake/managed-objects";
const char kName[] = "01932c07-a3d5-7abc-8def-0123456789ab";

Status Check(const std::string& uri) { return ObjectNameInStage(kStage, "default", uri).status(); }

TEST(ContainmentTest, ANameInTheStageIsFound) {
  std::string uri = std::string(kStage) + "/tenants/default/" + kName;
  EXPECT_EQ(ObjectNameInStage(kStage, "default", uri).ValueOrDie(), kName);
}

// DS-09, DS-10, DS-11, MO-08, I-14: everything else is refused, without any I/O (this is a pure
// function).
TEST(ContainmentTest, EverythingElseIsRefused) {
  std::string stage = kStage;
  std::string name = kName;
  std::string good = stage + "/tenants/default/" + name;
  const std::string uris[] = {
      "",
      name,
      "/srv/my lake/managed-objects/tenants/default/" + name,
      "file:///etc/passwd",
      "https://host/tenants/default/" + name,
      // The prefix ends on a segment boundary.
      stage + "2/tenants/default/" + name,
      stage + "/tenants/default2/" + name,
      stage + "/tenants2/default/" + name,
      stage + "/tenants/" + name,
      stage + "/" + name,
      stage + "/tenants/default",
      stage + "/tenants/default/",
      stage,
      // Another tenant.
      stage + "/tenants/other/" + name,
      stage + "/tenants/Default/" + name,
      // Traversal, plain and escaped.
      stage + "/tenants/default/../default/" + name,
      stage + "/tenants/other/../default/" + name,
      stage + "/tenants/default/./" + name,
      stage + "/tenants/default//" + name,
      stage + "/tenants/default/%2e%2e/default/" + name,
      stage + "/tenants/default%2F" + name,
      stage + "/tenants/default/..%2Fother%2F" + name,
      // One object has one spelling.
      stage + "/tenants/%64efault/" + name,
      "file:///srv/my%20lake/managed%2Dobjects/tenants/default/" + name,
      "FILE" + good.substr(4),
      stage + "/tenants/default/01932C07-A3D5-7ABC-8DEF-0123456789AB",
      // Query, fragment, authority.
      good + "?versionId=1",
      good + "#t=1",
      "file://host" + good.substr(7),
      "file://user:secret@" + good.substr(7),
      // Not a name of ours: version 4, a wrong variant, more segments, a suffix, a prefix.
      stage + "/tenants/default/01932c07-a3d5-4abc-8def-0123456789ab",
      stage + "/tenants/default/01932c07-a3d5-7abc-0def-0123456789ab",
      good + "/x",
      good + ".tmp",
      good + "%00",
      stage + "/tenants/default/." + name,
      stage + "/tenants/default/upload-" + name,
  };
  for (const std::string& uri : uris) {
    Status status = Check(uri);
    ASSERT_FALSE(status.ok()) << uri;
    EXPECT_EQ(CodeOf(status), ErrorCode::kPermissionDenied) << uri << ": " << status.ToString();
    EXPECT_THAT(status.ToString(), Not(HasSubstr("secret")));
  }
}

// DS-09: the S3 part keeps its place and is refused by name.
TEST(ContainmentTest, S3IsRefusedByName) {
  Status status = Check("s3://key:secret@bucket/managed-objects/tenants/default/x");
  EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported);
  EXPECT_THAT(status.ToString(), HasSubstr("S3"));
  EXPECT_THAT(status.ToString(), Not(HasSubstr("secret")));
}

TEST(ContainmentTest, TenantNamesAreChecked) {
  for (const char* good : {"default", "a", "A-1_b", "0"})
    EXPECT_TRUE(CheckTenant(good).ok()) << good;
  for (std::string bad :
       {std::string(), std::string(".."), std::string("a/b"), std::string("-a"), std::string("a_"),
        std::string("a b"), std::string("ä"), std::string(65, 'a')}) {
    EXPECT_EQ(CodeOf(CheckTenant(bad)), ErrorCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace lake::objects
