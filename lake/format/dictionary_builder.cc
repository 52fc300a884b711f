#include "lake/format/dictionary_builder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace lake::format {
namespace {

constexpr size_t kFewestRows = 100;
constexpr size_t kMostEntries = 100'000;
// Rows after which a page of nearly distinct values is given up.
constexpr size_t kProbeRows = 16'384;
// New entries after which the size is looked at.
constexpr uint32_t kCheckedEntries = 1024;
constexpr uint32_t kEmptySlot = UINT32_MAX;

// An open-addressing table of entry numbers; hash and equality come with the call.
class EntryTable {
 public:
  EntryTable() : slots_(1024, kEmptySlot), hashes_(1024, 0) {}

  // The number of the entry with `hash` for which `equal(number)` holds, or `next` after storing
  // it.
  template <typename Equal>
  uint32_t FindOrAdd(uint64_t hash, uint32_t next, const Equal& equal) {
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      if (slots_[at] == kEmptySlot) {
        slots_[at] = next;
        hashes_[at] = hash;
        if ((next + 1) * size_t{2} > slots_.size()) Grow();
        return next;
      }
      if (hashes_[at] == hash && equal(slots_[at])) return slots_[at];
    }
  }

 private:
  void Grow() {
    std::vector<uint32_t> slots(slots_.size() * 2, kEmptySlot);
    std::vector<uint64_t> hashes(slots.size(), 0);
    const size_t mask = slots.size() - 1;
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i] == kEmptySlot) continue;
      size_t at = hashes_[i] & mask;
      while (slots[at] != kEmptySlot) at = (at + 1) & mask;
      slots[at] = slots_[i];
      hashes[at] = hashes_[i];
    }
    slots_.swap(slots);
    hashes_.swap(hashes);
  }

  std::vector<uint32_t> slots_;
  std::vector<uint64_t> hashes_;
};

// Each bit of the value counts in the low bits, which choose the slot: the ends of strings and of
// floats stand in the high ones.
uint64_t Mix(uint64_t value) {
  const unsigned __int128 product = static_cast<unsigned __int128>(value) * 0x9e3779b97f4a7c15u;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// ByteBuffer::kSlack bytes behind a value may be read, whatever they are.
static_assert(ByteBuffer::kSlack >= sizeof(uint64_t));

uint64_t LoadWord(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// The last word of `value`: its last 8 bytes, or all of it where it is shorter.
uint64_t LastWord(std::string_view value) {
  if (value.size() >= 8) return LoadWord(value.data() + value.size() - 8);
  // There need not be any memory.
  if (value.empty()) return 0;
  const uint64_t mask = (uint64_t{1} << (8 * value.size())) - 1;
  return LoadWord(value.data()) & mask;
}

// Values are short and come by the million, so that calls for each of them would count.
struct StringAccess {
  static uint64_t Hash(std::string_view value) {
    uint64_t hash = value.size();
    for (size_t i = 0; i + 8 < value.size(); i += 8) hash = Mix(hash ^ LoadWord(value.data() + i));
    return Mix(hash ^ LastWord(value));
  }
  static bool Equal(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i + 8 < a.size(); i += 8) {
      if (LoadWord(a.data() + i) != LoadWord(b.data() + i)) return false;
    }
    return LastWord(a) == LastWord(b);
  }
  static std::string_view Value(const PageData& page, size_t row) { return page.Value(row); }
  static std::string_view Entry(const Dictionary& dictionary, uint32_t entry) {
    const uint32_t* const offsets = dictionary.offsets.as<uint32_t>().data();
    return dictionary.entries.view().substr(offsets[entry], offsets[entry + 1] - offsets[entry]);
  }
  static void Add(std::string_view value, Dictionary* dictionary) {
    dictionary->entries.Append(value.data(), value.size());
    dictionary->offsets.AppendValue(static_cast<uint32_t>(dictionary->entries.size()));
  }
};

template <typename T>
struct FixedAccess {
  static uint64_t Hash(T value) {
    if constexpr (sizeof(T) == 16) {
      return Mix(static_cast<uint64_t>(value) ^ Mix(static_cast<uint64_t>(value >> 64)));
    } else {
      return Mix(value);
    }
  }
  static bool Equal(T a, T b) { return a == b; }
  static T Load(const ByteBuffer& bytes, size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
  }
  static T Value(const PageData& page, size_t row) { return Load(page.values, row); }
  static T Entry(const Dictionary& dictionary, uint32_t entry) {
    return Load(dictionary.entries, entry);
  }
  static void Add(T value, Dictionary* dictionary) { dictionary->entries.AppendValue(value); }
};

// The least that the entries so far and indices wide enough for them can take: LZ4 leaves a third
// at best, and indices are packed bits or runs.
size_t LeastBytes(const Dictionary& dictionary, size_t num_values, size_t runs) {
  constexpr size_t kBytesPerRun = sizeof(uint32_t) + 1;
  const size_t packed = num_values * std::bit_width(dictionary.count - 1) / 8;
  return dictionary.entries.size() / 3 + std::min(packed, runs * kBytesPerRun);
}

template <typename Access>
std::optional<Dictionary> Build(const PageData& page, const DictionaryLimits& limits,
                                Dictionary dictionary) {
  const auto limit = std::min(
      static_cast<size_t>(static_cast<double>(page.num_values) / limits.divisor), kMostEntries);
  EntryTable table;
  auto* const indices =
      reinterpret_cast<uint32_t*>(dictionary.indices.Extend(page.num_values * sizeof(uint32_t)));
  uint32_t index = 0;
  for (size_t row = 0; row < page.num_values; ++row) {
    if (page.IsValid(row)) {
      const auto value = Access::Value(page, row);
      index = table.FindOrAdd(Access::Hash(value), dictionary.count, [&](uint32_t entry) {
        return Access::Equal(Access::Entry(dictionary, entry), value);
      });
      if (index == dictionary.count) {
        if (dictionary.count == limit) return std::nullopt;
        Access::Add(value, &dictionary);
        ++dictionary.count;
        if (dictionary.count % kCheckedEntries == 0 &&
            LeastBytes(dictionary, page.num_values, limits.runs) >= limits.max_bytes) {
          return std::nullopt;
        }
      }
    }
    indices[row] = index;
    if (row + 1 == kProbeRows && dictionary.count > kProbeRows / 20 * 19) return std::nullopt;
  }
  return dictionary;
}

}  // namespace

std::optional<Dictionary> BuildDictionary(const ValueShape& type, const PageData& page,
                                          const DictionaryLimits& limits) {
  if (page.num_values < kFewestRows || page.num_valid() == 0) return std::nullopt;
  Dictionary dictionary;
  if (type.kind == ValueShape::Kind::kVariable) {
    dictionary.offsets.AppendValue<uint32_t>(0);
    return Build<StringAccess>(page, limits, std::move(dictionary));
  }
  if (type.kind != ValueShape::Kind::kFixed) return std::nullopt;
  if (type.width == 8) return Build<FixedAccess<uint64_t>>(page, limits, std::move(dictionary));
  if (type.width == 16)
    return Build<FixedAccess<unsigned __int128>>(page, limits, std::move(dictionary));
  return std::nullopt;
}

}  // namespace lake::format
