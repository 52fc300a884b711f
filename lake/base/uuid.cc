#include "lake/base/uuid.h"

#include <span>

namespace lake {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr size_t kTextLength = 36;

bool IsDashPosition(size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void SetVersion(Uuid* uuid, int version) {
  uuid->bytes[6] = static_cast<uint8_t>((uuid->bytes[6] & 0x0F) | (version << 4));
  uuid->bytes[8] = static_cast<uint8_t>((uuid->bytes[8] & 0x3F) | 0x80);
}

}  // namespace

Uuid Uuid::NewV7(const Context& context) {
  Uuid uuid;
  context.random->Fill(std::span(uuid.bytes).subspan(6));
  auto millis = static_cast<uint64_t>(context.clock->UnixNanos() / 1'000'000);
  for (int i = 0; i < 6; ++i) uuid.bytes[i] = static_cast<uint8_t>(millis >> (8 * (5 - i)));
  SetVersion(&uuid, 7);
  return uuid;
}

Uuid Uuid::NewV4(const Context& context) {
  Uuid uuid;
  context.random->Fill(uuid.bytes);
  SetVersion(&uuid, 4);
  return uuid;
}

Result<Uuid> Uuid::Parse(std::string_view text) {
  Uuid uuid;
  size_t nibble = 0;
  bool valid = text.size() == kTextLength;
  for (size_t i = 0; valid && i < text.size(); ++i) {
    if (IsDashPosition(i)) {
      valid = text[i] == '-';
      continue;
    }
    int value = HexValue(text[i]);
    if (value < 0) {
      valid = false;
      break;
    }
    uint8_t& byte = uuid.bytes[nibble / 2];
    byte = static_cast<uint8_t>(byte << 4 | value);
    ++nibble;
  }
  if (!valid) {
    return Error(ErrorCode::kInvalidArgument,
                 "not a UUID (8-4-4-4-12 hexadecimal digits are expected): '{}'", text);
  }
  return uuid;
}

std::string Uuid::ToString() const {
  std::string text;
  text.reserve(kTextLength);
  for (uint8_t byte : bytes) {
    if (IsDashPosition(text.size())) text.push_back('-');
    text.push_back(kHex[byte >> 4]);
    text.push_back(kHex[byte & 15]);
  }
  return text;
}

int64_t Uuid::unix_millis() const {
  int64_t millis = 0;
  for (int i = 0; i < 6; ++i) millis = millis << 8 | bytes[i];
  return millis;
}

}  // namespace lake
