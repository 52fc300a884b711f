#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace lake {

/// Where a test keeps files whose syncs it does not test: a file system in memory if there is one.
inline std::filesystem::path FastTestParent() {
  return access("/dev/shm", W_OK) == 0 ? std::filesystem::path("/dev/shm")
                                       : std::filesystem::temp_directory_path();
}

/// A fresh folder for one test, removed with everything in it on destruction.
class TestFolder {
 public:
  explicit TestFolder(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string path = (parent / "lake-test-XXXXXX").string();
    // Without a folder no test of files can go on.
    if (mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }

  /// The path of `name` inside the folder.
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace lake
