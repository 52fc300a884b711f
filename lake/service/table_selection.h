#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lake/service/workspace.h"

namespace lake::service {

/// Which version of a table a user means; nothing but a name is the newest one of the main line.
struct TableSelection {
  std::string table;
  std::optional<uint64_t> version;
  std::string tag;
  std::string branch;
};

/// kInvalidArgument for a version or branch beside a tag.
Result<std::shared_ptr<const commit::OpenTable>> OpenSelection(const Context& context,
                                                               Workspace* workspace,
                                                               const TableSelection& selection);

/// Reads "90s", "30m", "12h", "14d", "2w" or "0" into nanoseconds. kInvalidArgument for other
/// texts and for more than 100 years.
Result<int64_t> ParseDuration(const std::string& text);

}  // namespace lake::service
