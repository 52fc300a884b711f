#include "lake/base/signals.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

namespace lake {
namespace {

// Each case runs in a process of its own: signal handlers are global.
class SignalsDeathTest : public testing::Test {
 protected:
  // Forking alone is not safe beside the threads of other tests.
  SignalsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SignalsDeathTest, TheFirstSignalCancels) {
  EXPECT_EXIT(
      {
        CancelToken token;
        InstallSignalHandlers(token);
        std::raise(SIGINT);
        _exit(token.cancelled() && ReceivedSignal() == SIGINT ? 42 : 1);
      },
      testing::ExitedWithCode(42), "");
}

TEST_F(SignalsDeathTest, TheSecondSignalKills) {
  EXPECT_EXIT(
      {
        InstallSignalHandlers(CancelToken());
        std::raise(SIGTERM);
        std::raise(SIGTERM);
        _exit(1);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST_F(SignalsDeathTest, AProcessThatDoesNotEndInTimeIsKilled) {
  EXPECT_EXIT(
      {
        InstallSignalHandlers(CancelToken(), /*grace_seconds=*/1);
        std::raise(SIGINT);
        while (true) pause();
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST_F(SignalsDeathTest, AClosedPipeDoesNotKill) {
  EXPECT_EXIT(
      {
        InstallSignalHandlers(CancelToken());
        int ends[2];
        if (pipe(ends) != 0) _exit(1);
        close(ends[0]);
        _exit(write(ends[1], "x", 1) == -1 ? 42 : 1);
      },
      testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace lake
