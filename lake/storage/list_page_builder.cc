#include "lake/storage/list_page_builder.h"

#include <utility>

namespace lake::storage {
namespace {

// No byte of UTF-8 is as great, so prefix + this sorts after every key with the prefix.
constexpr char kAfterAllKeys = '\xFF';

}  // namespace

ListPageBuilder::Verdict ListPageBuilder::Judge(std::string_view key) {
  if (!key.starts_with(request_.prefix) || key <= request_.start_after) return Verdict::kSkip;
  if (!page_.common_prefixes.empty() && key.starts_with(page_.common_prefixes.back())) {
    return Verdict::kSkip;
  }
  if (size() == request_.max_keys) {
    page_.next_start_after = resume_after_;
    return Verdict::kFull;
  }
  if (!request_.delimiter.empty()) {
    size_t at = key.find(request_.delimiter, request_.prefix.size());
    if (at != key.npos) {
      page_.common_prefixes.emplace_back(key.substr(0, at + request_.delimiter.size()));
      resume_after_ = page_.common_prefixes.back() + kAfterAllKeys;
      return Verdict::kSkip;
    }
  }
  return Verdict::kTake;
}

void ListPageBuilder::Append(ObjectInfo info) {
  resume_after_ = info.key;
  page_.objects.push_back(std::move(info));
}

bool ListPageBuilder::WantsFolder(std::string_view folder) const {
  const std::string& prefix = request_.prefix;
  if (!folder.starts_with(prefix) && !std::string_view(prefix).starts_with(folder)) return false;
  const std::string& after = request_.start_after;
  if (after.starts_with(folder)) {
    // The last page ended with this folder as a common prefix.
    if (after.size() > folder.size() && after[folder.size()] == kAfterAllKeys) return false;
  } else if (folder < after) {
    return false;
  }
  return page_.common_prefixes.empty() || !folder.starts_with(page_.common_prefixes.back());
}

Status CheckListRequest(const ListRequest& request) {
  if (request.max_keys < 1 || request.max_keys > 1000) {
    return Error(ErrorCode::kInvalidArgument,
                 "cannot list: max_keys must be between 1 and 1000, not {}", request.max_keys);
  }
  return Status::OK();
}

}  // namespace lake::storage
