#include "lake/format/jsonb.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <arrow/array/array_binary.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/data.h>

#include "lake/base/utf8.h"
#include "lake/format/jsonb_layout.h"

namespace lake::format {
namespace {

using namespace jsonb;

Status Corrupt(std::string_view why) { return Error(ErrorCode::kCorrupt, "JSONB {}", why); }

uint32_t LoadBig32(std::string_view bytes) {
  uint32_t value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return __builtin_bswap32(value);
}

void AppendEscaped(std::string_view string, std::string* text) {
  constexpr char kHex[] = "0123456789abcdef";
  text->push_back('"');
  for (const char c : string) {
    switch (c) {
      case '"':
      case '\\':
        text->push_back('\\');
        text->push_back(c);
        break;
      case '\b':
        *text += "\\b";
        break;
      case '\f':
        *text += "\\f";
        break;
      case '\n':
        *text += "\\n";
        break;
      case '\r':
        *text += "\\r";
        break;
      case '\t':
        *text += "\\t";
        break;
      default:
        if (static_cast<uint8_t>(c) < 0x20) {
          *text += "\\u00";
          text->push_back(kHex[static_cast<uint8_t>(c) >> 4]);
          text->push_back(kHex[static_cast<uint8_t>(c) & 15]);
        } else {
          text->push_back(c);
        }
    }
  }
  text->push_back('"');
}

// The shortest digits that give the number again: with a point between 1e-5 and 1e16, else with an
// exponent.
void AppendDouble(double value, std::string* text) {
  if (!std::isfinite(value)) {
    *text += "null";
    return;
  }
  std::array<char, 40> buffer;
  const auto made = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                  std::chars_format::scientific);
  std::string_view scientific(buffer.data(), static_cast<size_t>(made.ptr - buffer.data()));
  if (scientific.starts_with('-')) {
    text->push_back('-');
    scientific.remove_prefix(1);
  }
  const size_t e = scientific.find('e');
  std::string digits(1, scientific[0]);
  if (e > 2) digits += scientific.substr(2, e - 2);
  std::string_view exponent_text = scientific.substr(e + 1);
  if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  int exponent = 0;
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  const int point = exponent + 1;
  const int count = static_cast<int>(digits.size());
  if (value == 0) {
    *text += "0.0";
  } else if (point > 16 || point <= -5) {
    text->push_back(digits[0]);
    if (count > 1) *text += "." + digits.substr(1);
    *text += (exponent < 0 ? "e" : "e+") + std::to_string(exponent);
  } else if (point <= 0) {
    *text += "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  } else if (point >= count) {
    *text += digits + std::string(static_cast<size_t>(point - count), '0') + ".0";
  } else {
    *text += digits.substr(0, static_cast<size_t>(point)) + "." +
             digits.substr(static_cast<size_t>(point));
  }
}

Status AppendNumber(std::string_view bytes, std::string* text) {
  if (bytes.empty()) return Corrupt("number has no bytes");
  const uint8_t tag = static_cast<uint8_t>(bytes[0]);
  const std::string_view payload = bytes.substr(1);
  const size_t size = payload.size();
  uint64_t value = 0;
  for (const char byte : payload.substr(0, 8)) value = value << 8 | static_cast<uint8_t>(byte);
  const bool is_word = size == 1 || size == 2 || size == 4 || size == 8;
  switch (tag) {
    case kZero:
      text->push_back('0');
      return Status::OK();
    case 0x10:
    case 0x20:
    case 0x30:
      // Not a number, and the infinities: JSON has none.
      *text += "null";
      return Status::OK();
    case kInt: {
      if (!is_word) break;
      const unsigned shift = 64 - 8 * static_cast<unsigned>(size);
      *text += std::to_string(static_cast<int64_t>(value << shift) >> shift);
      return Status::OK();
    }
    case kUint:
      if (!is_word) break;
      *text += std::to_string(value);
      return Status::OK();
    case kFloat:
      if (size != 8) break;
      AppendDouble(std::bit_cast<double>(value), text);
      return Status::OK();
    case kDecimal:
      return Error(ErrorCode::kUnsupported, "JSONB decimal numbers are not read");
    default:
      break;
  }
  return Corrupt("number of an unknown kind or size");
}

// Appends a container's text; `bytes` may be longer than it.
Status AppendContainer(std::string_view bytes, int depth, std::string* text);

Status AppendValue(uint32_t entry, std::string_view bytes, int depth, std::string* text) {
  switch (entry & kEntryMask) {
    case kNull:
      *text += "null";
      return Status::OK();
    case kTrue:
      *text += "true";
      return Status::OK();
    case kFalse:
      *text += "false";
      return Status::OK();
    case kString:
      if (!IsValidUtf8(bytes)) return Corrupt("string is not UTF-8");
      AppendEscaped(bytes, text);
      return Status::OK();
    case kNumber:
      return AppendNumber(bytes, text);
    case kNested:
      return AppendContainer(bytes, depth + 1, text);
    default:
      return Corrupt("value of an unknown kind");
  }
}

Status AppendContainer(std::string_view bytes, int depth, std::string* text) {
  if (depth > kMaxDepth) return Corrupt("is nested too deep");
  if (bytes.size() < 4) return Corrupt("container is cut off");
  const uint32_t header = LoadBig32(bytes);
  const uint64_t count = header & kCountMask;
  const uint32_t kind = header & kContainerMask;
  const bool is_object = kind == kObject;
  if (kind != kArray && kind != kObject && kind != kScalar) {
    return Corrupt("container of an unknown kind");
  }
  const uint64_t entries = kind == kScalar ? 1 : is_object ? 2 * count : count;
  if ((bytes.size() - 4) / 4 < entries) return Corrupt("container has fewer entries than it says");
  const std::string_view table = bytes.substr(4, entries * 4);
  // An object has its keys first; their bytes lie before those of the values.
  std::string_view keys = bytes.substr(4 + entries * 4);
  std::string_view values = keys;
  for (uint64_t i = 0; is_object && i < count; ++i) {
    const uint64_t size = LoadBig32(table.substr(i * 4)) & kSizeMask;
    if (size > values.size()) return Corrupt("key is cut off");
    values.remove_prefix(size);
  }
  if (kind != kScalar) text->push_back(is_object ? '{' : '[');
  for (uint64_t i = 0; i < (kind == kScalar ? 1 : count); ++i) {
    if (i > 0) text->push_back(',');
    if (is_object) {
      const uint64_t size = LoadBig32(table.substr(i * 4)) & kSizeMask;
      if (!IsValidUtf8(keys.substr(0, size))) return Corrupt("key is not UTF-8");
      AppendEscaped(keys.substr(0, size), text);
      keys.remove_prefix(size);
      text->push_back(':');
    }
    const uint32_t entry = LoadBig32(table.substr((is_object ? count + i : i) * 4));
    const uint64_t size = entry & kSizeMask;
    if (size > values.size()) return Corrupt("value is cut off");
    ARROW_RETURN_NOT_OK(AppendValue(entry, values.substr(0, size), depth, text));
    values.remove_prefix(size);
  }
  if (kind != kScalar) text->push_back(is_object ? '}' : ']');
  return Status::OK();
}

}  // namespace

Status AppendJsonText(std::string_view jsonb, std::string* text) {
  return AppendContainer(jsonb, 1, text);
}

Result<std::shared_ptr<arrow::ArrayData>> JsonbToText(const arrow::ArrayData& jsonb,
                                                      arrow::MemoryPool* pool) {
  const arrow::LargeBinaryArray array(jsonb.Copy());
  arrow::StringBuilder builder(pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(array.length()));
  std::string text;
  for (int64_t row = 0; row < array.length(); ++row) {
    if (array.IsNull(row)) {
      builder.UnsafeAppendNull();
      continue;
    }
    text.clear();
    const Status appended = AppendJsonText(array.GetView(row), &text);
    if (!appended.ok()) return WithContext(appended, fmt::format("JSON value {}", row));
    if (builder.value_data_length() + static_cast<int64_t>(text.size()) >
        std::numeric_limits<int32_t>::max()) {
      return Error(ErrorCode::kInvalidArgument,
                   "the texts of a JSON column pass 2 GiB: read fewer rows at once");
    }
    ARROW_RETURN_NOT_OK(builder.Append(text));
  }
  ARROW_ASSIGN_OR_RAISE(const auto texts, builder.Finish());
  return texts->data();
}

}  // namespace lake::format
