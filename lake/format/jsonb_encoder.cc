#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "lake/base/utf8.h"
#include "lake/format/jsonb.h"
#include "lake/format/jsonb_layout.h"

namespace lake::format {
namespace {

using namespace jsonb;

void AppendBig(uint64_t value, size_t size, std::string* out) {
  for (size_t i = size; i-- > 0;) out->push_back(static_cast<char>(value >> (8 * i)));
}

// Bytes of the shortest word that holds `value`: 1, 2, 4 or 8.
size_t WordSize(uint64_t value) {
  if (value <= 0xFF) return 1;
  if (value <= 0xFFFF) return 2;
  return value <= 0xFFFFFFFF ? 4 : 8;
}

void AppendSigned(int64_t value, std::string* out) {
  size_t size = 8;
  for (const size_t shorter : {4, 2, 1}) {
    const int64_t limit = int64_t{1} << (8 * shorter - 1);
    if (value >= -limit && value < limit) size = shorter;
  }
  out->push_back(kInt);
  AppendBig(static_cast<uint64_t>(value), size, out);
}

// Parses one JSON text. A value is its kind and its bytes.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Status Parse(std::string* jsonb);

 private:
  Status Bad(std::string_view why) const {
    return Error(ErrorCode::kInvalidArgument, "text is not JSON: {} at byte {}", why, at_);
  }
  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  Result<uint32_t> ParseValue(int depth, std::string* bytes);
  Status ParseString(std::string* out);
  Status ParseEscape(std::string* out);
  Result<uint32_t> ParseHex();
  Status ParseNumber(std::string* out);
  Status ParseArray(int depth, std::string* out);
  Status ParseObject(int depth, std::string* out);
  // An entry of the table in front of a container's values.
  Status AppendEntry(uint32_t kind, size_t size, std::string* table) const;

  const std::string_view text_;
  size_t at_ = 0;
};

Status Parser::AppendEntry(uint32_t kind, size_t size, std::string* table) const {
  if (size > kSizeMask) return Bad("a value is larger than 256 MiB");
  AppendBig(kind | static_cast<uint32_t>(size), 4, table);
  return Status::OK();
}

Result<uint32_t> Parser::ParseHex() {
  uint32_t value = 0;
  if (text_.size() - at_ < 4) return Bad("an escape is cut off");
  const char* const begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, begin + 4, value, 16);
  if (error != std::errc() || end != begin + 4) return Bad("an escape is not hexadecimal");
  at_ += 4;
  return value;
}

Status Parser::ParseEscape(std::string* out) {
  if (at_ >= text_.size()) return Bad("a string is cut off");
  const char c = text_[at_++];
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  if (const size_t found = kNames.find(c); found != kNames.npos) {
    out->push_back(kValues[found]);
    return Status::OK();
  }
  if (c != 'u') return Bad("an unknown escape");
  ARROW_ASSIGN_OR_RAISE(uint32_t code, ParseHex());
  if (code >= 0xD800 && code < 0xDC00) {
    if (!TakeWord("\\u")) return Bad("half of a surrogate pair");
    ARROW_ASSIGN_OR_RAISE(const uint32_t low, ParseHex());
    if (low < 0xDC00 || low > 0xDFFF) return Bad("half of a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xDC00 && code <= 0xDFFF) {
    return Bad("half of a surrogate pair");
  }
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
    return Status::OK();
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint8_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out->push_back(static_cast<char>(kLead[more] | code >> (6 * more)));
  for (int i = more; i-- > 0;) {
    out->push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3F)));
  }
  return Status::OK();
}

Status Parser::ParseString(std::string* out) {
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c == '"') return Status::OK();
    if (static_cast<uint8_t>(c) < 0x20) return Bad("a control character in a string");
    if (c != '\\') {
      out->push_back(c);
      continue;
    }
    ARROW_RETURN_NOT_OK(ParseEscape(out));
  }
  return Bad("a string is cut off");
}

Status Parser::ParseNumber(std::string* out) {
  const size_t begin = at_;
  const auto digits = [&] {
    const size_t first = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ - first;
  };
  const bool negative = TakeWord("-");
  const size_t first_digit = at_;
  const size_t whole = digits();
  if (whole == 0 || (whole > 1 && text_[first_digit] == '0')) return Bad("no value");
  bool is_integer = true;
  if (TakeWord(".")) {
    is_integer = false;
    if (digits() == 0) return Bad("a number without digits behind its point");
  }
  if (TakeWord("e") || TakeWord("E")) {
    is_integer = false;
    if (!TakeWord("-")) TakeWord("+");
    if (digits() == 0) return Bad("a number without an exponent");
  }
  const char* const from = text_.data() + begin;
  const char* const to = text_.data() + at_;
  if (is_integer && negative) {
    int64_t value = 0;
    if (std::from_chars(from, to, value).ec == std::errc()) {
      if (value == 0) {
        out->push_back(kZero);
      } else {
        AppendSigned(value, out);
      }
      return Status::OK();
    }
  } else if (is_integer) {
    uint64_t value = 0;
    if (std::from_chars(from, to, value).ec == std::errc()) {
      if (value == 0) {
        out->push_back(kZero);
        return Status::OK();
      }
      out->push_back(kUint);
      AppendBig(value, WordSize(value), out);
      return Status::OK();
    }
  }
  double value = 0;
  if (std::from_chars(from, to, value).ec == std::errc::result_out_of_range) {
    return Bad("a number is out of range");
  }
  out->push_back(kFloat);
  AppendBig(std::bit_cast<uint64_t>(value), 8, out);
  return Status::OK();
}

Status Parser::ParseArray(int depth, std::string* out) {
  std::string table;
  std::string values;
  uint32_t count = 0;
  if (!Take(']')) {
    do {
      std::string value;
      ARROW_ASSIGN_OR_RAISE(const uint32_t kind, ParseValue(depth, &value));
      ARROW_RETURN_NOT_OK(AppendEntry(kind, value.size(), &table));
      values += value;
      ++count;
    } while (Take(','));
    if (!Take(']')) return Bad("an array does not end");
  }
  if (count > kCountMask) return Bad("an array has too many values");
  AppendBig(kArray | count, 4, out);
  *out += table;
  *out += values;
  return Status::OK();
}

Status Parser::ParseObject(int depth, std::string* out) {
  struct Member {
    std::string key;
    uint32_t kind;
    std::string value;
  };
  std::vector<Member> members;
  if (!Take('}')) {
    do {
      Member& member = members.emplace_back();
      if (!Take('"')) return Bad("an object's key is no string");
      ARROW_RETURN_NOT_OK(ParseString(&member.key));
      if (!Take(':')) return Bad("a key without a colon");
      ARROW_ASSIGN_OR_RAISE(member.kind, ParseValue(depth, &member.value));
    } while (Take(','));
    if (!Take('}')) return Bad("an object does not end");
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const Member& a, const Member& b) { return a.key < b.key; });
  for (size_t i = 1; i < members.size(); ++i) {
    if (members[i].key == members[i - 1].key) return Bad("an object has a key twice");
  }
  AppendBig(kObject | static_cast<uint32_t>(members.size()), 4, out);
  for (const Member& member : members) {
    ARROW_RETURN_NOT_OK(AppendEntry(kString, member.key.size(), out));
  }
  for (const Member& member : members) {
    ARROW_RETURN_NOT_OK(AppendEntry(member.kind, member.value.size(), out));
  }
  for (const Member& member : members) *out += member.key;
  for (const Member& member : members) *out += member.value;
  return Status::OK();
}

Result<uint32_t> Parser::ParseValue(int depth, std::string* bytes) {
  if (depth > kMaxDepth) return Bad("nested too deep");
  SkipSpace();
  if (TakeWord("null")) return kNull;
  if (TakeWord("true")) return kTrue;
  if (TakeWord("false")) return kFalse;
  if (TakeWord("\"")) {
    ARROW_RETURN_NOT_OK(ParseString(bytes));
    return kString;
  }
  if (TakeWord("[")) {
    ARROW_RETURN_NOT_OK(ParseArray(depth + 1, bytes));
    return kNested;
  }
  if (TakeWord("{")) {
    ARROW_RETURN_NOT_OK(ParseObject(depth + 1, bytes));
    return kNested;
  }
  ARROW_RETURN_NOT_OK(ParseNumber(bytes));
  return kNumber;
}

Status Parser::Parse(std::string* jsonb) {
  if (!IsValidUtf8(text_)) return Bad("not UTF-8");
  std::string bytes;
  ARROW_ASSIGN_OR_RAISE(const uint32_t kind, ParseValue(1, &bytes));
  SkipSpace();
  if (at_ != text_.size()) return Bad("more than one value");
  if (kind != kNested) {
    AppendBig(kScalar, 4, jsonb);
    ARROW_RETURN_NOT_OK(AppendEntry(kind, bytes.size(), jsonb));
  }
  *jsonb += bytes;
  return Status::OK();
}

}  // namespace

Status AppendJsonb(std::string_view text, std::string* jsonb) { return Parser(text).Parse(jsonb); }

}  // namespace lake::format
