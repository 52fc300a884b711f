#include "lake/base/crash_point.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

namespace lake {
namespace {

#ifndef NDEBUG

TEST(CrashPointDeathTest, KillsAtTheNamedPassOnly) {
  EXPECT_EXIT(
      {
        setenv("LAKE_TEST_KILL_AT", "manifest_visible:2", 1);
        CrashPoint("data_written");
        CrashPoint("manifest_visible");
        CrashPoint("manifest_visible");
        _exit(0);
      },
      testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(
      {
        setenv("LAKE_TEST_KILL_AT", "manifest_visible:3", 1);
        CrashPoint("manifest_visible");
        CrashPoint("manifest_visible");
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

#endif  // NDEBUG

TEST(CrashPointTest, DoesNothingUnlessTold) {
  CrashPoint("data_written");
  SUCCEED();
}

}  // namespace
}  // namespace lake
