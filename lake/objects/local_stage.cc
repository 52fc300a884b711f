#include "lake/objects/local_stage.h"

#include <array>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "lake/base/posix_error.h"
#include "lake/base/uuid.h"
#include "lake/objects/containment.h"
#include "lake/objects/file_source.h"
#include "lake/objects/object_reader.h"
#include "lake/objects/stream_hasher.h"
#include "lake/storage/local_store.h"

namespace lake::objects {
namespace {

constexpr size_t kBlockBytes = 1 << 20;
constexpr mode_t kFolderMode = 0700;
// A name that exists by chance is next to impossible; a broken clock and random source are not.
constexpr int kNameAttempts = 3;

Result<OpenFolder> OpenFolderAt(int parent, const std::string& name, const std::string& path,
                                int flags) {
  int fd = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
  if (fd >= 0) return OpenFolder{.fd = UniqueFd(fd), .path = path};
  if (errno == ELOOP || (errno == ENOTDIR && (flags & O_NOFOLLOW) != 0)) {
    return Error(ErrorCode::kPermissionDenied,
                 "a folder of the stage is a symbolic link or no folder: '{}'", path);
  }
  return PosixError(errno, "cannot open the folder", path);
}

// Opens the folder `name` in `parent`, making it (durably) if it is missing. Links are refused.
Result<OpenFolder> MakeFolderAt(const OpenFolder& parent, const std::string& name) {
  std::string path = parent.path + "/" + name;
  if (::mkdirat(parent.fd.get(), name.c_str(), kFolderMode) == 0) {
    if (::fsync(parent.fd.get()) != 0) {
      return PosixError(errno, "cannot sync the folder", parent.path);
    }
  } else if (errno != EEXIST) {
    return PosixError(errno, "cannot make the folder", path);
  }
  return OpenFolderAt(parent.fd.get(), name, path, O_NOFOLLOW);
}

// Renaming needs more than one device: also one mount.
Result<bool> OnSameMount(const OpenFolder& a, const OpenFolder& b) {
  std::array<struct statx, 2> states;
  std::array<const OpenFolder*, 2> folders = {&a, &b};
  for (size_t i = 0; i < folders.size(); ++i) {
    if (::statx(folders[i]->fd.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID,
                &states[i]) != 0) {
      return PosixError(errno, "cannot read the state of the folder", folders[i]->path);
    }
  }
  bool same_device = states[0].stx_dev_major == states[1].stx_dev_major &&
                     states[0].stx_dev_minor == states[1].stx_dev_minor;
  bool mounts_known = (states[0].stx_mask & states[1].stx_mask & STATX_MNT_ID) != 0;
  return same_device && (!mounts_known || states[0].stx_mnt_id == states[1].stx_mnt_id);
}

Status CheckStageUri(const std::string& stage_uri) {
  if (stage_uri.starts_with("s3:")) {
    return Error(ErrorCode::kUnsupported,
                 "a stage on S3 is not supported by this version of lake: '{}'",
                 RedactedUri(stage_uri));
  }
  ARROW_ASSIGN_OR_RAISE(std::string path, PathFromFileUri(stage_uri));
  if (FileUriFromPath(path) == stage_uri) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "the stage's URI is not spelled as lake spells URIs ('{}' is expected): '{}'",
               FileUriFromPath(path), RedactedUri(stage_uri));
}

struct Copied {
  uint64_t size_bytes = 0;
  std::string sha256;
};

// Streams `source` into `object` in two alternating blocks: while one is read and written here, the
// other is hashed on a second thread.
Result<Copied> CopyHashing(const Context& context, ByteReader* source, UnpublishedObject* object,
                           const UploadOptions& options) {
  ARROW_ASSIGN_OR_RAISE(MemoryReservation reservation,
                        context.memory->Reserve(2 * kBlockBytes, "the buffers of an upload"));
  std::array<std::vector<uint8_t>, 2> blocks;
  StreamHasher hasher;  // Destroyed before the blocks that it reads.
  Copied copied;
  for (size_t turn = 0;; turn ^= 1) {
    std::vector<uint8_t>& block = blocks[turn];
    block.resize(kBlockBytes);
    size_t filled = 0;
    bool at_end = false;
    while (filled < block.size() && !at_end) {
      ARROW_RETURN_NOT_OK(context.Check());
      ARROW_ASSIGN_OR_RAISE(size_t count, source->Read(std::span(block).subspan(filled)));
      at_end = count == 0;
      filled += count;
    }
    std::span<const uint8_t> bytes(block.data(), filled);
    hasher.Add(bytes);
    ARROW_RETURN_NOT_OK(object->Write(bytes));
    copied.size_bytes += filled;
    if (options.progress && filled > 0) options.progress(filled);
    if (at_end) break;
  }
  copied.sha256 = hasher.Finish();
  return copied;
}

}  // namespace

Result<std::shared_ptr<Stage>> OpenLocalStage(const Context& context, LocalStageOptions options) {
  return LocalStage::Open(context, std::move(options));
}

LocalStage::LocalStage(LocalStageOptions options, PosixCalls* calls)
    : options_(std::move(options)),
      uri_(options_.stage_uri + "/tenants/" + options_.tenant),
      calls_(calls) {}

Result<std::shared_ptr<LocalStage>> LocalStage::Open(const Context& context,
                                                     LocalStageOptions options, PosixCalls* calls) {
  ARROW_RETURN_NOT_OK(CheckTenant(options.tenant));
  ARROW_RETURN_NOT_OK(CheckStageUri(options.stage_uri));
  if (::mkdir(options.root.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return PosixError(errno, "cannot make the stage's folder", options.root);
  }
  ARROW_RETURN_NOT_OK(storage::RefuseNetworkFileSystem(options.root));

  std::shared_ptr<LocalStage> stage(new LocalStage(std::move(options), calls));
  const std::string& root_path = stage->options_.root;
  ARROW_ASSIGN_OR_RAISE(OpenFolder root, OpenFolderAt(AT_FDCWD, root_path, root_path, 0));
  ARROW_ASSIGN_OR_RAISE(OpenFolder above, OpenFolderAt(root.fd.get(), "..", root_path + "/..", 0));
  if (::fsync(above.fd.get()) != 0) return PosixError(errno, "cannot sync the folder", above.path);
  ARROW_ASSIGN_OR_RAISE(OpenFolder tenants, MakeFolderAt(root, "tenants"));
  ARROW_ASSIGN_OR_RAISE(stage->tenant_folder_, MakeFolderAt(tenants, stage->options_.tenant));
  const std::string& temp_path = stage->options_.temp_dir;
  ARROW_ASSIGN_OR_RAISE(stage->temp_folder_, OpenFolderAt(AT_FDCWD, temp_path, temp_path, 0));

  ARROW_ASSIGN_OR_RAISE(bool same_mount, OnSameMount(stage->tenant_folder_, stage->temp_folder_));
  if (!same_mount) {
    return Error(ErrorCode::kUnsupported,
                 "the temporary folder and the stage must be on the same file system: '{}', '{}'",
                 temp_path, stage->tenant_folder_.path);
  }
  return stage;
}

Result<DataLocation> LocalStage::Upload(const Context& context, ByteReader* source,
                                        const UploadOptions& options) {
  ARROW_RETURN_NOT_OK(CheckContentType(options.content_type));
  ARROW_RETURN_NOT_OK(context.Check());
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<UnpublishedObject> object,
                        UnpublishedObject::Create(context, calls_, &temp_folder_));
  ARROW_ASSIGN_OR_RAISE(Copied copied, CopyHashing(context, source, object.get(), options));
  ARROW_RETURN_NOT_OK(context.Check());
  for (int attempt = 1;; ++attempt) {
    std::string name = Uuid::NewV7(context).ToString();
    Status published = object->Publish(tenant_folder_, name);
    if (published.ok()) {
      return DataLocation{.uri = uri_ + "/" + name,
                          .content_type = options.content_type,
                          .size_bytes = copied.size_bytes,
                          .sha256 = std::move(copied.sha256)};
    }
    if (CodeOf(published) != ErrorCode::kAlreadyExists || attempt == kNameAttempts) {
      return published;
    }
  }
}

Result<DataLocation> LocalStage::UploadFile(const Context& context, const std::string& path,
                                            const UploadOptions& options) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<FileSource> source, FileSource::Open(path, calls_));
  return Upload(context, source.get(), options);
}

Status LocalStage::CancelUpload(const Context& context, const std::string& upload_id) {
  return Error(ErrorCode::kUnsupported,
               "uploads to the local stage are not resumable, there is nothing to cancel");
}

Result<std::string> LocalStage::NameOf(const DataLocation& location) const {
  ARROW_RETURN_NOT_OK(CheckSha256(location.sha256));
  return ObjectNameInStage(options_.stage_uri, options_.tenant, location.uri);
}

Result<UniqueFd> LocalStage::OpenObject(const std::string& name,
                                        const DataLocation& location) const {
  // O_NONBLOCK: a FIFO that was put there must not block; it fails the test below.
  UniqueFd fd(calls_->OpenAt(tenant_folder_.fd.get(), name.c_str(),
                             O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0));
  if (!fd.valid() && errno == ELOOP) {
    return Error(ErrorCode::kPermissionDenied, "the object is a symbolic link: '{}'", location.uri);
  }
  if (!fd.valid()) return PosixError(errno, "cannot open the object", location.uri);
  struct stat state;
  if (calls_->FStat(fd.get(), &state) != 0) {
    return PosixError(errno, "cannot read the state of the object", location.uri);
  }
  if (!S_ISREG(state.st_mode)) {
    return Error(ErrorCode::kPermissionDenied, "the object is no regular file: '{}'", location.uri);
  }
  return fd;
}

Result<std::unique_ptr<ByteReader>> LocalStage::Open(const Context& context,
                                                     const DataLocation& location) {
  ARROW_ASSIGN_OR_RAISE(std::string name, NameOf(location));
  ARROW_ASSIGN_OR_RAISE(UniqueFd fd, OpenObject(name, location));
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return MakeVerifiedReader(context,
                            OpenedObject{.fd = std::move(fd), .uri = location.uri, .calls = calls_},
                            location.size_bytes, location.sha256);
}

Result<std::unique_ptr<ByteReader>> LocalStage::OpenRange(const Context& context,
                                                          const DataLocation& location,
                                                          uint64_t start, uint64_t end) {
  ARROW_ASSIGN_OR_RAISE(std::string name, NameOf(location));
  if (start >= end || end > location.size_bytes) {
    return Error(ErrorCode::kInvalidArgument,
                 "not a range of the object (start < end <= size is expected): {}..{} of {} "
                 "bytes, '{}'",
                 start, end, location.size_bytes, location.uri);
  }
  ARROW_ASSIGN_OR_RAISE(UniqueFd fd, OpenObject(name, location));
  return MakeRangeReader(
      context, OpenedObject{.fd = std::move(fd), .uri = location.uri, .calls = calls_}, start, end);
}

Result<std::string> LocalStage::PresignRead(const Context& context, const DataLocation& location) {
  return Error(ErrorCode::kUnsupported,
               "the local stage has no signed URLs; open the object instead");
}

Status LocalStage::CheckContained(const DataLocation& location) const {
  ARROW_ASSIGN_OR_RAISE(std::string name, NameOf(location));
  struct stat state;
  if (calls_->LStatAt(tenant_folder_.fd.get(), name.c_str(), &state) == 0 &&
      S_ISLNK(state.st_mode)) {
    return Error(ErrorCode::kPermissionDenied, "the object is a symbolic link: '{}'", location.uri);
  }
  return Status::OK();
}

Status LocalStage::CheckExists(const Context& context, const DataLocation& location) {
  ARROW_RETURN_NOT_OK(CheckContentType(location.content_type));
  ARROW_ASSIGN_OR_RAISE(std::string name, NameOf(location));
  struct stat state;
  if (calls_->LStatAt(tenant_folder_.fd.get(), name.c_str(), &state) != 0) {
    if (errno == ENOENT) {
      return Error(ErrorCode::kNotFound, "the object does not exist: '{}'", location.uri);
    }
    return PosixError(errno, "cannot read the state of the object", location.uri);
  }
  if (!S_ISREG(state.st_mode)) {
    return Error(ErrorCode::kPermissionDenied,
                 "the object is a symbolic link or no regular file: '{}'", location.uri);
  }
  if (static_cast<uint64_t>(state.st_size) != location.size_bytes) {
    return Error(ErrorCode::kIntegrity,
                 "the object's size is not the declared one: '{}' ({} bytes declared, {} found)",
                 location.uri, location.size_bytes, state.st_size);
  }
  return Status::OK();
}

}  // namespace lake::objects
