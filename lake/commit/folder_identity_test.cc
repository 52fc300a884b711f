#include "lake/commit/folder_identity.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/commit/testing/status_matchers.h"
#include "lake/storage/memory_store.h"

namespace lake::commit {
namespace {

using ::testing::HasSubstr;

constexpr char kUuid[] = "018f0000-0000-7000-8000-000000000001";

TEST(FolderIdentityTest, WhatIsWrittenIsRead) {
  FolderIdentity identity{.deployment_id = *Uuid::Parse(kUuid), .stage_uri = "file:///a%20b"};
  FolderIdentity read = FolderIdentity::Decode(identity.Encode()).ValueOrDie();
  EXPECT_EQ(read.deployment_id, identity.deployment_id);
  EXPECT_EQ(read.stage_uri, identity.stage_uri);
}

TEST(FolderIdentityTest, UnknownMembersAreKept) {
  FolderIdentity identity{.deployment_id = *Uuid::Parse(kUuid), .stage_uri = "file:///a"};
  std::string text = identity.Encode(R"({"later": [1], "stage_uri": "old"})");
  EXPECT_THAT(text, HasSubstr(R"("later":[1])"));
  EXPECT_EQ(FolderIdentity::Decode(text)->stage_uri, "file:///a");
}

TEST(FolderIdentityTest, BadTextIsRefusedByReason) {
  struct Case {
    const char* text;
    ErrorCode code;
    const char* reason;
  };
  const Case cases[] = {
      {"", ErrorCode::kCorrupt, "not JSON"},
      {"{", ErrorCode::kCorrupt, "not JSON"},
      {"[]", ErrorCode::kCorrupt, "not a JSON object"},
      {"{}", ErrorCode::kCorrupt, "format_version"},
      {R"({"format_version": "1"})", ErrorCode::kCorrupt, "format_version"},
      {R"({"format_version": 0})", ErrorCode::kCorrupt, "format_version"},
      {R"({"format_version": 2})", ErrorCode::kUnsupported, "format version 2"},
      {R"({"format_version": 1})", ErrorCode::kCorrupt, "deployment_id"},
      {R"({"format_version": 1, "deployment_id": "x"})", ErrorCode::kCorrupt, "UUID"},
      {R"({"format_version": 1, "deployment_id": "018f0000-0000-7000-8000-000000000001"})",
       ErrorCode::kCorrupt, "stage_uri"},
  };
  for (const Case& c : cases) {
    Status status = FolderIdentity::Decode(c.text).status();
    EXPECT_CODE(c.code, status);
    EXPECT_THAT(status.message(), HasSubstr(c.reason)) << c.text;
  }
}

TEST(FolderIdentityTest, TheFirstCreatorDecides) {
  Context context;
  auto store = storage::MakeMemoryStore();
  EXPECT_FALSE(ReadIdentity(context, store.get())->has_value());
  FolderIdentity first = CreateIdentity(context, store.get(), "file:///first").ValueOrDie();
  FolderIdentity second = CreateIdentity(context, store.get(), "file:///second").ValueOrDie();
  EXPECT_EQ(second.deployment_id, first.deployment_id);
  EXPECT_EQ(second.stage_uri, "file:///first");
}

}  // namespace
}  // namespace lake::commit
