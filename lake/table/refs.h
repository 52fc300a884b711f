#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"

namespace lake::table {

/// A version of a table: of its main line, or of a branch. A plain value.
struct VersionRef {
  /// Nothing: the main line.
  std::optional<std::string> branch;
  uint64_t version = 0;

  auto operator<=>(const VersionRef&) const = default;
  /// Such as "version 3" or "version 3 of branch dev/b1".
  std::string ToString() const;
};

/// A name for a version. Format facts: docs/format/refs.md.
struct Tag {
  std::string name;
  VersionRef target;
  /// Nothing where an old writer did not note it.
  std::optional<int64_t> created_nanos;
  std::optional<int64_t> updated_nanos;
  uint64_t manifest_size = 0;
  std::map<std::string, std::string> metadata;
};

/// A line of versions of its own that began at a version of the table.
struct Branch {
  std::string name;
  VersionRef parent;
  int64_t created_nanos = 0;
  uint64_t manifest_size = 0;
  /// From the first ancestor down to this branch: where each left its parent, and a random id.
  std::vector<std::pair<uint64_t, std::string>> identifier;
  std::map<std::string, std::string> metadata;
};

/// Tags whose names start so are made by lake: they keep versions that something reads.
inline constexpr std::string_view kPinPrefix = "lake-pin-";
/// The same for a shallow clone; the incarnation of the clone follows.
inline constexpr std::string_view kClonePinPrefix = "lake-clone-";

/// kInvalidArgument, naming the rule, unless upstream takes the name too. Only ASCII passes:
/// upstream cannot list a table that has other tags.
Status CheckTagName(const std::string& name);
Status CheckBranchName(const std::string& name);

/// `tree/<branch>`, or an empty string for the main line.
std::string BranchFolder(const std::optional<std::string>& branch);

/// The store of a line of versions; `store` is rooted at the table's folder.
std::shared_ptr<storage::ObjectStore> LineStore(std::shared_ptr<storage::ObjectStore> store,
                                                const std::optional<std::string>& branch);

/// All tags by name, ascending. kCorrupt names the file that cannot be read.
Result<std::vector<Tag>> ListTags(const Context& context, storage::ObjectStore* store);
/// kNotFound.
Result<Tag> ReadTag(const Context& context, storage::ObjectStore* store, const std::string& name);

/// What changes tags and branches is kUnsupported where the newest version of their line has flags
/// that lake does not write.

/// Names a version that exists. Durable when it returns. kAlreadyExists; kNotFound if the version
/// is not there, or was cleaned up meanwhile.
Result<Tag> CreateTag(const Context& context, const std::shared_ptr<storage::ObjectStore>& store,
                      const std::string& name, const VersionRef& target);
/// Points a tag at another version. kNotFound. Of two racing updates the later one stands.
Result<Tag> UpdateTag(const Context& context, const std::shared_ptr<storage::ObjectStore>& store,
                      const std::string& name, const VersionRef& target);
/// kNotFound.
Status DeleteTag(const Context& context, const std::shared_ptr<storage::ObjectStore>& store,
                 const std::string& name);

/// All branches by name, ascending.
Result<std::vector<Branch>> ListBranches(const Context& context, storage::ObjectStore* store);
/// kNotFound.
Result<Branch> ReadBranch(const Context& context, storage::ObjectStore* store,
                          const std::string& name);

/// Where the files of tags and branches lie.
std::string TagKey(const std::string& name);
std::string BranchKey(const std::string& name);

}  // namespace lake::table
