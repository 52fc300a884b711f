#include "lake/objects/unpublished_object.h"

#include <cerrno>

#include <fcntl.h>

#include "lake/base/crash_point.h"
#include "lake/base/posix_error.h"
#include "lake/base/uuid.h"

namespace lake::objects {
namespace {

constexpr mode_t kTemporaryMode = 0600;
constexpr mode_t kObjectMode = 0400;
constexpr uint64_t kWriteBackBytes = 16 << 20;

}  // namespace

UnpublishedObject::UnpublishedObject(PosixCalls* calls, const OpenFolder* temp_folder,
                                     std::string name)
    : calls_(calls), temp_folder_(temp_folder), name_(std::move(name)) {}

Result<std::unique_ptr<UnpublishedObject>> UnpublishedObject::Create(
    const Context& context, PosixCalls* calls, const OpenFolder* temp_folder) {
  std::unique_ptr<UnpublishedObject> object(
      new UnpublishedObject(calls, temp_folder, "upload-" + Uuid::NewV7(context).ToString()));
  int fd = calls->OpenAt(temp_folder->fd.get(), object->name_.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kTemporaryMode);
  if (fd < 0) return PosixError(errno, "cannot create a temporary file", object->path());
  object->fd_ = UniqueFd(fd);
  object->exists_ = true;
  return object;
}

UnpublishedObject::~UnpublishedObject() {
  fd_ = UniqueFd();
  if (exists_) calls_->UnlinkAt(temp_folder_->fd.get(), name_.c_str());
}

Status UnpublishedObject::Write(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t count = calls_->Write(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return PosixError(errno, "cannot write the object", path());
    size_ += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  if (size_ - written_back_ >= kWriteBackBytes) {
    // Only a hint; the sync in Seal is what counts.
    ::sync_file_range(fd_.get(), static_cast<off_t>(written_back_),
                      static_cast<off_t>(size_ - written_back_), SYNC_FILE_RANGE_WRITE);
    written_back_ = size_;
  }
  return Status::OK();
}

Status UnpublishedObject::Seal() {
  if (sealed_) return Status::OK();
  struct stat state;
  if (calls_->FStat(fd_.get(), &state) != 0) {
    return PosixError(errno, "cannot read the state of the object", path());
  }
  // From the mode that the umask left, so that it is narrowed and never widened.
  if (calls_->FChmod(fd_.get(), state.st_mode & kObjectMode) != 0) {
    return PosixError(errno, "cannot make the object read-only", path());
  }
  if (calls_->SyncFile(fd_.get()) != 0) return PosixError(errno, "cannot sync the object", path());
  sealed_ = true;
  return Status::OK();
}

Status UnpublishedObject::GiveName(const OpenFolder& folder, const std::string& name) {
  int from = temp_folder_->fd.get();
  int to = folder.fd.get();
  int error = 0;
  if (calls_->RenameNoReplace(from, name_.c_str(), to, name.c_str()) == 0) {
    exists_ = false;
    return Status::OK();
  }
  error = errno;
  // File systems that know no RENAME_NOREPLACE say so in one of these ways.
  if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP) {
    if (calls_->LinkAt(from, name_.c_str(), to, name.c_str()) == 0) {
      // The second name goes with this object (see the destructor); the sweeper takes what stays.
      return Status::OK();
    }
    error = errno;
  }
  if (error == EXDEV) {
    return Error(ErrorCode::kUnsupported,
                 "the temporary folder and the stage must be on the same file system: '{}', '{}'",
                 temp_folder_->path, folder.path);
  }
  return PosixError(error, "cannot publish the object", folder.path + "/" + name);
}

void UnpublishedObject::RemoveIfMine(const OpenFolder& folder, const std::string& name) {
  struct stat mine;
  struct stat found;
  if (calls_->FStat(fd_.get(), &mine) == 0 &&
      calls_->LStatAt(folder.fd.get(), name.c_str(), &found) == 0 && mine.st_dev == found.st_dev &&
      mine.st_ino == found.st_ino) {
    calls_->UnlinkAt(folder.fd.get(), name.c_str());
  }
}

Status UnpublishedObject::Publish(const OpenFolder& folder, const std::string& name) {
  ARROW_RETURN_NOT_OK(Seal());
  CrashPoint("upload_written");
  Status named = GiveName(folder, name);
  if (!named.ok()) {
    // The call may have worked although it failed.
    if (CodeOf(named) != ErrorCode::kAlreadyExists) RemoveIfMine(folder, name);
    return named;
  }
  CrashPoint("upload_visible");
  fd_ = UniqueFd();
  if (exists_) {
    calls_->UnlinkAt(temp_folder_->fd.get(), name_.c_str());
    exists_ = false;
  }
  for (const OpenFolder* synced : {&folder, temp_folder_}) {
    if (calls_->SyncFolder(synced->fd.get()) == 0) continue;
    Status failed = PosixError(errno, "cannot sync the folder of an object; it was removed again",
                               synced->path);
    // Nothing may name an object that a power loss could take away.
    calls_->UnlinkAt(folder.fd.get(), name.c_str());
    return failed;
  }
  CrashPoint("upload_synced");
  return Status::OK();
}

}  // namespace lake::objects
