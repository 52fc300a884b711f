#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// The operation `id` (none if empty) of `command` on `selection`: its digest is made of all that
/// was asked for, `arguments` included, so that the same id is not taken for anything else.
commit::OperationKey OperationOn(const TableSelection& selection, std::string_view command,
                                 std::string id, const std::vector<std::string>& arguments = {});

/// Reads "90s", "30m", "12h", "14d", "2w" or "0" into nanoseconds. kInvalidArgument for other
/// texts and for more than 100 years.
Result<int64_t> ParseDuration(const std::string& text);

}  // namespace lake::service
