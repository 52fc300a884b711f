#include "lake/commit/leftovers.h"

#include <map>
#include <string_view>
#include <unordered_set>

#include <arrow/buffer.h>

#include "lake/commit/lakehouse_core.h"
#include "lake/table/manifest.h"

namespace lake::commit {
namespace {

constexpr int64_t kPossiblyInUseNanos = int64_t{3600} * 1'000'000'000;
constexpr uint64_t kMaxManifestBytes = 1ull << 30;

// "tables/a/b/x.lance/data/f" -> "tables/a/b/x.lance", or nothing.
std::string_view DatasetRoot(std::string_view key) {
  constexpr std::string_view kEnd = ".lance/";
  size_t found = key.find(kEnd);
  return found == std::string_view::npos ? std::string_view() : key.substr(0, found + 6);
}

std::string_view FileName(std::string_view key) { return key.substr(key.rfind('/') + 1); }

// In a folder `_versions`, of the main line or of a branch. Names of attempts that never became a
// version
// ("....manifest-<uuid>", "....manifest#1") do not count.
bool IsManifestKey(std::string_view key) {
  return key.find("/_versions/") != std::string_view::npos && key.ends_with(".manifest");
}

class LeftoverSearch {
 public:
  LeftoverSearch(const Context& context, storage::ObjectStore* store)
      : context_(context), store_(store) {}

  Result<LeftoverReport> Run() {
    storage::ListRequest request;
    request.prefix = std::string(kTablesFolder) + "/";
    do {
      ARROW_RETURN_NOT_OK(context_.Check());
      ARROW_ASSIGN_OR_RAISE(storage::ListPage page, store_->List(context_, request));
      for (const storage::ObjectInfo& object : page.objects) ARROW_RETURN_NOT_OK(Visit(object));
      request.start_after = page.next_start_after;
    } while (!request.start_after.empty());

    const int64_t now = context_.clock->UnixNanos();
    for (const storage::ObjectInfo& file : data_files_) {
      if (named_.contains(std::string(FileName(file.key)))) continue;
      if (unreadable_.contains(std::string(DatasetRoot(file.key)))) continue;
      report_.leftovers.push_back(
          {.key = file.key,
           .size = file.size,
           .possibly_in_use = now - file.modified_nanos < kPossiblyInUseNanos});
    }
    for (const auto& [root, reason] : unreadable_) {
      report_.unreadable.push_back(fmt::format("{}: {}", root, reason));
    }
    return std::move(report_);
  }

 private:
  Status Visit(const storage::ObjectInfo& object) {
    std::string_view root = DatasetRoot(object.key);
    if (root.empty()) return Status::OK();
    if (IsManifestKey(object.key)) return ReadManifest(std::string(root), object);
    if (object.key.find("/data/", root.size()) != std::string::npos) data_files_.push_back(object);
    return Status::OK();
  }

  Status ReadManifest(const std::string& root, const storage::ObjectInfo& object) {
    Result<std::shared_ptr<arrow::Buffer>> bytes =
        store_->GetAll(context_, object.key, kMaxManifestBytes);
    if (!bytes.ok()) {
      // Cleaned up by another program since the listing.
      if (CodeOf(bytes.status()) == ErrorCode::kNotFound) return Status::OK();
      ARROW_RETURN_NOT_OK(context_.Check());
      unreadable_.emplace(root, ErrorText(bytes.status()));
      return Status::OK();
    }
    Result<std::shared_ptr<const table::Manifest>> manifest =
        table::Manifest::Decode(**bytes, object.key);
    if (!manifest.ok()) {
      unreadable_.emplace(root, ErrorText(manifest.status()));
      return Status::OK();
    }
    for (const table::Fragment& fragment : (*manifest)->fragments()) {
      for (const table::DataFile& file : fragment.files) {
        named_.emplace(FileName(file.path));
      }
    }
    return Status::OK();
  }

  const Context& context_;
  storage::ObjectStore* const store_;
  std::unordered_set<std::string> named_;
  std::vector<storage::ObjectInfo> data_files_;
  std::map<std::string, std::string> unreadable_;
  LeftoverReport report_;
};

}  // namespace

Result<LeftoverReport> FindLeftoverFiles(const Context& context, storage::ObjectStore* store) {
  return LeftoverSearch(context, store).Run();
}

}  // namespace lake::commit
