#pragma once

#include <string>
#include <string_view>

#include "lake/storage/object_store.h"

namespace lake::storage {

/// Turns keys in ascending byte order into one page: prefix, start, roll-up by delimiter, page
/// size. Shared by all stores that list by themselves, so that they cannot differ. Not thread-safe.
class ListPageBuilder {
 public:
  /// REQUIRES: CheckListRequest(request) is OK. `request` outlives the builder.
  explicit ListPageBuilder(const ListRequest& request) : request_(request) {}

  enum class Verdict {
    kTake,  ///< The caller appends the object with Append.
    kSkip,  ///< Not part of this page, or rolled up into a common prefix.
    kFull,  ///< The page is full and the key belongs on the next one: stop.
  };

  /// Judges the next key.
  Verdict Judge(std::string_view key);

  /// Adds the object that Judge just said kTake to.
  void Append(ObjectInfo info);

  /// False if no key that starts with `folder` (ending in '/') can become part of the page any
  /// more, so that a store need not look inside.
  bool WantsFolder(std::string_view folder) const;

  ListPage Take() { return std::move(page_); }

 private:
  size_t size() const { return page_.objects.size() + page_.common_prefixes.size(); }

  const ListRequest& request_;
  ListPage page_;
  /// Greater than everything on the page and smaller than everything after it.
  std::string resume_after_;
};

/// kInvalidArgument unless max_keys is between 1 and 1000.
Status CheckListRequest(const ListRequest& request);

}  // namespace lake::storage
