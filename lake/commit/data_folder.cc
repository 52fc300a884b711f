#include "lake/commit/data_folder.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/base/posix_error.h"
#include "lake/base/unique_fd.h"
#include "lake/commit/lakehouse_core.h"
#include "lake/objects/stage.h"
#include "lake/storage/local_store.h"

namespace lake::commit {
namespace {

namespace fs = std::filesystem;

Status SyncFolder(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return PosixError(errno, "cannot open folder", path);
  if (fsync(fd.get()) != 0) return PosixError(errno, "cannot sync folder", path);
  return Status::OK();
}

// Makes the folder and those above it that are missing, durably.
Status MakeFolders(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = path; !fs::exists(at, error); at = at.parent_path()) missing.push_back(at);
  for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
    if (mkdir(at->c_str(), 0700) != 0 && errno != EEXIST) {
      return PosixError(errno, "cannot make data folder", at->string());
    }
    ARROW_RETURN_NOT_OK(SyncFolder(at->parent_path().string()));
  }
  return Status::OK();
}

Result<std::string> ResolveFolder(const std::string& path, bool create_if_missing) {
  if (path.empty()) return MakeError(ErrorCode::kInvalidArgument, "data folder has no name");
  std::error_code error;
  fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (error) return PosixError(error.value(), "cannot find data folder", path);
  // "a/b/" names the folder "a/b", whose parent must not be itself.
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  if (!fs::exists(absolute, error)) {
    if (!create_if_missing) {
      return Error(ErrorCode::kNotFound, "data folder does not exist: '{}'", absolute.string());
    }
    ARROW_RETURN_NOT_OK(MakeFolders(absolute));
  }
  fs::path resolved = fs::canonical(absolute, error);
  if (error) return PosixError(error.value(), "cannot find data folder", absolute.string());
  if (!fs::is_directory(resolved, error)) {
    return Error(ErrorCode::kInvalidArgument, "data folder is not a folder: '{}'",
                 resolved.string());
  }
  return resolved.string();
}

// A folder with our data but without lake.json must not get a new identity: its objects are bound
// to the old one.
Result<std::optional<FolderIdentity>> FindIdentity(const Context& context, const std::string& path,
                                                   storage::ObjectStore* store) {
  ARROW_ASSIGN_OR_RAISE(std::optional<FolderIdentity> identity, ReadIdentity(context, store));
  if (identity.has_value()) return identity;
  for (const std::string& ours :
       {MetastorePath(path), path + "/" + kTablesFolder, ManagedObjectsPath(path)}) {
    std::error_code error;
    if (!fs::exists(ours, error)) continue;
    // Or another process has just made the folder.
    ARROW_ASSIGN_OR_RAISE(identity, ReadIdentity(context, store));
    if (identity.has_value()) return identity;
    return Error(ErrorCode::kCorrupt,
                 "data folder has lost its lake.json, restore it from a copy: '{}' exists", ours);
  }
  return identity;
}

}  // namespace

std::string ManagedObjectsPath(const std::string& data_dir) {
  return data_dir + "/managed-objects";
}
std::string MetastorePath(const std::string& data_dir) { return data_dir + "/metastore.db"; }

Result<DataFolder> OpenDataFolder(const Context& context, const std::string& path,
                                  bool create_if_missing) {
  DataFolder folder;
  ARROW_ASSIGN_OR_RAISE(folder.path, ResolveFolder(path, create_if_missing));
  ARROW_RETURN_NOT_OK(storage::RefuseNetworkFileSystem(folder.path));
  // Looked at before anything is written: a newer folder is left untouched.
  ARROW_ASSIGN_OR_RAISE(auto plain, storage::OpenLocalStore(folder.path));
  ARROW_ASSIGN_OR_RAISE(std::optional<FolderIdentity> identity,
                        FindIdentity(context, folder.path, plain.get()));
  if (!identity.has_value() && !create_if_missing) {
    return Error(ErrorCode::kNotFound, "folder is no data folder, it has no lake.json: '{}'",
                 folder.path);
  }
  ARROW_ASSIGN_OR_RAISE(folder.temp, TempFolder::Make(context, folder.path));
  ARROW_ASSIGN_OR_RAISE(folder.store,
                        storage::OpenLocalStore(folder.path, {.temp_dir = folder.temp->path()}));
  if (!identity.has_value()) {
    ARROW_ASSIGN_OR_RAISE(
        identity, CreateIdentity(context, folder.store.get(),
                                 objects::FileUriFromPath(ManagedObjectsPath(folder.path))));
  }
  folder.identity = *std::move(identity);
  return folder;
}

}  // namespace lake::commit
