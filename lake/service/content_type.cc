#include "lake/service/content_type.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "lake/objects/data_location.h"

namespace lake::service {
namespace {

constexpr std::string_view kUnknownType = "application/octet-stream";
constexpr std::string_view kBlanks = " \t\r";

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Takes the first word off `line`.
std::string_view NextWord(std::string_view* line) {
  line->remove_prefix(std::min(line->find_first_not_of(kBlanks), line->size()));
  std::string_view word = line->substr(0, line->find_first_of(kBlanks));
  line->remove_prefix(word.size());
  return word;
}

std::vector<std::filesystem::path> Candidates() {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    paths.push_back(program.parent_path().parent_path() / "share" / "lake" / "mime.types");
  }
  paths.push_back("/etc/mime.types");
  return paths;
}

}  // namespace

ContentTypeTable ContentTypeTable::Parse(std::string_view text) {
  ContentTypeTable table;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    std::string type(NextWord(&line));
    if (!objects::CheckContentType(type).ok()) continue;
    for (std::string_view ending = NextWord(&line); !ending.empty(); ending = NextWord(&line)) {
      table.types_.emplace(LowerCase(ending), type);
    }
  }
  return table;
}

const ContentTypeTable& ContentTypeTable::Default() {
  static const ContentTypeTable table = [] {
    for (const std::filesystem::path& path : Candidates()) {
      std::ifstream file(path, std::ios::binary);
      if (!file) continue;
      std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      return Parse(text);
    }
    return ContentTypeTable();
  }();
  return table;
}

std::string ContentTypeTable::Guess(std::string_view name) const {
  size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::string(kUnknownType);
  auto found = types_.find(LowerCase(name.substr(dot + 1)));
  return found != types_.end() ? found->second : std::string(kUnknownType);
}

std::string GuessContentType(std::string_view name) {
  return ContentTypeTable::Default().Guess(name);
}

std::string_view KindOfContentType(std::string_view content_type) {
  return content_type.substr(0, content_type.find('/'));
}

}  // namespace lake::service
