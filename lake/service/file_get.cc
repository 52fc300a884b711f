#include "lake/service/file_get.h"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/base/posix_error.h"
#include "lake/base/unique_fd.h"
#include "lake/base/uuid.h"

namespace lake::service {
namespace {

constexpr size_t kBlockBytes = 1 << 20;
constexpr mode_t kOutputMode = 0666;  // narrowed by umask: the file is the user's

// Where the bytes go. A regular file appears under its name only at Finish.
class Sink {
 public:
  static Result<std::unique_ptr<Sink>> Open(const Context& context, const std::string& output);
  ~Sink();

  // False if the reader of a pipe went away.
  Result<bool> Write(std::span<const uint8_t> bytes);
  Status Finish();

 private:
  Sink() = default;

  Status CreateTemporary(const Context& context);

  std::string path_;       // for texts, and the final name
  std::string temporary_;  // empty: written in place
  UniqueFd owned_;
  int fd_ = -1;
};

Result<std::unique_ptr<Sink>> Sink::Open(const Context& context, const std::string& output) {
  std::unique_ptr<Sink> sink(new Sink());
  sink->path_ = output;
  if (output == "-") {
    sink->path_ = "standard output";
    sink->fd_ = STDOUT_FILENO;
    return sink;
  }
  if (output.empty() || output.back() == '/') {
    return Error(ErrorCode::kInvalidArgument, "not a name for a file to write: '{}'", output);
  }
  struct stat state;
  if (::stat(output.c_str(), &state) == 0) {
    if (S_ISDIR(state.st_mode)) {
      return Error(ErrorCode::kInvalidArgument, "cannot write a file over a folder: '{}'", output);
    }
    if (!S_ISREG(state.st_mode)) {
      sink->owned_ = UniqueFd(::open(output.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
      if (!sink->owned_.valid()) return PosixError(errno, "cannot open the output", output);
      sink->fd_ = sink->owned_.get();
      return sink;
    }
    // Behind a link the file is replaced, not the link.
    std::error_code error;
    std::filesystem::path target = std::filesystem::canonical(output, error);
    if (error) return PosixError(error.value(), "cannot resolve the output", output);
    sink->path_ = target;
  }
  ARROW_RETURN_NOT_OK(sink->CreateTemporary(context));
  return sink;
}

Status Sink::CreateTemporary(const Context& context) {
  std::filesystem::path path(path_);
  std::string temporary =
      path.parent_path() / (".lake-" + Uuid::NewV7(context).ToString() + ".tmp");
  owned_ = UniqueFd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOutputMode));
  if (!owned_.valid()) return PosixError(errno, "cannot create the output", path_);
  temporary_ = std::move(temporary);
  fd_ = owned_.get();
  return Status::OK();
}

Sink::~Sink() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<bool> Sink::Write(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(count));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE) return false;
    if (errno == EAGAIN) {
      // Whoever gave us a non-blocking pipe has to be waited for.
      pollfd wait{.fd = fd_, .events = POLLOUT, .revents = 0};
      ::poll(&wait, 1, -1);
      continue;
    }
    return PosixError(errno, "cannot write the output", path_);
  }
  return true;
}

Status Sink::Finish() {
  if (temporary_.empty()) return Status::OK();
  if (::fsync(fd_) != 0) return PosixError(errno, "cannot sync the output", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return PosixError(errno, "cannot rename the output", path_);
  }
  temporary_.clear();
  std::string folder = std::filesystem::path(path_).parent_path();
  UniqueFd opened(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid() || ::fsync(opened.get()) != 0) {
    return PosixError(errno, "cannot sync the folder of the output", path_);
  }
  return Status::OK();
}

}  // namespace

Result<HalfOpenRange> ParseRange(std::string_view text) {
  HalfOpenRange range;
  size_t dots = text.find("..");
  auto parse = [](std::string_view digits, uint64_t* number) {
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
    return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  };
  bool valid = dots != std::string_view::npos && parse(text.substr(0, dots), &range.start) &&
               parse(text.substr(dots + 2), &range.end) && range.start < range.end;
  if (valid) return range;
  return Error(ErrorCode::kInvalidArgument,
               "not a range (A..B with A < B is expected, B itself is left out): '{}'", text);
}

Result<GetFileResult> GetFile(const Context& context, objects::Stage* stage,
                              const objects::DataLocation& location,
                              const GetFileOptions& options) {
  std::unique_ptr<objects::ByteReader> reader;
  if (options.range) {
    ARROW_ASSIGN_OR_RAISE(
        reader, stage->OpenRange(context, location, options.range->start, options.range->end));
  } else {
    ARROW_ASSIGN_OR_RAISE(reader, stage->Open(context, location));
  }
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Sink> sink, Sink::Open(context, options.output));
  GetFileResult result;
  std::vector<uint8_t> block(kBlockBytes);
  while (true) {
    ARROW_ASSIGN_OR_RAISE(size_t count, reader->Read(block));
    if (count == 0) break;
    ARROW_ASSIGN_OR_RAISE(bool open, sink->Write(std::span(block).first(count)));
    if (!open) {
      result.output_closed = true;
      return result;
    }
    result.bytes += count;
    if (options.progress) options.progress(count);
  }
  ARROW_RETURN_NOT_OK(sink->Finish());
  return result;
}

}  // namespace lake::service
