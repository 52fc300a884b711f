#include "lake/format/fsst_encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace lake::format {
namespace {

constexpr size_t kMaxSymbols = 255;
constexpr uint8_t kEscape = 255;
constexpr size_t kMaxSymbolLength = 8;
constexpr size_t kTableBytes = 8 + 256 * 8 + 256;
constexpr int kRounds = 5;
constexpr size_t kSampleBytes = 16 * 1024;
constexpr size_t kSampleSlice = 256;
// Codes must save a tenth: text as it is reads several times as fast.
constexpr size_t kLeastGain = 10;
// Symbols of up to 4 bytes, which the second round finds, save at least the larger part of what
// longer ones do. Random letters save a twenty-first so.
constexpr int kEarlyRound = 2;
constexpr size_t kLeastEarlyGain = 16;
constexpr size_t kCodesMargin = 64 * 1024;

struct Symbol {
  // Little-endian: the first byte of text is the lowest. Bytes above `length` are 0.
  uint64_t bytes = 0;
  uint32_t length = 0;
};

constexpr uint64_t Mask(uint32_t length) {
  return length >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * length)) - 1;
}

uint64_t LoadWord(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// Finds the symbol at the front of a text. Symbols of 3 and more bytes stand in a hash table by
// their first three bytes, one per slot; shorter ones in a table by two bytes. Both are small, so
// that they stay in the nearest cache.
class Matcher {
 public:
  // A code and the length of text that it stands for, as one number, so that a choice between two
  // of them takes no branch.
  class Match {
   public:
    constexpr Match() : Match(1, kEscape) {}
    constexpr Match(uint32_t length, uint8_t code)
        : bits_(static_cast<uint16_t>(length << 8 | code)) {}

    uint32_t length() const { return bits_ >> 8; }
    uint8_t code() const { return static_cast<uint8_t>(bits_); }
    bool is_escape() const { return code() == kEscape; }

   private:
    uint16_t bits_;
  };

  Matcher() : long_(kSlots), short_(1 << 16) {}

  // False if the symbol's slot is taken: add the better symbols first.
  bool Add(const Symbol& symbol) {
    const Match match(symbol.length, static_cast<uint8_t>(symbols_.size()));
    if (symbol.length >= 3) {
      Long& slot = long_[Slot(symbol.bytes)];
      if (slot.length != 0) return false;
      slot = {symbol.bytes, static_cast<uint16_t>(symbol.length),
              static_cast<uint16_t>(64 - 8 * symbol.length), match};
    } else if (symbol.length == 2) {
      short_[symbol.bytes] = match;
    } else {
      single_[symbol.bytes] = match;
      for (uint32_t second = 0; second < 256; ++second) {
        Match& entry = short_[symbol.bytes | second << 8];
        if (entry.length() < 2) entry = match;
      }
    }
    symbols_.push_back(symbol);
    return true;
  }

  const std::vector<Symbol>& symbols() const { return symbols_; }

  // An escape if no symbol fits. REQUIRES: `rest` >= 1 bytes of text and 8 readable bytes at
  // `text`.
  Match Find(const uint8_t* text, size_t rest) const {
    const uint64_t word = LoadWord(text);
    const Long& candidate = long_[Slot(word)];
    const Match match = rest >= 2 ? short_[word & 0xffff] : single_[word & 0xff];
    // An empty slot has length 0, which less one is larger than any rest.
    const bool hit =
        (((word ^ candidate.bytes) << candidate.unused_bits) == 0) & (candidate.length - 1u < rest);
    return hit ? candidate.match : match;
  }

 private:
  static constexpr size_t kSlots = 1024;
  struct Long {
    uint64_t bytes = 0;
    uint16_t length = 0;
    uint16_t unused_bits = 0;
    Match match;
  };

  static size_t Slot(uint64_t word) {
    const uint64_t prefix = word & 0xffffff;
    return (prefix * 0x9e3779b1u >> 16) & (kSlots - 1);
  }

  std::vector<Long> long_;
  std::vector<Match> short_;
  std::array<Match, 256> single_;
  std::vector<Symbol> symbols_;
};

using Text = std::pair<const uint8_t*, size_t>;

// Slices from all over the page, each within one value: the first of every `step` bytes, from the
// byte `first` on.
std::vector<Text> TakeSample(std::span<const uint32_t> offsets, std::span<const uint8_t> bytes,
                             size_t first, size_t step) {
  std::vector<Text> sample;
  for (size_t at = first; at < bytes.size(); at += step) {
    auto end = std::upper_bound(offsets.begin(), offsets.end(), static_cast<uint32_t>(at));
    const size_t row_start = *(end - 1);
    size_t position = at - row_start > kSampleSlice ? at : row_start;
    size_t budget = kSampleSlice;
    for (; budget != 0 && end != offsets.end(); ++end) {
      const size_t length = std::min<size_t>(*end - position, budget);
      if (length != 0) sample.emplace_back(bytes.data() + position, length);
      budget -= length;
      position = *end;
    }
  }
  return sample;
}

// What the sample looks like in the symbols so far: each symbol (an escaped byte is one of length
// 1) and each pair of neighbours is a candidate, worth the bytes that it covers.
class Candidates {
 public:
  // For samples of up to `sample_bytes`: each byte of them makes one pair at most.
  explicit Candidates(size_t sample_bytes) : slots_(std::bit_ceil(2 * (sample_bytes + 512))) {}

  // Forgets what was counted before.
  void Count(const Matcher& matcher, const std::vector<Text>& sample, bool with_pairs) {
    std::fill(slots_.begin(), slots_.end(), Slot());
    for (const auto& [text, length] : sample) {
      Symbol before;
      for (size_t at = 0; at < length;) {
        const Matcher::Match match = matcher.Find(text + at, length - at);
        const Symbol symbol =
            match.is_escape() ? Symbol{text[at], 1} : matcher.symbols()[match.code()];
        // A single byte saves its escape too.
        Add(symbol, symbol.length == 1 ? kSingleByteGain : symbol.length);
        if (with_pairs && before.length != 0 && before.length < kMaxSymbolLength) {
          const uint32_t joined =
              std::min<uint32_t>(before.length + symbol.length, kMaxSymbolLength);
          const uint64_t bytes = before.bytes | symbol.bytes << (8 * before.length);
          Add(Symbol{bytes & Mask(joined), joined}, joined);
        }
        before = symbol;
        at += symbol.length;
      }
    }
  }

  Matcher Best() const {
    std::vector<Slot> ranked;
    std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(ranked),
                 [](const Slot& slot) { return slot.gain != 0; });
    // Some hundred of many thousands are wanted: no need to sort them all.
    std::make_heap(ranked.begin(), ranked.end(), IsWorse);
    Matcher matcher;
    while (!ranked.empty() && matcher.symbols().size() < kMaxSymbols) {
      std::pop_heap(ranked.begin(), ranked.end(), IsWorse);
      matcher.Add({ranked.back().bytes, ranked.back().length});
      ranked.pop_back();
    }
    return matcher;
  }

 private:
  static constexpr uint32_t kSingleByteGain = 4;

  // A candidate, or nothing where `gain` is 0.
  struct Slot {
    uint64_t bytes = 0;
    uint32_t length = 0;
    uint32_t gain = 0;
  };

  void Add(const Symbol& symbol, uint32_t gain) {
    const uint64_t hash = (symbol.bytes + symbol.length) * 0x9e3779b97f4a7c15u;
    for (size_t at = hash >> 32;; ++at) {
      Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.gain == 0) slot = {symbol.bytes, symbol.length, 0};
      if (slot.bytes != symbol.bytes || slot.length != symbol.length) continue;
      slot.gain += gain;
      return;
    }
  }

  static bool IsWorse(const Slot& a, const Slot& b) {
    if (a.gain != b.gain) return a.gain < b.gain;
    if (a.length != b.length) return a.length < b.length;
    return a.bytes > b.bytes;
  }

  std::vector<Slot> slots_;
};

// Returns the end of the codes; at most two bytes per byte of text.
uint8_t* EncodeValue(const Matcher& matcher, const uint8_t* text, size_t length, uint8_t* out) {
  const uint8_t* const end = text + length;
  while (text < end) {
    const Matcher::Match match = matcher.Find(text, static_cast<size_t>(end - text));
    out[0] = match.code();
    out[1] = *text;
    out += 1 + match.is_escape();
    text += match.length();
  }
  return out;
}

// Whether the table saves more than one in `least_gain` bytes of `sample`, which is not the one
// that the table was made from: random letters shrink there, and only there.
bool SampleShrinks(const Matcher& matcher, const std::vector<Text>& sample, size_t least_gain) {
  std::array<uint8_t, 2 * kSampleSlice> codes;
  size_t plain = 0;
  size_t encoded = 0;
  for (const auto& [text, length] : sample) {
    plain += length;
    encoded += EncodeValue(matcher, text, length, codes.data()) - codes.data();
  }
  return encoded < plain - plain / least_gain;
}

// The table for texts of which `sample` and `other` are parts; nothing if it would save too little.
std::optional<Matcher> Train(const std::vector<Text>& sample, const std::vector<Text>& other) {
  size_t sample_bytes = 0;
  for (const Text& text : sample) sample_bytes += text.second;
  Candidates candidates(sample_bytes);
  Matcher matcher;
  for (int round = 1; round <= kRounds; ++round) {
    candidates.Count(matcher, sample, /*with_pairs=*/round < kRounds);
    matcher = candidates.Best();
    if (round == kEarlyRound && !SampleShrinks(matcher, other, kLeastEarlyGain)) {
      return std::nullopt;
    }
  }
  if (!SampleShrinks(matcher, other, kLeastGain)) return std::nullopt;
  return matcher;
}

std::string SerializeTable(const std::vector<Symbol>& symbols) {
  constexpr uint64_t kMagic = uint64_t{0x46535354} << 32;
  constexpr uint64_t kEnabled = uint64_t{1} << 24;
  const uint64_t header = kMagic | kEnabled | symbols.size();
  std::string table(reinterpret_cast<const char*>(&header), sizeof(header));
  for (const Symbol& symbol : symbols) {
    table.append(reinterpret_cast<const char*>(&symbol.bytes), sizeof(symbol.bytes));
  }
  for (const Symbol& symbol : symbols) table.push_back(static_cast<char>(symbol.length));
  table.resize(kTableBytes, '\0');
  return table;
}

}  // namespace

std::optional<FsstText> EncodeFsst(std::span<const uint32_t> offsets,
                                   std::span<const uint8_t> bytes) {
  const size_t step = std::max(bytes.size() * kSampleSlice / kSampleBytes, kSampleSlice);
  const std::optional<Matcher> matcher =
      Train(TakeSample(offsets, bytes, 0, step), TakeSample(offsets, bytes, step / 2, 4 * step));
  if (!matcher) return std::nullopt;

  FsstText result;
  result.symbol_table = SerializeTable(matcher->symbols());
  const size_t count = offsets.size() - 1;
  uint32_t* const ends =
      reinterpret_cast<uint32_t*>(result.offsets.Extend(offsets.size() * sizeof(uint32_t)));
  // Codes that take more are of no use, so there is no room for the worst case.
  const size_t room = bytes.size() + kCodesMargin;
  uint8_t* const start = result.codes.Extend(room);
  uint8_t* out = start;
  ends[0] = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t length = offsets[i + 1] - offsets[i];
    if (static_cast<size_t>(out - start) + 2 * length > room) return std::nullopt;
    out = EncodeValue(*matcher, bytes.data() + offsets[i], length, out);
    ends[i + 1] = static_cast<uint32_t>(out - start);
  }
  result.codes.Truncate(out - start);
  if (result.codes.size() + kTableBytes >= bytes.size()) return std::nullopt;
  return result;
}

}  // namespace lake::format
