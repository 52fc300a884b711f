#include "lake/storage/local_list.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lake/base/posix_error.h"
#include "lake/base/unique_fd.h"
#include "lake/base/utf8.h"
#include "lake/storage/key.h"
#include "lake/storage/list_page_builder.h"
#include "lake/storage/local_folder.h"

namespace lake::storage {
namespace {

// More than a page, so that one look at a folder is usually enough.
constexpr size_t kBatchSize = 1024;
constexpr int kMaxDepth = 100;

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};
using UniqueDir = std::unique_ptr<DIR, CloseDir>;

/// Names as they sort among keys: a folder ends in '/'.
using SortNames = std::vector<std::string>;

class FolderLister {
 public:
  FolderLister(const Context& context, const ListRequest& request)
      : context_(context), request_(request), builder_(request) {}

  /// Adds what lies in the open folder `fd`, whose keys start with `folder` ("" or ending in '/').
  /// Returns false once the page is full.
  Result<bool> Walk(UniqueFd fd, const std::string& folder, int depth) {
    if (depth > kMaxDepth) {
      return Error(ErrorCode::kUnsupported, "cannot list: folders are nested deeper than {}: '{}'",
                   kMaxDepth, folder);
    }
    UniqueDir dir(fdopendir(dup(fd.get())));
    if (dir == nullptr) return PosixError(errno, "cannot list folder", folder);
    std::string done;
    SortNames names;
    do {
      ARROW_RETURN_NOT_OK(context_.Check());
      ARROW_ASSIGN_OR_RAISE(names, NextNames(dir.get(), fd.get(), folder, done));
      for (const std::string& name : names) {
        // A common prefix that covers the rest of this folder was just added.
        if (!folder.empty() && !builder_.WantsFolder(folder)) return true;
        ARROW_ASSIGN_OR_RAISE(bool more, Visit(fd.get(), folder, name, depth));
        if (!more) return false;
      }
      if (!names.empty()) done = names.back();
    } while (names.size() == kBatchSize);
    return true;
  }

  ListPage Take() { return builder_.Take(); }

 private:
  Result<bool> Visit(int fd, const std::string& folder, const std::string& name, int depth) {
    std::string key = folder + name;
    if (key.back() == '/') {
      if (!builder_.WantsFolder(key)) return true;
      auto inner = OpenFolder(fd, std::string_view(name).substr(0, name.size() - 1));
      if (inner.ok()) return Walk(*std::move(inner), key, depth + 1);
      // Removed, or replaced by something that is no folder, since it was read.
      if (CodeOf(inner.status()) == ErrorCode::kNotFound) return true;
      return WithContext(inner.status(), "cannot list folder '" + folder + "'");
    }
    switch (builder_.Judge(key)) {
      case ListPageBuilder::Verdict::kFull:
        return false;
      case ListPageBuilder::Verdict::kSkip:
        return true;
      case ListPageBuilder::Verdict::kTake:
        break;
    }
    if (request_.keys_only) {
      builder_.Append({std::move(key), 0, 0});
      return true;
    }
    struct stat info;
    if (fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return true;
      return PosixError(errno, "cannot list object", key);
    }
    if (!S_ISREG(info.st_mode)) return true;
    builder_.Append({std::move(key), static_cast<uint64_t>(info.st_size),
                     int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec});
    return true;
  }

  /// The first kBatchSize names after `done` that can matter, in order.
  Result<SortNames> NextNames(DIR* dir, int fd, const std::string& folder,
                              const std::string& done) {
    // Greatest first, once it is full.
    SortNames heap;
    const Wanted wanted(request_, folder);
    if (!done.empty()) rewinddir(dir);
    while (true) {
      errno = 0;
      const dirent* entry = readdir(dir);
      if (entry == nullptr) break;
      std::string name = SortName(fd, *entry);
      if (name.empty() || name <= done || !IsWanted(wanted, folder, name)) continue;
      if (heap.size() < kBatchSize) {
        heap.push_back(std::move(name));
        if (heap.size() == kBatchSize) std::make_heap(heap.begin(), heap.end());
        continue;
      }
      if (name >= heap.front()) continue;
      std::pop_heap(heap.begin(), heap.end());
      heap.back() = std::move(name);
      std::push_heap(heap.begin(), heap.end());
    }
    if (errno != 0) return PosixError(errno, "cannot list folder", folder);
    std::sort(heap.begin(), heap.end());
    return heap;
  }

  /// Empty for what is neither an object nor a folder.
  static std::string SortName(int fd, const dirent& entry) {
    std::string name = entry.d_name;
    if (!IsValidKey(name)) return {};  // also ".", "..", temporaries
    unsigned char type = entry.d_type;
    if (type == DT_UNKNOWN) {
      struct stat info;
      if (fstatat(fd, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return {};
      type = IFTODT(info.st_mode);
    }
    if (type == DT_DIR) return name + '/';
    return type == DT_REG ? name : std::string();
  }

  /// What is asked of the objects of a folder, without the folder that all keys begin with: names
  /// that cannot matter are passed over before their keys are made.
  struct Wanted {
    Wanted(const ListRequest& request, const std::string& folder)
        : prefix(Below(request.prefix, folder)), start_after(Below(request.start_after, folder)) {}

    /// Nothing where it does not lead into the folder: which folders are walked has been decided,
    /// and the page builder judges the whole key.
    static std::string_view Below(std::string_view text, std::string_view folder) {
      return text.starts_with(folder) ? text.substr(folder.size()) : std::string_view();
    }

    std::string_view prefix;
    std::string_view start_after;
  };

  bool IsWanted(const Wanted& wanted, const std::string& folder, const std::string& name) const {
    if (name.back() == '/') return builder_.WantsFolder(folder + name);
    return name.starts_with(wanted.prefix) && name > wanted.start_after;
  }

  const Context& context_;
  const ListRequest& request_;
  ListPageBuilder builder_;
};

}  // namespace

Result<ListPage> ListFolder(const Context& context, int root, const ListRequest& request) {
  ARROW_RETURN_NOT_OK(CheckListRequest(request));
  std::string folder(SplitKey(request.prefix).folder);
  // No key starts with such a prefix.
  if ((!folder.empty() && !IsValidKey(folder)) || request.prefix.starts_with('/'))
    return ListPage();
  auto fd = OpenFolder(root, folder);
  if (!fd.ok()) {
    if (CodeOf(fd.status()) == ErrorCode::kNotFound) return ListPage();
    return fd.status();
  }
  if (!folder.empty()) folder += '/';
  FolderLister lister(context, request);
  ARROW_RETURN_NOT_OK(lister.Walk(*std::move(fd), folder, /*depth=*/0).status());
  return lister.Take();
}

}  // namespace lake::storage
