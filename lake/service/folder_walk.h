#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "lake/base/context.h"
#include "lake/base/unique_fd.h"

namespace lake::service {

/// A regular file that a walk found.
struct FoundFile {
  /// Relative to the walked folder, with '/', in UTF-8.
  std::string path;
  uint64_t size = 0;
  /// Nanoseconds since 1970 UTC.
  int64_t modified_nanos = 0;
};

struct FolderWalkOptions {
  /// A folder that the walk must not meet (the data folder, by device and inode): kInvalidArgument.
  std::optional<struct stat> forbidden = {};
  /// Told about everything below the folder that is neither a regular file nor a folder that can be
  /// read: its relative path (bytes that are not UTF-8 as \xNN) and why. May be empty.
  std::function<void(const std::string& path, const Status& reason)> problem = {};
};

/// The regular files below a folder in the byte order of their paths. Nothing is followed: each
/// folder is opened by its one name from the one above. Memory: the names of the folders on the
/// way. Not thread-safe.
class FolderWalk {
 public:
  /// `folder` itself may be named through links.
  static Result<std::unique_ptr<FolderWalk>> Open(const Context& context, const std::string& folder,
                                                  FolderWalkOptions options);

  /// The next file, or nothing at the end.
  Result<std::optional<FoundFile>> Next();

  /// Opens the file that Next returned last, for reading. Links are not followed, FIFOs do not
  /// block.
  Result<UniqueFd> OpenCurrent();

 private:
  struct Name {
    std::string name;
    bool is_folder = false;
  };
  // A folder on the way, with what is still to be visited: the last name first.
  struct Level {
    UniqueFd fd;
    std::string prefix;  // relative path with a '/' behind it; empty at the top
    std::vector<Name> names;
    int64_t reserved = 0;  // bytes of the budget for the names
  };

  FolderWalk(const Context& context, FolderWalkOptions options);

  Status Enter(UniqueFd fd, std::string prefix);
  // Visits the next name of the innermost folder: a file is returned, anything else is entered or
  // reported.
  Result<std::optional<FoundFile>> Visit();
  void Report(const std::string& path, const Status& reason) const;

  const Context context_;
  const FolderWalkOptions options_;
  std::vector<Level> levels_;
  std::string current_name_;
  std::string current_path_;
  MemoryReservation reservation_;
};

/// `bytes` with each byte that does not belong to well-formed UTF-8, and each control character, as
/// \xNN.
std::string DisplayName(const std::string& bytes);

}  // namespace lake::service
