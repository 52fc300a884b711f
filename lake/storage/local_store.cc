#include "lake/storage/local_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <arrow/buffer.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lake/base/posix_error.h"
#include "lake/base/thread_pool.h"
#include "lake/base/unique_fd.h"
#include "lake/storage/coalesce.h"
#include "lake/storage/key.h"
#include "lake/storage/local_file.h"
#include "lake/storage/local_folder.h"
#include "lake/storage/local_list.h"
#include "lake/storage/local_sync.h"
#include "lake/storage/range_check.h"
#include "lake/storage/temporary_object.h"

namespace lake::storage {
namespace {

constexpr size_t kMaxOpenFiles = 128;
constexpr size_t kWriteBufferBytes = 64 * 1024;
// Of an object being written, what is given to the device at once while more is being made.
constexpr uint64_t kWritebackBytes = 8 * 1024 * 1024;
// Reading that much in vain takes as long as a call.
constexpr uint64_t kMaxGap = 8 * 1024;
// Smaller reads of one call share a buffer.
constexpr int64_t kMaxSharedRead = 256 * 1024;
constexpr int64_t kReadAlignment = 64;

/// What the store shares with its writers and staged objects, so that they may outlive it.
struct Folders {
  UniqueFd root;
  /// Not valid if temporaries lie beside their target.
  UniqueFd temp_dir;
  LocalSync sync;
};

class LocalWriter : public ObjectWriter {
 public:
  LocalWriter(std::shared_ptr<Folders> folders, std::unique_ptr<TemporaryObject> object,
              PutCondition condition)
      : folders_(std::move(folders)), object_(std::move(object)), condition_(condition) {}

  Status Write(std::string_view bytes) override {
    position_ += bytes.size();
    if (buffer_.size() + bytes.size() > kWriteBufferBytes) ARROW_RETURN_NOT_OK(Flush());
    if (bytes.size() < kWriteBufferBytes) {
      buffer_.append(bytes);
      return Status::OK();
    }
    ARROW_RETURN_NOT_OK(object_->Append(bytes));
    if (position_ - started_ >= kWritebackBytes) StartWriteback();
    return Status::OK();
  }

  uint64_t position() const override { return position_; }

  Status Finish() override {
    ARROW_RETURN_NOT_OK(Flush());
    if (started_ != 0) StartWriteback();
    return object_->Publish(condition_);
  }

 private:
  Status Flush() {
    Status status = object_->Append(buffer_);
    buffer_.clear();
    return status;
  }

  /// Has the device write what is there already, so that little is left for the sync to wait for.
  /// Only a hint: what fails, fails again in the sync.
  void StartWriteback() {
    (void)sync_file_range(object_->descriptor(), static_cast<off64_t>(started_),
                          static_cast<off64_t>(position_ - started_), SYNC_FILE_RANGE_WRITE);
    started_ = position_;
  }

  const std::shared_ptr<Folders> folders_;
  const std::unique_ptr<TemporaryObject> object_;
  const PutCondition condition_;
  /// Joins small writes.
  std::string buffer_;
  uint64_t position_ = 0;
  /// Bytes that the device was given.
  uint64_t started_ = 0;
};

class LocalStagedObject : public StagedObject {
 public:
  LocalStagedObject(std::shared_ptr<Folders> folders, std::unique_ptr<TemporaryObject> object)
      : folders_(std::move(folders)), object_(std::move(object)) {}

  const std::string& key() const override { return object_->key(); }
  Status Publish(const Context& context, PutCondition condition) override {
    ARROW_RETURN_NOT_OK(object_->Publish(condition));
    folders_->sync.Published(*object_);
    return Status::OK();
  }
  TemporaryObject* object() const { return object_.get(); }

 private:
  const std::shared_ptr<Folders> folders_;
  const std::unique_ptr<TemporaryObject> object_;
};

class LocalStore : public ObjectStore {
 public:
  LocalStore(std::string description, std::string identity, std::shared_ptr<Folders> folders)
      : description_(std::move(description)),
        identity_(std::move(identity)),
        folders_(std::move(folders)) {}

  const std::string& description() const override { return description_; }
  std::string identity() const override { return identity_; }

  Result<std::shared_ptr<arrow::Buffer>> Get(const Context& context, const std::string& key,
                                             ByteRange range) override {
    ARROW_ASSIGN_OR_RAISE(auto file, OpenFile(context, key));
    ARROW_RETURN_NOT_OK(CheckRange(key, range, file->size()));
    return Read(context, *file, range);
  }

  Result<std::shared_ptr<arrow::Buffer>> GetAll(const Context& context, const std::string& key,
                                                uint64_t max_size) override {
    ARROW_ASSIGN_OR_RAISE(auto file, OpenFile(context, key));
    ARROW_RETURN_NOT_OK(CheckMaxSize(key, file->size(), max_size));
    return Read(context, *file, {0, file->size()});
  }

  Result<std::vector<std::shared_ptr<arrow::Buffer>>> GetMany(
      const Context& context, const std::string& key, std::span<const ByteRange> ranges) override {
    ARROW_ASSIGN_OR_RAISE(auto file, OpenFile(context, key));
    for (ByteRange range : ranges) ARROW_RETURN_NOT_OK(CheckRange(key, range, file->size()));
    const CoalescedReads plan = Coalesce(ranges, {.max_gap = kMaxGap});
    ARROW_ASSIGN_OR_RAISE(auto reads, AllocateReads(context, plan.reads));
    // What the system has in memory is read here: handing it to other threads would take longer.
    std::vector<size_t> waiting;
    for (size_t i = 0; i < reads.size(); ++i) {
      const std::span<uint8_t> out(reads[i]->mutable_data(), plan.reads[i].length);
      if (!file->TryReadCached(plan.reads[i].offset, out)) waiting.push_back(i);
    }
    ARROW_RETURN_NOT_OK(ParallelFor(IoThreadPool(), waiting.size(), [&](size_t i) -> Status {
      ARROW_RETURN_NOT_OK(context.Check());
      const ByteRange range = plan.reads[waiting[i]];
      return file->ReadAt(range.offset, {reads[waiting[i]]->mutable_data(), range.length});
    }));
    std::vector<std::shared_ptr<arrow::Buffer>> buffers(ranges.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      const size_t read = plan.read_of[i];
      if (ranges[i] == plan.reads[read]) {
        buffers[i] = reads[read];
        continue;
      }
      buffers[i] = arrow::SliceBuffer(reads[read], ranges[i].offset - plan.reads[read].offset,
                                      ranges[i].length);
    }
    return buffers;
  }

  Result<ObjectInfo> Head(const Context& context, const std::string& key) override {
    ARROW_RETURN_NOT_OK(Begin(context, key));
    ARROW_ASSIGN_OR_RAISE(struct stat info, StatObject(folders_->root.get(), key));
    return ObjectInfo{key, static_cast<uint64_t>(info.st_size),
                      int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
  }

  Result<ListPage> List(const Context& context, const ListRequest& request) override {
    ARROW_RETURN_NOT_OK(context.Check());
    return ListFolder(context, folders_->root.get(), request);
  }

  Status Put(const Context& context, const std::string& key, std::string_view bytes,
             PutCondition condition) override {
    ARROW_ASSIGN_OR_RAISE(auto object, MakeTemporary(context, key));
    ARROW_RETURN_NOT_OK(object->Append(bytes));
    return object->Publish(condition);
  }

  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const Context& context, const std::string& key,
                                                   PutCondition condition) override {
    ARROW_ASSIGN_OR_RAISE(auto object, MakeTemporary(context, key));
    return std::make_unique<LocalWriter>(folders_, std::move(object), condition);
  }

  Result<std::unique_ptr<StagedObject>> Stage(const Context& context, const std::string& key,
                                              std::string_view bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto object, MakeTemporary(context, key));
    ARROW_RETURN_NOT_OK(object->Append(bytes));
    return std::make_unique<LocalStagedObject>(folders_, std::move(object));
  }

  Status Sync(const Context& context, std::span<const std::string> keys,
              std::span<StagedObject* const> staged) override {
    for (const std::string& key : keys) {
      ARROW_RETURN_NOT_OK(CheckKey(IsFolder(key) ? FolderName(key) : key));
    }
    std::vector<TemporaryObject*> objects;
    objects.reserve(staged.size());
    for (StagedObject* object : staged) {
      auto* ours = dynamic_cast<LocalStagedObject*>(object);
      if (ours == nullptr) {
        return Error(ErrorCode::kInvalidArgument,
                     "cannot sync an object that another store staged: '{}'", object->key());
      }
      objects.push_back(ours->object());
    }
    return folders_->sync.Run(folders_->root.get(), keys, objects);
  }

  Status Delete(const Context& context, const std::string& key) override {
    ARROW_RETURN_NOT_OK(CheckKey(key));
    const Status deleted = [&]() -> Status {
      ARROW_ASSIGN_OR_RAISE(UniqueFd folder, OpenFolderOf(folders_->root.get(), key));
      ARROW_RETURN_NOT_OK(StatObjectIn(folder.get(), key).status());
      if (unlinkat(folder.get(), std::string(SplitKey(key).name).c_str(), 0) == 0) {
        return Status::OK();
      }
      return PosixError(errno, "cannot delete object", key);
    }();
    if (!deleted.ok() && CodeOf(deleted) == ErrorCode::kNotFound) return Status::OK();
    return deleted;
  }

 private:
  static Status Begin(const Context& context, const std::string& key) {
    ARROW_RETURN_NOT_OK(context.Check());
    return CheckKey(key);
  }

  Result<std::shared_ptr<LocalFile>> OpenFile(const Context& context, const std::string& key) {
    ARROW_RETURN_NOT_OK(Begin(context, key));
    return files_.Open(folders_->root.get(), key);
  }

  Result<std::unique_ptr<TemporaryObject>> MakeTemporary(const Context& context,
                                                         const std::string& key) {
    ARROW_RETURN_NOT_OK(Begin(context, key));
    return TemporaryObject::Make(context, folders_->root.get(), folders_->temp_dir.get(), key);
  }

  static Result<std::shared_ptr<arrow::Buffer>> Read(const Context& context, const LocalFile& file,
                                                     ByteRange range) {
    ARROW_ASSIGN_OR_RAISE(
        auto buffer, arrow::AllocateBuffer(static_cast<int64_t>(range.length), context.pool()));
    ARROW_RETURN_NOT_OK(file.ReadAt(range.offset, {buffer->mutable_data(), range.length}));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }

  /// A buffer for each of `ranges`; small ones are slices of one.
  static Result<std::vector<std::shared_ptr<arrow::Buffer>>> AllocateReads(
      const Context& context, std::span<const ByteRange> ranges) {
    std::vector<std::shared_ptr<arrow::Buffer>> buffers(ranges.size());
    std::vector<int64_t> starts;
    int64_t total = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      starts.push_back(total);
      const int64_t length = static_cast<int64_t>(ranges[i].length);
      if (length > kMaxSharedRead) {
        ARROW_ASSIGN_OR_RAISE(buffers[i], arrow::AllocateBuffer(length, context.pool()));
      } else {
        total += (length + kReadAlignment - 1) / kReadAlignment * kReadAlignment;
      }
    }
    if (total == 0 && !ranges.empty() && buffers[0] != nullptr) return buffers;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> shared,
                          arrow::AllocateBuffer(total, context.pool()));
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (buffers[i] != nullptr) continue;
      buffers[i] =
          arrow::SliceMutableBuffer(shared, starts[i], static_cast<int64_t>(ranges[i].length));
    }
    return buffers;
  }

  const std::string description_;
  const std::string identity_;
  const std::shared_ptr<Folders> folders_;
  LocalFileCache files_{kMaxOpenFiles};
};

/// Makes the folder `path` with all above it that are missing, and makes their names durable.
Status MakeRoot(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return Status::OK();
    return Error(ErrorCode::kInvalidArgument, "cannot open a store: not a folder: '{}'", path);
  }
  if (errno != ENOENT) return PosixError(errno, "cannot open folder", path);
  const size_t slash = path.find_last_of('/', path.find_last_not_of('/'));
  const std::string parent = slash == path.npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  ARROW_RETURN_NOT_OK(MakeRoot(parent));
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return PosixError(errno, "cannot make folder", path);
  }
  UniqueFd fd(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return PosixError(errno, "cannot open folder", parent);
  if (fsync(fd.get()) != 0) return PosixError(errno, "cannot make folder durable", path);
  return Status::OK();
}

Result<UniqueFd> OpenTopFolder(const std::string& path, struct stat* info) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fstat(fd.get(), info) != 0) {
    return PosixError(errno, "cannot open folder", path);
  }
  return fd;
}

Result<std::string> AbsolutePath(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr), &std::free);
  if (resolved == nullptr) return PosixError(errno, "cannot open folder", path);
  return std::string(resolved.get());
}

}  // namespace

Result<std::shared_ptr<ObjectStore>> OpenLocalStore(const std::string& root,
                                                    LocalStoreOptions options) {
  if (root.empty()) {
    return Error(ErrorCode::kInvalidArgument, "cannot open a store: its folder has an empty name");
  }
  ARROW_RETURN_NOT_OK(MakeRoot(root));
  ARROW_RETURN_NOT_OK(RefuseNetworkFileSystem(root));
  auto folders = std::make_shared<Folders>();
  struct stat root_info;
  ARROW_ASSIGN_OR_RAISE(folders->root, OpenTopFolder(root, &root_info));
  if (!options.temp_dir.empty()) {
    struct stat temp_info;
    ARROW_ASSIGN_OR_RAISE(folders->temp_dir, OpenTopFolder(options.temp_dir, &temp_info));
    if (temp_info.st_dev != root_info.st_dev) {
      return Error(
          ErrorCode::kUnsupported,
          "cannot open a store: its temporary folder is on another file system: '{}', '{}'", root,
          options.temp_dir);
    }
  }
  ARROW_ASSIGN_OR_RAISE(std::string description, AbsolutePath(root));
  // Another folder that takes the path has another inode.
  std::string identity =
      fmt::format("file:{}:{}:{}", root_info.st_dev, root_info.st_ino, description);
  return std::make_shared<LocalStore>(std::move(description), std::move(identity),
                                      std::move(folders));
}

}  // namespace lake::storage
