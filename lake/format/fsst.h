#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lake/base/error.h"

namespace lake::format {

/// A symbol table of the FSST string compression, ready to decode. Layout:
/// docs/format/encodings.md. A plain value of 2.3 KB.
class FsstDecoder {
 public:
  /// The byte that says that the next one stands for itself.
  static constexpr uint8_t kEscape = 255;
  /// Decode may write this many bytes behind the decoded ones.
  static constexpr size_t kSlack = 8;

  /// An unused table decodes nothing.
  FsstDecoder() = default;

  /// kCorrupt if `table` is not a symbol table.
  static Result<FsstDecoder> DecodeFrom(std::string_view table);

  /// False if the writer switched compression off: the codes are the bytes themselves.
  bool enabled() const { return enabled_; }

  /// The most bytes that `code_bytes` codes decode to.
  static constexpr size_t MaxDecodedSize(size_t code_bytes) { return 8 * code_bytes; }

  /// Decodes one value to `out`, where MaxDecodedSize(codes.size()) + kSlack bytes can be written.
  /// Returns the end of the decoded bytes, or null if the codes are not of this table.
  /// REQUIRES: enabled().
  uint8_t* Decode(std::string_view codes, uint8_t* out) const;

  /// Not an end of a value: the byte is the second half of an escape.
  static constexpr uint32_t kInsideEscape = 0xFFFFFFFF;

  /// Decodes many values that lie behind each other, as Decode does. `ends[i]` becomes the number
  /// of bytes that the first i codes decode to, or kInsideEscape, for all i <= codes.size(). One
  /// pass without a branch per value is several times as fast as one call for each. REQUIRES:
  /// MaxDecodedSize(codes.size()) is below 4 GiB.
  uint8_t* DecodeMany(std::string_view codes, uint8_t* out, uint32_t* ends) const;

 private:
  std::array<uint64_t, 256> symbols_{};
  std::array<uint8_t, 256> lengths_{};
  // Codes from here on are no symbols.
  uint8_t num_symbols_ = 0;
  bool enabled_ = false;
};

}  // namespace lake::format
