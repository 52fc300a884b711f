#include "lake/base/uuid.h"

#include <set>

#include <gtest/gtest.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/base/testing/fake_random.h"

namespace lake {
namespace {

class UuidTest : public testing::Test {
 protected:
  UuidTest() {
    context_.clock = &clock_;
    context_.random = &random_;
  }

  FakeClock clock_;
  FakeRandom random_{1};
  Context context_;
};

TEST_F(UuidTest, Version7CarriesItsTimeVersionAndVariant) {
  Uuid uuid = Uuid::NewV7(context_);
  EXPECT_EQ(uuid.version(), 7);
  EXPECT_EQ(uuid.bytes[8] >> 6, 0b10);
  EXPECT_EQ(uuid.unix_millis(), 1'700'000'000'000);
  EXPECT_EQ(uuid.ToString().substr(0, 13), "018bcfe5-6800");
}

TEST_F(UuidTest, Version7SortsByTime) {
  Uuid last = Uuid::NewV7(context_);
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(std::chrono::milliseconds(1));
    Uuid next = Uuid::NewV7(context_);
    EXPECT_LT(last, next);
    EXPECT_LT(last.ToString(), next.ToString());
    last = next;
  }
}

TEST_F(UuidTest, Version4HasVersionAndVariant) {
  std::set<Uuid> seen;
  for (int i = 0; i < 100; ++i) {
    Uuid uuid = Uuid::NewV4(context_);
    EXPECT_EQ(uuid.version(), 4);
    EXPECT_EQ(uuid.bytes[8] >> 6, 0b10);
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

TEST_F(UuidTest, ParseReadsWhatToStringWrites) {
  Uuid uuid = Uuid::NewV7(context_);
  auto parsed = Uuid::Parse(uuid.ToString());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, uuid);
  EXPECT_EQ(Uuid::Parse("00112233-4455-6677-8899-AABBCCDDEEFF")->ToString(),
            "00112233-4455-6677-8899-aabbccddeeff");
}

TEST_F(UuidTest, ParseRefusesEverythingElse) {
  for (const char* text :
       {"", "00112233-4455-6677-8899-aabbccddeef", "00112233-4455-6677-8899-aabbccddeefff",
        "00112233445566778899aabbccddeeff0000", "00112233-4455-6677-8899-aabbccddeefg",
        "0011223-34455-6677-8899-aabbccddeeff", "{0112233-4455-6677-8899-aabbccddeef}"}) {
    EXPECT_EQ(CodeOf(Uuid::Parse(text).status()), ErrorCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace lake
