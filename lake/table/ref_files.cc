// Tags and branches as JSON. Older writers spell the keys with underscores.

#include <charconv>
#include <chrono>
#include <limits>

#include <boost/json.hpp>

#include "lake/table/inspect.h"
#include "lake/table/ref_files_internal.h"

namespace lake::table {

namespace {

namespace json = boost::json;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

Status Corrupt(const std::string& key, std::string_view reason) {
  return Error(ErrorCode::kCorrupt, "reference of a table cannot be read: {}: {}", key, reason);
}

Result<json::object> ParseObject(std::string_view bytes, const std::string& key) {
  json::error_code error;
  json::value value = json::parse(bytes, error);
  if (error) return Corrupt(key, error.message());
  if (!value.is_object()) return Corrupt(key, "it is no JSON object");
  return std::move(value.as_object());
}

/// The value under either spelling; null for a missing one or a JSON null.
const json::value* Find(const json::object& object, std::string_view name,
                        std::string_view old_name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) value = object.if_contains(old_name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<uint64_t> Number(const json::value* value, std::string_view name, const std::string& key) {
  if (value == nullptr) return Corrupt(key, fmt::format("it has no {}", name));
  if (value->is_uint64()) return value->get_uint64();
  if (value->is_int64() && value->get_int64() >= 0) {
    return static_cast<uint64_t>(value->get_int64());
  }
  return Corrupt(key, fmt::format("{} is no number of zero or more", name));
}

Result<std::optional<std::string>> Text(const json::value* value, std::string_view name,
                                        const std::string& key) {
  if (value == nullptr) return std::optional<std::string>();
  if (!value->is_string()) return Corrupt(key, fmt::format("{} is no text", name));
  return std::optional<std::string>(std::string(value->get_string()));
}

std::map<std::string, std::string> Metadata(const json::object& object) {
  std::map<std::string, std::string> metadata;
  const json::value* value = object.if_contains("metadata");
  if (value == nullptr || !value->is_object()) return metadata;
  for (const auto& [name, text] : value->get_object()) {
    if (text.is_string()) metadata[name] = std::string(text.get_string());
  }
  return metadata;
}

json::object ToJson(const std::map<std::string, std::string>& metadata) {
  json::object object;
  for (const auto& [name, text] : metadata) object[name] = text;
  return object;
}

/// Reads decimal digits at `*text`, exactly `width` of them.
bool TakeDigits(std::string_view* text, size_t width, int* number) {
  if (text->size() < width) return false;
  auto [end, error] = std::from_chars(text->data(), text->data() + width, *number);
  if (error != std::errc() || end != text->data() + width) return false;
  text->remove_prefix(width);
  return true;
}

bool Take(std::string_view* text, char expected) {
  if (text->empty() || text->front() != expected) return false;
  text->remove_prefix(1);
  return true;
}

/// A time such as "2026-11-29T17:46:15.865840167Z"; nothing for anything else. For people only.
std::optional<int64_t> ParseTime(const json::value* value) {
  if (value == nullptr || !value->is_string()) return std::nullopt;
  std::string_view text = value->get_string();
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!TakeDigits(&text, 4, &year) || !Take(&text, '-') || !TakeDigits(&text, 2, &month) ||
      !Take(&text, '-') || !TakeDigits(&text, 2, &day) || !Take(&text, 'T') ||
      !TakeDigits(&text, 2, &hour) || !Take(&text, ':') || !TakeDigits(&text, 2, &minute) ||
      !Take(&text, ':') || !TakeDigits(&text, 2, &second)) {
    return std::nullopt;
  }
  int64_t nanos = 0;
  if (Take(&text, '.')) {
    int64_t unit = kNanosPerSecond;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9' && unit > 1) {
      unit /= 10;
      nanos += (text.front() - '0') * unit;
      text.remove_prefix(1);
    }
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (text != "Z" || !date.ok() || year < 1970 || year > 2200 || hour > 23 || minute > 59 ||
      second > 60) {
    return std::nullopt;
  }
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * kNanosPerSecond + nanos;
}

}  // namespace

std::string EncodeTag(const Tag& tag) {
  json::object object;
  object["branch"] = tag.target.branch ? json::value(*tag.target.branch) : json::value(nullptr);
  object["version"] = tag.target.version;
  object["createdAt"] = TimestampText(tag.created_nanos.value_or(0));
  object["updatedAt"] = TimestampText(tag.updated_nanos.value_or(0));
  object["manifestSize"] = tag.manifest_size;
  object["metadata"] = ToJson(tag.metadata);
  return json::serialize(object);
}

Result<Tag> DecodeTag(std::string_view bytes, const std::string& name, const std::string& key) {
  ARROW_ASSIGN_OR_RAISE(json::object object, ParseObject(bytes, key));
  Tag tag;
  tag.name = name;
  ARROW_ASSIGN_OR_RAISE(tag.target.branch, Text(Find(object, "branch", "branch"), "branch", key));
  if (tag.target.branch) {
    if (!CheckBranchName(*tag.target.branch).ok()) return Corrupt(key, "its branch has a bad name");
  }
  ARROW_ASSIGN_OR_RAISE(tag.target.version,
                        Number(Find(object, "version", "version"), "version", key));
  if (const json::value* size = Find(object, "manifestSize", "manifest_size")) {
    ARROW_ASSIGN_OR_RAISE(tag.manifest_size, Number(size, "manifestSize", key));
  }
  tag.created_nanos = ParseTime(Find(object, "createdAt", "created_at"));
  tag.updated_nanos = ParseTime(Find(object, "updatedAt", "updated_at"));
  tag.metadata = Metadata(object);
  return tag;
}

std::string EncodeBranch(const Branch& branch) {
  json::array mapping;
  for (const auto& [version, id] : branch.identifier) mapping.push_back(json::array{version, id});
  json::object object;
  object["parentBranch"] =
      branch.parent.branch ? json::value(*branch.parent.branch) : json::value(nullptr);
  object["identifier"] = json::object{{"version_mapping", std::move(mapping)}};
  object["parentVersion"] = branch.parent.version;
  object["createAt"] = branch.created_nanos / kNanosPerSecond;
  object["manifestSize"] = branch.manifest_size;
  object["metadata"] = ToJson(branch.metadata);
  return json::serialize(object);
}

Result<Branch> DecodeBranch(std::string_view bytes, const std::string& name,
                            const std::string& key) {
  ARROW_ASSIGN_OR_RAISE(json::object object, ParseObject(bytes, key));
  Branch branch;
  branch.name = name;
  ARROW_ASSIGN_OR_RAISE(branch.parent.branch,
                        Text(Find(object, "parentBranch", "parent_branch"), "parentBranch", key));
  if (branch.parent.branch && !CheckBranchName(*branch.parent.branch).ok()) {
    return Corrupt(key, "its parent has a bad name");
  }
  ARROW_ASSIGN_OR_RAISE(
      branch.parent.version,
      Number(Find(object, "parentVersion", "parent_version"), "parentVersion", key));
  if (const json::value* created = Find(object, "createAt", "create_at")) {
    ARROW_ASSIGN_OR_RAISE(uint64_t seconds, Number(created, "createAt", key));
    if (seconds < std::numeric_limits<int64_t>::max() / kNanosPerSecond) {
      branch.created_nanos = static_cast<int64_t>(seconds) * kNanosPerSecond;
    }
  }
  if (const json::value* size = Find(object, "manifestSize", "manifest_size")) {
    ARROW_ASSIGN_OR_RAISE(branch.manifest_size, Number(size, "manifestSize", key));
  }
  // Older writers have no identifier, and nobody needs it to read.
  const json::value* identifier = object.if_contains("identifier");
  const json::value* mapping = identifier != nullptr && identifier->is_object()
                                   ? identifier->get_object().if_contains("version_mapping")
                                   : nullptr;
  if (mapping != nullptr && mapping->is_array()) {
    for (const json::value& step : mapping->get_array()) {
      if (!step.is_array() || step.get_array().size() != 2 || !step.get_array()[1].is_string()) {
        return Corrupt(key, "its identifier is no list of versions and ids");
      }
      ARROW_ASSIGN_OR_RAISE(uint64_t version, Number(&step.get_array()[0], "identifier", key));
      branch.identifier.emplace_back(version, std::string(step.get_array()[1].get_string()));
    }
  }
  branch.metadata = Metadata(object);
  return branch;
}

}  // namespace lake::table
