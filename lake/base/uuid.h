#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "lake/base/context.h"

namespace lake {

/// A 128-bit identifier (RFC 9562), compared byte by byte. A plain value.
struct Uuid {
  std::array<uint8_t, 16> bytes{};

  /// A new version 7 identifier: it sorts by the time of its making, in milliseconds.
  static Uuid NewV7(const Context& context);

  /// A new version 4 (random) identifier.
  static Uuid NewV4(const Context& context);

  /// Reads the 36-character form, either case; anything else is kInvalidArgument.
  static Result<Uuid> Parse(std::string_view text);

  /// The 36-character lower-case form.
  std::string ToString() const;

  int version() const { return bytes[6] >> 4; }
  /// For version 7: the time of its making in Unix milliseconds.
  int64_t unix_millis() const;

  auto operator<=>(const Uuid&) const = default;
};

}  // namespace lake
