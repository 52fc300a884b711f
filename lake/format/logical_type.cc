#include "lake/format/logical_type.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/key_value_metadata.h>

namespace lake::format {
namespace {

constexpr std::string_view kFixedSizeList = "fixed_size_list:";
constexpr std::string_view kFixedSizeStructs = "fixed_size_list:struct:";
constexpr std::string_view kDictionary = "dict:";
// Item type of a fixed-size list of bfloat16, which Arrow has as an extension type only.
constexpr std::string_view kBfloat16 = "lance.bfloat16";
constexpr char kExtensionName[] = "ARROW:extension:name";
constexpr char kExtensionMetadata[] = "ARROW:extension:metadata";
constexpr size_t kMaxPath = 256;

struct NamedType {
  std::string_view logical;
  std::shared_ptr<arrow::DataType> type;
};

// Every type whose name has no free part.
const std::vector<NamedType>& NamedTypes() {
  static const std::vector<NamedType>* const types = new std::vector<NamedType>{
      {"null", arrow::null()},
      {"bool", arrow::boolean()},
      {"int8", arrow::int8()},
      {"uint8", arrow::uint8()},
      {"int16", arrow::int16()},
      {"uint16", arrow::uint16()},
      {"int32", arrow::int32()},
      {"uint32", arrow::uint32()},
      {"int64", arrow::int64()},
      {"uint64", arrow::uint64()},
      {"halffloat", arrow::float16()},
      {"float", arrow::float32()},
      {"double", arrow::float64()},
      {"string", arrow::utf8()},
      {"large_string", arrow::large_utf8()},
      {"binary", arrow::binary()},
      {"large_binary", arrow::large_binary()},
      {"date32:day", arrow::date32()},
      {"date64:ms", arrow::date64()},
      {"time32:s", arrow::time32(arrow::TimeUnit::SECOND)},
      {"time32:ms", arrow::time32(arrow::TimeUnit::MILLI)},
      {"time64:us", arrow::time64(arrow::TimeUnit::MICRO)},
      {"time64:ns", arrow::time64(arrow::TimeUnit::NANO)},
      {"duration:s", arrow::duration(arrow::TimeUnit::SECOND)},
      {"duration:ms", arrow::duration(arrow::TimeUnit::MILLI)},
      {"duration:us", arrow::duration(arrow::TimeUnit::MICRO)},
      {"duration:ns", arrow::duration(arrow::TimeUnit::NANO)},
  };
  return *types;
}

struct NamedUnit {
  std::string_view name;
  arrow::TimeUnit::type unit;
};
constexpr std::array<NamedUnit, 4> kUnits{{{"s", arrow::TimeUnit::SECOND},
                                           {"ms", arrow::TimeUnit::MILLI},
                                           {"us", arrow::TimeUnit::MICRO},
                                           {"ns", arrow::TimeUnit::NANO}}};

template <typename T>
std::optional<T> ParseInt(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// What can stand in a fixed-size list: values of equal size.
bool IsFixedItem(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::DICTIONARY:
    case arrow::Type::EXTENSION:
    case arrow::Type::STRUCT:
    case arrow::Type::NA:
      return false;
    case arrow::Type::FIXED_SIZE_LIST:
      return true;
    default:
      return arrow::is_fixed_width(type.id());
  }
}

// A value of no bytes would be lost, one of more than an int counts in bits lies nowhere.
bool IsFixedBinaryWidth(int32_t bytes) {
  return bytes > 0 && bytes <= std::numeric_limits<int32_t>::max() / 8;
}

bool IsDictionaryValue(const arrow::DataType& type) {
  return arrow::is_base_binary_like(type.id()) ||
         (IsFixedItem(type) && type.id() != arrow::Type::FIXED_SIZE_LIST);
}

// Parses one text, with the column's path for its errors.
class TypeParser {
 public:
  TypeParser(const std::string& whole, const std::string& path) : whole_(whole), path_(path) {}

  Result<std::shared_ptr<arrow::DataType>> Parse(std::string_view text, int depth) const;

 private:
  Status Bad() const {
    return Error(ErrorCode::kCorrupt,
                 "the type of a column is not well-formed: column '{}', type '{}'", path_,
                 whole_.substr(0, kMaxPath));
  }
  Status Unread() const {
    return Error(ErrorCode::kUnsupported,
                 "a column of this Lance type is not read: column '{}', type {}", path_,
                 whole_.substr(0, kMaxPath));
  }
  Result<std::shared_ptr<arrow::DataType>> ParseDecimal(std::string_view rest, bool wide) const;
  Result<std::shared_ptr<arrow::DataType>> ParseTimestamp(std::string_view rest) const;
  Result<std::shared_ptr<arrow::DataType>> ParseList(std::string_view rest, int depth) const;
  Result<std::shared_ptr<arrow::DataType>> ParseDictionary(std::string_view rest, int depth) const;

  const std::string& whole_;
  const std::string& path_;
};

Result<std::shared_ptr<arrow::DataType>> TypeParser::ParseDecimal(std::string_view rest,
                                                                  bool wide) const {
  const size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return Bad();
  const auto precision = ParseInt<int32_t>(rest.substr(0, colon));
  const auto scale = ParseInt<int32_t>(rest.substr(colon + 1));
  const int32_t most =
      wide ? arrow::Decimal256Type::kMaxPrecision : arrow::Decimal128Type::kMaxPrecision;
  if (!precision || !scale || *precision < 1 || *precision > most || *scale < -128 ||
      *scale > 127) {
    return Bad();
  }
  if (wide) return arrow::decimal256(*precision, *scale);
  return arrow::decimal128(*precision, *scale);
}

Result<std::shared_ptr<arrow::DataType>> TypeParser::ParseTimestamp(std::string_view rest) const {
  // The zone may hold colons itself, as in "+01:00".
  const size_t colon = rest.find(':');
  for (const NamedUnit& unit : kUnits) {
    if (colon == std::string_view::npos || rest.substr(0, colon) != unit.name) continue;
    const std::string_view zone = rest.substr(colon + 1);
    return zone == "-" ? arrow::timestamp(unit.unit)
                       : arrow::timestamp(unit.unit, std::string(zone));
  }
  return Bad();
}

Result<std::shared_ptr<arrow::DataType>> TypeParser::ParseList(std::string_view rest,
                                                               int depth) const {
  // The item's type may hold colons itself; the size stands last.
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return Bad();
  const auto size = ParseInt<int32_t>(rest.substr(colon + 1));
  if (!size || *size < 0) return Bad();
  if (*size == 0) return Unread();
  const std::string_view item = rest.substr(0, colon);
  if (item == kBfloat16) {
    return arrow::fixed_size_list(
        arrow::field("item", arrow::fixed_size_binary(2), true,
                     arrow::key_value_metadata({kExtensionName, kExtensionMetadata},
                                               {std::string(kBfloat16), ""})),
        *size);
  }
  ARROW_ASSIGN_OR_RAISE(auto type, Parse(item, depth + 1));
  if (!IsFixedItem(*type)) return Unread();
  return arrow::fixed_size_list(arrow::field("item", std::move(type)), *size);
}

Result<std::shared_ptr<arrow::DataType>> TypeParser::ParseDictionary(std::string_view rest,
                                                                     int depth) const {
  // Value, key, "false": the value's type may hold colons itself.
  const size_t last = rest.rfind(':');
  const size_t middle =
      last == std::string_view::npos || last == 0 ? last : rest.rfind(':', last - 1);
  if (middle == std::string_view::npos || last == 0) return Bad();
  const std::string_view ordered = rest.substr(last + 1);
  if (ordered != "false" && ordered != "true") return Bad();
  ARROW_ASSIGN_OR_RAISE(auto key, Parse(rest.substr(middle + 1, last - middle - 1), depth + 1));
  ARROW_ASSIGN_OR_RAISE(auto value, Parse(rest.substr(0, middle), depth + 1));
  if (!arrow::is_integer(key->id())) return Bad();
  if (!IsDictionaryValue(*value)) return Unread();
  return arrow::dictionary(std::move(key), std::move(value), ordered == "true");
}

Result<std::shared_ptr<arrow::DataType>> TypeParser::Parse(std::string_view text, int depth) const {
  if (depth > kMaxTypeDepth) return Bad();
  for (const NamedType& named : NamedTypes()) {
    if (named.logical == text) return named.type;
  }
  if (text.starts_with("decimal:128:")) return ParseDecimal(text.substr(12), false);
  if (text.starts_with("decimal:256:")) return ParseDecimal(text.substr(12), true);
  if (text.starts_with("timestamp:")) return ParseTimestamp(text.substr(10));
  if (text.starts_with("fixed_size_binary:")) {
    const auto width = ParseInt<int32_t>(text.substr(18));
    if (!width || *width < 0) return Bad();
    if (!IsFixedBinaryWidth(*width)) return Unread();
    return arrow::fixed_size_binary(*width);
  }
  if (text.starts_with(kFixedSizeList)) return ParseList(text.substr(kFixedSizeList.size()), depth);
  if (text.starts_with(kDictionary)) return ParseDictionary(text.substr(kDictionary.size()), depth);
  if (text == "json" || text == "blob" || HasChildFields(std::string(text))) return Unread();
  return Error(ErrorCode::kUnsupported,
               "a column has a type that is not known: column '{}', type '{}'", path_,
               whole_.substr(0, kMaxPath));
}

// Names an Arrow type, with the column's path for its errors.
class TypeNamer {
 public:
  explicit TypeNamer(const std::string& path) : path_(path) {}

  Result<std::string> Name(const arrow::DataType& type, int depth) const;

 private:
  Status Refuse(const arrow::DataType& type) const {
    return Error(ErrorCode::kUnsupported,
                 "a column of this type is neither read nor written: column '{}', type {}", path_,
                 type.ToString());
  }
  Result<std::string> NameList(const arrow::FixedSizeListType& list, int depth) const;

  const std::string& path_;
};

Result<std::string> TypeNamer::NameList(const arrow::FixedSizeListType& list, int depth) const {
  if (list.list_size() == 0) return Refuse(list);
  const arrow::Field& item = *list.value_field();
  const arrow::DataType* type = item.type().get();
  std::string extension;
  if (type->id() == arrow::Type::EXTENSION) {
    const auto& extended = static_cast<const arrow::ExtensionType&>(*type);
    extension = extended.extension_name();
    type = extended.storage_type().get();
  } else if (item.metadata() != nullptr) {
    extension = item.metadata()->Get(kExtensionName).ValueOr("");
  }
  if (type->id() == arrow::Type::STRUCT) {
    return fmt::format("{}{}", kFixedSizeStructs, list.list_size());
  }
  if (!IsFixedItem(*type)) return Refuse(list);
  if (extension == kBfloat16) {
    return fmt::format("{}{}:{}", kFixedSizeList, kBfloat16, list.list_size());
  }
  ARROW_ASSIGN_OR_RAISE(const std::string name, Name(*type, depth + 1));
  // A list of lists of structs has no name.
  if (name.starts_with(kFixedSizeStructs)) return Refuse(list);
  return fmt::format("{}{}:{}", kFixedSizeList, name, list.list_size());
}

Result<std::string> TypeNamer::Name(const arrow::DataType& type, int depth) const {
  if (depth > kMaxTypeDepth) return Refuse(type);
  for (const NamedType& named : NamedTypes()) {
    if (named.type->Equals(type)) return std::string(named.logical);
  }
  const auto list_name = [&](std::string_view name) {
    const arrow::DataType* item = type.field(0)->type().get();
    if (item->id() == arrow::Type::EXTENSION) {
      item = static_cast<const arrow::ExtensionType&>(*item).storage_type().get();
    }
    return std::string(name) + (item->id() == arrow::Type::STRUCT ? ".struct" : "");
  };
  switch (type.id()) {
    case arrow::Type::EXTENSION:
      return Name(*static_cast<const arrow::ExtensionType&>(type).storage_type(), depth + 1);
    case arrow::Type::STRING_VIEW:
      return std::string("string");
    case arrow::Type::BINARY_VIEW:
      return std::string("binary");
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256: {
      const auto& decimal = static_cast<const arrow::DecimalType&>(type);
      return fmt::format("decimal:{}:{}:{}", type.id() == arrow::Type::DECIMAL128 ? 128 : 256,
                         decimal.precision(), decimal.scale());
    }
    case arrow::Type::TIMESTAMP: {
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      const std::string zone = timestamp.timezone().empty() ? "-" : timestamp.timezone();
      return fmt::format("timestamp:{}:{}", kUnits[timestamp.unit()].name, zone);
    }
    case arrow::Type::FIXED_SIZE_BINARY: {
      const int32_t width = static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width();
      if (!IsFixedBinaryWidth(width)) return Refuse(type);
      return fmt::format("fixed_size_binary:{}", width);
    }
    case arrow::Type::FIXED_SIZE_LIST:
      return NameList(static_cast<const arrow::FixedSizeListType&>(type), depth);
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryType&>(type);
      ARROW_ASSIGN_OR_RAISE(const std::string key, Name(*dictionary.index_type(), depth + 1));
      ARROW_ASSIGN_OR_RAISE(const std::string value, Name(*dictionary.value_type(), depth + 1));
      if (!IsDictionaryValue(*dictionary.value_type())) return Refuse(type);
      // Upstream knows no order of a dictionary.
      return fmt::format("{}{}:{}:false", kDictionary, value, key);
    }
    case arrow::Type::STRUCT:
      return std::string("struct");
    case arrow::Type::LIST:
      return list_name("list");
    case arrow::Type::LARGE_LIST:
      return list_name("large_list");
    case arrow::Type::MAP:
      if (static_cast<const arrow::MapType&>(type).keys_sorted()) return Refuse(type);
      return std::string("map");
    default:
      return Refuse(type);
  }
}

}  // namespace

Result<std::string> LogicalType(const arrow::DataType& type, const std::string& path) {
  return TypeNamer(path).Name(type, 1);
}

Result<std::shared_ptr<arrow::DataType>> TypeOfLogicalType(const std::string& logical,
                                                           const std::string& path) {
  return TypeParser(logical, path).Parse(logical, 1);
}

bool HasChildFields(const std::string& logical) {
  for (const std::string_view name :
       {"struct", "list", "list.struct", "large_list", "large_list.struct", "map"}) {
    if (logical == name) return true;
  }
  return logical.starts_with(kFixedSizeStructs);
}

}  // namespace lake::format
