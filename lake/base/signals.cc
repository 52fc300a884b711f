#include "lake/base/signals.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace lake {
namespace {

// Never destroyed: a handler may run at any time.
CancelToken* cancel_token = nullptr;
std::atomic<int> received{0};
std::atomic<int> grace{0};

void EndNow(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void OnSignal(int signal) {
  int none = 0;
  if (!received.compare_exchange_strong(none, signal)) {
    EndNow(signal);
    return;
  }
  cancel_token->Cancel();
  alarm(static_cast<unsigned>(grace.load()));
}

void OnAlarm(int) { EndNow(received.load()); }

void Install(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a blocking read at the prompt ends with EINTR.
  sigaction(signal, &action, nullptr);
}

}  // namespace

void InstallSignalHandlers(const CancelToken& token, int grace_seconds) {
  static_assert(std::atomic<int>::is_always_lock_free, "handlers may only touch lock-free atomics");
  delete cancel_token;
  cancel_token = new CancelToken(token);
  grace = grace_seconds;
  Install(SIGINT, OnSignal);
  Install(SIGTERM, OnSignal);
  Install(SIGALRM, OnAlarm);
  std::signal(SIGPIPE, SIG_IGN);
  // A file that would pass the process's limit: the write says so.
  std::signal(SIGXFSZ, SIG_IGN);
}

int ReceivedSignal() { return received.load(); }

}  // namespace lake
