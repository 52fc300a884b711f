#pragma once

#include <cstdint>
#include <string>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"

namespace lake::cli {

/// Shows how far a long command is, on standard error: one line that is redrawn on a terminal, a
/// plain line now and then otherwise. Totals of 0 are unknown and leave out percent and ETA.
/// Thread-safe.
class ProgressBar {
 public:
  struct State {
    uint64_t files_done = 0;
    uint64_t files_total = 0;
    uint64_t bytes_done = 0;
    uint64_t bytes_total = 0;
    uint64_t rows_done = 0;
  };

  /// `verb` stands at the start of the line, such as "import". With `quiet` nothing is shown.
  ProgressBar(std::string verb, const Clock* clock, bool quiet);
  /// Ends the line.
  ~ProgressBar();

  void Update(const State& state) LAKE_EXCLUDES(mutex_);

  /// Prints a line of its own above the progress, also when quiet. For things that happen on the
  /// way.
  void PrintLine(const std::string& line) LAKE_EXCLUDES(mutex_);

  /// Shows the last state and leaves it standing.
  void Finish() LAKE_EXCLUDES(mutex_);

 private:
  void Draw() LAKE_REQUIRES(mutex_);
  std::string Line(int64_t elapsed_nanos) const LAKE_REQUIRES(mutex_);

  const std::string verb_;
  const Clock* const clock_;
  const bool quiet_;
  const bool terminal_;
  const int64_t started_;

  Mutex mutex_;
  State state_ LAKE_GUARDED_BY(mutex_);
  int64_t last_drawn_ LAKE_GUARDED_BY(mutex_);
  bool line_open_ LAKE_GUARDED_BY(mutex_) = false;
  bool finished_ LAKE_GUARDED_BY(mutex_) = false;
};

/// "1.5 GB": three digits at most, decimal units.
std::string FormatBytes(uint64_t bytes);
/// "1:05" or "2:01:05".
std::string FormatDuration(int64_t seconds);

}  // namespace lake::cli
