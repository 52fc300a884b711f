#include "lake/service/file_parameter.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/base/posix_error.h"
#include "lake/base/unique_fd.h"
#include "lake/service/content_type.h"

namespace lake::service {
namespace {

constexpr std::string_view kPrefix = "file:";
constexpr std::string_view kTypeOption = ";type=";

bool IsTokenCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$&-^_.+").find(c) != std::string_view::npos;
}

}  // namespace

Status CheckContentType(const std::string& type) {
  size_t slash = type.find('/');
  size_t end = type.find(';');
  if (end == std::string::npos) end = type.size();
  bool valid = slash != std::string::npos && slash > 0 && slash + 1 < end && type.size() <= 255;
  for (size_t i = 0; valid && i < end; ++i) valid = i == slash || IsTokenCharacter(type[i]);
  for (size_t i = end; valid && i < type.size(); ++i) valid = type[i] >= 0x20 && type[i] < 0x7F;
  if (valid) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "not a content type (such as video/mp4 is expected): '{}'", type);
}

Result<FileParameter> ParseFileParameter(const std::string& text) {
  std::string_view rest = text;
  if (!rest.starts_with(kPrefix)) {
    return Error(ErrorCode::kInvalidArgument,
                 "a FILE parameter needs the form file:PATH or file:PATH;type=TYPE, not '{}'",
                 text);
  }
  rest.remove_prefix(kPrefix.size());
  FileParameter parameter;
  size_t option = rest.rfind(kTypeOption);
  if (option != std::string_view::npos) {
    parameter.content_type = rest.substr(option + kTypeOption.size());
    rest = rest.substr(0, option);
    ARROW_RETURN_NOT_OK(CheckContentType(parameter.content_type));
  }
  parameter.path = rest;
  if (parameter.content_type.empty()) parameter.content_type = GuessContentType(parameter.path);

  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  UniqueFd file(open(parameter.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (!file.valid() || fstat(file.get(), &info) != 0) {
    return PosixError(errno, "cannot open the file of a parameter", parameter.path);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error(ErrorCode::kInvalidArgument, "not a regular file: {}", parameter.path);
  }
  parameter.size_bytes = static_cast<uint64_t>(info.st_size);
  return parameter;
}

}  // namespace lake::service
