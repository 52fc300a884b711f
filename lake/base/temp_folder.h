#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lake/base/context.h"
#include "lake/base/unique_fd.h"

namespace lake {

/// This process's own folder for spill files and unpublished bytes: `<data folder>/tmp/<uuid>/`,
/// mode 0700, held by a lock (flock) as long as the object lives, so that sweepers of other
/// processes can tell it from one that a dead process left. Destruction removes it with all that is
/// in it. Thread-safe.
class TempFolder {
 public:
  static Result<std::unique_ptr<TempFolder>> Make(const Context& context,
                                                  const std::string& data_dir);
  ~TempFolder();

  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  TempFolder(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const UniqueFd lock_;
};

struct TempSweep {
  size_t num_removed = 0;
  /// Held by a living process, or not what TempFolder makes.
  size_t num_kept = 0;
  /// What could not be removed, as texts for a log. No reason to stop.
  std::vector<std::string> problems;
};

/// Removes the temporary folders that dead processes left below `<data_dir>/tmp`. It touches only
/// folders whose name is a UUID, which it can lock, and which after locking are still the ones at
/// their name; it follows no symbolic link. A missing `tmp` is fine. Any number of processes may
/// sweep at the same time.
Result<TempSweep> SweepTempFolders(const Context& context, const std::string& data_dir);

}  // namespace lake
