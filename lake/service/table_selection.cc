#include "lake/service/table_selection.h"

#include <charconv>
#include <utility>

#include "lake/service/payload_hash.h"

namespace lake::service {

Result<std::shared_ptr<const commit::OpenTable>> OpenSelection(const Context& context,
                                                               Workspace* workspace,
                                                               const TableSelection& selection) {
  ARROW_ASSIGN_OR_RAISE(catalog::QualifiedName name, ParseTableName(selection.table));
  table::OpenOptions options;
  options.version = selection.version;
  if (!selection.tag.empty()) options.tag = selection.tag;
  if (!selection.branch.empty() && selection.branch != "main") options.branch = selection.branch;
  return workspace->lakehouse().OpenByName(context, workspace->principal(), name,
                                           catalog::NameMatch::kSql, options);
}

commit::OperationKey OperationOn(const TableSelection& selection, std::string_view command,
                                 std::string id, const std::vector<std::string>& arguments) {
  if (id.empty()) return {};
  PayloadHash hash("lake.table.v1");
  hash.Add(command);
  hash.Add(selection.table);
  hash.Add(selection.version ? std::to_string(*selection.version) : "");
  hash.Add(selection.tag);
  hash.Add(selection.branch);
  for (const std::string& argument : arguments) hash.Add(argument);
  return {.operation_id = std::move(id), .payload_digest = hash.Finish()};
}

Result<int64_t> ParseDuration(const std::string& text) {
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr int64_t kLongest = int64_t{100} * 365 * 24 * 3600;
  auto bad = [&] {
    return Error(ErrorCode::kInvalidArgument,
                 "a duration is a number with s, m, h, d or w behind it, or 0; not '{}'", text);
  };
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return bad();
  int64_t seconds = 1;
  if (unit == end) {
    if (number != 0) return bad();
  } else if (unit + 1 != end) {
    return bad();
  } else {
    switch (*unit) {
      case 's':
        seconds = 1;
        break;
      case 'm':
        seconds = 60;
        break;
      case 'h':
        seconds = 3600;
        break;
      case 'd':
        seconds = 24 * 3600;
        break;
      case 'w':
        seconds = 7 * 24 * 3600;
        break;
      default:
        return bad();
    }
  }
  if (number > static_cast<uint64_t>(kLongest / seconds)) return bad();
  return static_cast<int64_t>(number) * seconds * kSecond;
}

}  // namespace lake::service
