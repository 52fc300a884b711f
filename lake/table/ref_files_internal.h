#pragma once

#include <string>
#include <string_view>

#include "lake/table/refs.h"

namespace lake::table {

/// The bytes of the files under `_refs/`, and back. kCorrupt names `key`.
std::string EncodeTag(const Tag& tag);
Result<Tag> DecodeTag(std::string_view bytes, const std::string& name, const std::string& key);
std::string EncodeBranch(const Branch& branch);
Result<Branch> DecodeBranch(std::string_view bytes, const std::string& name,
                            const std::string& key);

}  // namespace lake::table
