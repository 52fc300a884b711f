#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lake/table/manifest_internal.h"
#include "lake/table/transaction.h"

namespace lake::table {

/// The index section of a manifest that is being built. It goes over byte for byte unless an
/// operation changes it; entries that lake does not know keep all they hold.
class IndexSection {
 public:
  IndexSection() = default;
  explicit IndexSection(std::optional<std::string> bytes) : bytes_(std::move(bytes)) {}

  /// What to write.
  Result<std::optional<std::string>> Finish() const;

  void Clear();

  /// Drops indices on a field that is not in `fields`. System indices have none and stay.
  Status KeepFields(const std::set<int32_t>& fields);

  /// The values of `fields` in `fragments` changed in place: indices on them cover these no more.
  Status Uncover(const std::vector<uint64_t>& fragments, const std::set<int32_t>& fields);

  /// Rows with stable ids moved from `from` to `to` with only `changed` fields new: indices that
  /// hold ids of rows, are on other fields and cover all of `from`, cover `to`.
  Status CoverMoved(const std::vector<uint64_t>& from, const std::vector<uint64_t>& to,
                    const std::set<int32_t>& changed);

  /// Groups of fragments were rewritten: an index covers all of a group or nothing of it. One that
  /// covers some is brought along by `rewritten`, or holds row ids that stay (`stable_row_ids`), or
  /// covers the new ones no more.
  Status Rewrite(const RewriteOperation& operation, bool stable_row_ids);

  Status Replace(const CreateIndexOperation& operation);

  /// Drops vector indices that cover none of `fragments`, as upstream does: it cannot bring them up
  /// to date. Scalar ones stay.
  Status DropEmptyVectorIndices(const std::set<uint64_t>& fragments);

  /// Sets the base of entries that have none.
  Status SetBase(uint32_t base_id);

 private:
  Status Load();

  std::optional<std::string> bytes_;
  /// Set once an operation looked into it.
  std::optional<pb::IndexSection> section_;
  bool changed_ = false;
};

}  // namespace lake::table
