#include "lake/catalog/sqlite_rows_internal.h"

#include <array>
#include <limits>

#include <boost/json.hpp>

namespace lake::catalog::sqlite {
namespace {

constexpr std::array<const char*, 5> kKinds = {"table", "view", "materialised_view", "function",
                                               "secret"};
constexpr std::array<const char*, 3> kFormats = {"lance", "iceberg", "other"};
constexpr std::array<const char*, 4> kStates = {"creating", "declared", "live", "deregistered"};

template <typename Enum, size_t kCount>
Result<Enum> ReadEnum(const std::array<const char*, kCount>& texts, const std::string& text,
                      const char* column) {
  for (size_t i = 0; i < kCount; ++i) {
    if (text == texts[i]) return static_cast<Enum>(i);
  }
  return Error(ErrorCode::kCorrupt, "metastore: unknown value in column {}: '{}'", column, text);
}

Result<std::map<std::string, std::string>> ReadProperties(const std::string& text) {
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  std::map<std::string, std::string> properties;
  bool valid = !error && value.is_object();
  if (valid) {
    for (const auto& [key, member] : value.get_object()) {
      if (!member.is_string()) {
        valid = false;
        break;
      }
      properties.emplace(key, std::string(member.get_string()));
    }
  }
  if (!valid) {
    return MakeError(ErrorCode::kCorrupt,
                     "metastore: column properties is not a JSON object of texts");
  }
  return properties;
}

}  // namespace

const char* KindText(EntryKind kind) { return kKinds[static_cast<size_t>(kind)]; }
const char* FormatText(EntryFormat format) { return kFormats[static_cast<size_t>(format)]; }
const char* StateText(EntryState state) { return kStates[static_cast<size_t>(state)]; }

Result<Uuid> ReadUuid(const std::string& text, const char* column) {
  Result<Uuid> uuid = Uuid::Parse(text);
  // SQL compares texts: another spelling would be another table's.
  if (!uuid.ok() || uuid->ToString() != text) {
    return Error(ErrorCode::kCorrupt, "metastore: no UUID in column {}: '{}'", column, text);
  }
  return uuid;
}

Result<int64_t> VersionNumber(uint64_t version) {
  if (version > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Error(ErrorCode::kInvalidArgument, "metastore: version number is too large: {}",
                 version);
  }
  return static_cast<int64_t>(version);
}

Result<std::string> PropertiesText(const std::map<std::string, std::string>& properties) {
  boost::json::object object;
  for (const auto& [key, value] : properties) object[key] = value;
  std::string text = boost::json::serialize(object);
  // The parser checks UTF-8, the serializer does not.
  boost::system::error_code error;
  boost::json::parse(text, error);
  if (error) {
    return MakeError(ErrorCode::kInvalidArgument, "property is not valid UTF-8");
  }
  return text;
}

Result<Entry> ReadEntry(const Statement& statement) {
  Entry entry;
  entry.id = statement.Int(0);
  ARROW_ASSIGN_OR_RAISE(entry.incarnation, ReadUuid(statement.Text(1), "incarnation"));
  entry.name = {statement.Text(2), statement.Text(3)};
  ARROW_ASSIGN_OR_RAISE(entry.kind, ReadEnum<EntryKind>(kKinds, statement.Text(4), "kind"));
  ARROW_ASSIGN_OR_RAISE(entry.format, ReadEnum<EntryFormat>(kFormats, statement.Text(5), "format"));
  ARROW_ASSIGN_OR_RAISE(entry.state, ReadEnum<EntryState>(kStates, statement.Text(6), "state"));
  entry.is_protected = statement.Int(7) != 0;
  entry.location = statement.Text(8);
  entry.version_hint = static_cast<uint64_t>(statement.Int(9));
  if (!statement.IsNull(10)) {
    ARROW_ASSIGN_OR_RAISE(entry.first_transaction,
                          ReadUuid(statement.Text(10), "first_transaction"));
  }
  ARROW_ASSIGN_OR_RAISE(entry.properties, ReadProperties(statement.Text(11)));
  entry.created_nanos = statement.Int(12);
  entry.lease_epoch = statement.Int(13);
  entry.lease_expires_nanos = statement.Int(14);
  return entry;
}

Result<Tombstone> ReadTombstone(const Statement& statement) {
  Tombstone tombstone;
  ARROW_ASSIGN_OR_RAISE(tombstone.entry, ReadEntry(statement));
  tombstone.dropped_nanos = statement.Int(kNumEntryColumns);
  tombstone.purge_after_nanos = statement.Int(kNumEntryColumns + 1);
  tombstone.reason = statement.Text(kNumEntryColumns + 2);
  return tombstone;
}

}  // namespace lake::catalog::sqlite
