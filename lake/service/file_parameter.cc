#include "lake/service/file_parameter.h"

#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/base/posix_error.h"
#include "lake/base/unique_fd.h"
#include "lake/objects/data_location.h"
#include "lake/service/content_type.h"

namespace lake::service {
namespace {

constexpr std::string_view kPrefix = "file:";
constexpr std::string_view kTypeOption = ";type=";

}  // namespace

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
    ARROW_RETURN_NOT_OK(objects::CheckContentType(parameter.content_type));
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
