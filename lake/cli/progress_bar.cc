#include "lake/cli/progress_bar.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace lake::cli {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr int64_t kRedrawNanos = kNanosPerSecond / 10;
constexpr int64_t kPlainLineNanos = 10 * kNanosPerSecond;
constexpr size_t kBarWidth = 24;

size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void WriteToStandardError(std::string_view text) {
  // Progress is decoration: a closed standard error is no reason to stop.
  [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0 || value >= 99.95) return fmt::format("{:.0f} {}", value, kUnits[unit]);
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string FormatDuration(int64_t seconds) {
  if (seconds >= 3600) {
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  }
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

ProgressBar::ProgressBar(std::string verb, const Clock* clock, bool quiet)
    : verb_(std::move(verb)),
      clock_(clock),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      started_(clock->MonotonicNanos()),
      last_drawn_(started_) {}

ProgressBar::~ProgressBar() {
  MutexLock lock(&mutex_);
  if (line_open_) WriteToStandardError("\n");
}

void ProgressBar::Update(const State& state) {
  MutexLock lock(&mutex_);
  state_ = state;
  int64_t since = clock_->MonotonicNanos() - last_drawn_;
  if (since >= (terminal_ ? kRedrawNanos : kPlainLineNanos)) Draw();
}

void ProgressBar::PrintLine(const std::string& line) {
  MutexLock lock(&mutex_);
  WriteToStandardError((line_open_ ? "\r\x1b[K" : "") + line + "\n");
  line_open_ = false;
}

void ProgressBar::Finish() {
  MutexLock lock(&mutex_);
  if (finished_) return;
  finished_ = true;
  Draw();
}

void ProgressBar::Draw() {
  last_drawn_ = clock_->MonotonicNanos();
  if (quiet_) return;
  std::string line = Line(last_drawn_ - started_);
  if (!terminal_) {
    WriteToStandardError(line + "\n");
    return;
  }
  line.resize(std::min(line.size(), TerminalWidth() - 1));
  WriteToStandardError("\r" + line + "\x1b[K");
  line_open_ = true;
}

std::string ProgressBar::Line(int64_t elapsed_nanos) const {
  std::string line = verb_ + ":";
  double seconds = static_cast<double>(elapsed_nanos) / kNanosPerSecond;
  double rate = seconds > 0 ? static_cast<double>(state_.bytes_done) / seconds : 0;
  if (state_.bytes_total > 0) {
    double part = std::min(
        1.0, static_cast<double>(state_.bytes_done) / static_cast<double>(state_.bytes_total));
    if (terminal_) {
      auto filled = static_cast<size_t>(part * kBarWidth);
      line +=
          fmt::format(" [{}{}]", std::string(filled, '#'), std::string(kBarWidth - filled, ' '));
    }
    line += fmt::format(" {:3.0f}%", part * 100);
  }
  if (state_.files_total > 0) {
    line += fmt::format(" {}/{} files", state_.files_done, state_.files_total);
  } else if (state_.files_done > 0) {
    line += fmt::format(" {} files", state_.files_done);
  }
  if (state_.rows_done > 0) line += fmt::format(" {} rows", state_.rows_done);
  line += fmt::format(" {}", FormatBytes(state_.bytes_done));
  if (rate > 0) line += fmt::format(" {:.1f} MB/s", rate / 1e6);
  if (finished_) {
    line += fmt::format(" in {:.1f} s", seconds);
  } else if (state_.bytes_total > state_.bytes_done && rate > 0) {
    auto left = static_cast<double>(state_.bytes_total - state_.bytes_done);
    line += fmt::format(" ETA {}", FormatDuration(static_cast<int64_t>(left / rate) + 1));
  }
  return line;
}

}  // namespace lake::cli
