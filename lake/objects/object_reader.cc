#include "lake/objects/object_reader.h"

#include <algorithm>
#include <cerrno>

#include "lake/base/posix_error.h"
#include "lake/objects/sha256.h"

namespace lake::objects {
namespace {

// What both readers share: a position, a bound, sticky errors.
class BoundedReader : public ByteReader {
 public:
  BoundedReader(const Context& context, OpenedObject object, uint64_t start, uint64_t end)
      : context_(context), object_(std::move(object)), start_(start), position_(start), end_(end) {}

  Result<size_t> Read(std::span<uint8_t> out) final {
    ARROW_RETURN_NOT_OK(error_);
    Result<size_t> count = ReadOnce(out);
    if (!count.ok()) error_ = count.status();
    return count;
  }

 protected:
  // Called with each block before it is handed out; `at_end` with the last one (which is empty if
  // the bound is 0 bytes wide).
  virtual Status Accept(std::span<const uint8_t> block, bool at_end) = 0;

  Result<size_t> ReadAt(std::span<uint8_t> out, uint64_t offset) {
    ssize_t count;
    do {
      count = object_.calls->PRead(object_.fd.get(), out.data(), out.size(),
                                   static_cast<off_t>(offset));
    } while (count < 0 && errno == EINTR);
    if (count < 0) return PosixError(errno, "cannot read the object", object_.uri);
    return static_cast<size_t>(count);
  }

  const std::string& uri() const { return object_.uri; }
  uint64_t end() const { return end_; }

 private:
  Result<size_t> ReadOnce(std::span<uint8_t> out) {
    if (out.empty()) {
      return Error(ErrorCode::kInvalidArgument, "cannot read an object into an empty buffer: '{}'",
                   uri());
    }
    if (finished_) return size_t{0};
    ARROW_RETURN_NOT_OK(context_.Check());
    size_t wanted = static_cast<size_t>(std::min<uint64_t>(out.size(), end_ - position_));
    size_t count = 0;
    if (wanted > 0) {
      ARROW_ASSIGN_OR_RAISE(count, ReadAt(out.first(wanted), position_));
      if (count == 0) {
        return Error(ErrorCode::kIntegrity,
                     "the object ends too early; it was damaged, restore it from a copy: '{}' "
                     "({} bytes expected, {} found)",
                     uri(), end_ - start_, position_ - start_);
      }
      position_ += count;
    }
    finished_ = position_ == end_;
    ARROW_RETURN_NOT_OK(Accept(out.first(count), finished_));
    return count;
  }

  const Context context_;
  OpenedObject object_;
  const uint64_t start_;
  uint64_t position_;
  const uint64_t end_;
  bool finished_ = false;
  Status error_;
};

class VerifiedReader : public BoundedReader {
 public:
  VerifiedReader(const Context& context, OpenedObject object, uint64_t size_bytes,
                 std::string sha256)
      : BoundedReader(context, std::move(object), 0, size_bytes), expected_(std::move(sha256)) {}

 protected:
  Status Accept(std::span<const uint8_t> block, bool at_end) override {
    hash_.Update(block);
    if (!at_end) return Status::OK();
    uint8_t probe;
    ARROW_ASSIGN_OR_RAISE(size_t beyond, ReadAt({&probe, 1}, end()));
    if (beyond != 0) {
      return Error(ErrorCode::kIntegrity,
                   "the object is longer than declared; it was damaged, restore it from a copy: "
                   "'{}' ({} bytes expected)",
                   uri(), end());
    }
    std::string actual = hash_.Finish();
    if (actual != expected_) {
      return Error(ErrorCode::kIntegrity,
                   "the object's SHA-256 is wrong; it was damaged, restore it from a copy: '{}' "
                   "({} expected, {} found)",
                   uri(), expected_, actual);
    }
    return Status::OK();
  }

 private:
  const std::string expected_;
  Sha256 hash_;
};

class RangeReader : public BoundedReader {
 public:
  using BoundedReader::BoundedReader;

 protected:
  Status Accept(std::span<const uint8_t>, bool) override { return Status::OK(); }
};

}  // namespace

std::unique_ptr<ByteReader> MakeVerifiedReader(const Context& context, OpenedObject object,
                                               uint64_t size_bytes, std::string sha256) {
  return std::make_unique<VerifiedReader>(context, std::move(object), size_bytes,
                                          std::move(sha256));
}

std::unique_ptr<ByteReader> MakeRangeReader(const Context& context, OpenedObject object,
                                            uint64_t start, uint64_t end) {
  return std::make_unique<RangeReader>(context, std::move(object), start, end);
}

}  // namespace lake::objects
