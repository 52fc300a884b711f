#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace lake {

/// Gives each input of tests/corpus/<fuzzer>/ to `decode`, so that every build runs through what
/// the fuzz target found. Test programs run in the root of the source tree.
inline void ReplayCorpus(const std::string& fuzzer, void (*decode)(std::string_view)) {
  const auto folder = std::filesystem::path("tests/corpus") / fuzzer;
  int inputs = 0;
  ASSERT_TRUE(std::filesystem::is_directory(folder)) << folder;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    decode(bytes);
    ++inputs;
  }
  EXPECT_GT(inputs, 0) << folder;
}

}  // namespace lake
