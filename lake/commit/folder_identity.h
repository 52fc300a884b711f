#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lake/base/context.h"
#include "lake/base/uuid.h"
#include "lake/storage/object_store.h"

namespace lake::commit {

/// What `lake.json` says: which data folder this is. Written once, when the folder is made.
struct FolderIdentity {
  Uuid deployment_id;
  /// Under which locations of managed objects are minted and checked, wherever the folder lies
  /// today.
  std::string stage_uri;

  /// The bytes of lake.json. Members of `previous` (an older lake.json) that this program does not
  /// know are kept.
  std::string Encode(std::string_view previous = {}) const;
  /// kUnsupported if the format version is newer than this program; kCorrupt names what is wrong.
  static Result<FolderIdentity> Decode(std::string_view text);
};

inline constexpr char kIdentityKey[] = "lake.json";
/// The format version of data folders that this program reads and writes.
inline constexpr int64_t kFolderFormatVersion = 1;

/// Reads the identity of the folder that `store` is rooted at, or nothing if it has none yet.
Result<std::optional<FolderIdentity>> ReadIdentity(const Context& context,
                                                   storage::ObjectStore* store);

/// Gives the folder an identity with `stage_uri`, durably. If another process was faster, its
/// identity.
Result<FolderIdentity> CreateIdentity(const Context& context, storage::ObjectStore* store,
                                      const std::string& stage_uri);

}  // namespace lake::commit
