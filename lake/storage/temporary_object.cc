#include "lake/storage/temporary_object.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "lake/base/posix_error.h"
#include "lake/base/uuid.h"
#include "lake/storage/key.h"
#include "lake/storage/local_folder.h"

namespace lake::storage {
namespace {

constexpr mode_t kFileMode = 0600;
// A collision of random names does not happen by chance, only with the seeded sources of tests.
constexpr int kNameAttempts = 100;

}  // namespace

Result<std::unique_ptr<TemporaryObject>> TemporaryObject::Make(const Context& context, int root,
                                                               int temp_dir,
                                                               const std::string& key) {
  std::unique_ptr<TemporaryObject> object(new TemporaryObject(key));
  ARROW_ASSIGN_OR_RAISE(object->target_folder_, MakeFolder(root, SplitKey(key).folder));
  const int folder = temp_dir >= 0 ? temp_dir : object->target_folder_.get();
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::string name = std::string(kTemporaryPrefix) + Uuid::NewV4(context).ToString();
    object->fd_ = UniqueFd(openat(folder, name.c_str(),
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (object->fd_.valid()) {
      object->temporary_ = {folder, std::move(name)};
      return object;
    }
    if (errno != EEXIST) break;
  }
  return PosixError(errno, "cannot make a temporary file for object", key);
}

TemporaryObject::~TemporaryObject() {
  if (published_ || temporary_.name.empty()) return;
  // What cannot be removed is swept with the other temporaries.
  (void)unlinkat(temporary_.folder, temporary_.name.c_str(), 0);
}

Status TemporaryObject::Append(std::string_view bytes) {
  synced_ = false;
  return WriteFully(fd_.get(), bytes, key_);
}

Status TemporaryObject::Publish(PutCondition condition) {
  if (published_) {
    if (condition == PutCondition::kNone) return Status::OK();
    return Error(ErrorCode::kPreconditionFailed, "the object was published before: '{}'", key_);
  }
  ARROW_RETURN_NOT_OK(PublishFile(SystemPublishCalls(), temporary_,
                                  {target_folder_.get(), std::string(SplitKey(key_).name)},
                                  condition, key_));
  published_ = true;
  return Status::OK();
}

Status WriteFully(int fd, std::string_view bytes, const std::string& key) {
  while (!bytes.empty()) {
    ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0) {
      if (errno == EINTR) continue;
      return PosixError(errno, "cannot write object", key);
    }
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return Status::OK();
}

}  // namespace lake::storage
