#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lake/table/refs.h"

namespace lake::table {

/// More than any file under `_refs/` has.
inline constexpr uint64_t kMaxRefBytes = 1 << 20;

/// The bytes of the files under `_refs/`, and back. kCorrupt names `key`.
std::string EncodeTag(const Tag& tag);
Result<Tag> DecodeTag(std::string_view bytes, const std::string& name, const std::string& key);
std::string EncodeBranch(const Branch& branch);
Result<Branch> DecodeBranch(std::string_view bytes, const std::string& name,
                            const std::string& key);

/// Puts the file of a tag or branch, durably. kPreconditionFailed, if asked for: another one is
/// there. kCommitUnknown: it may be seen or not, or be gone after a power loss. Other errors: it
/// was not put.
Status PutReference(const Context& context, storage::ObjectStore* store, const std::string& key,
                    const std::string& bytes, storage::PutCondition condition);

/// Removes the file of a tag or branch, durably; one that is gone is OK. Errors as above.
Status RemoveReference(const Context& context, storage::ObjectStore* store, const std::string& key);

}  // namespace lake::table
