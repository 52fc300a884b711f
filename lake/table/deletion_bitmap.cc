#include <bit>
#include <cstring>

#include "lake/base/checked.h"
#include "lake/table/deletion_vector.h"

namespace lake::table {

namespace {

constexpr uint32_t kCookieNoRuns = 12346;
constexpr uint32_t kCookieRuns = 12347;
constexpr uint64_t kMaxContainers = 1 << 16;
// With run containers, the offsets are left out below this number of containers.
constexpr uint64_t kOffsetThreshold = 4;
constexpr uint64_t kMaxArrayCardinality = 4096;
constexpr uint64_t kBitsetWords = 1024;

}  // namespace

/// Reads the portable serialization of a 32-bit Roaring bitmap. Our own, since the library of the
/// supported systems trusts what stands inside a container.
class BitmapDecoder {
 public:
  BitmapDecoder(std::string_view bytes, uint64_t physical_rows, const std::string& key)
      : bytes_(bytes), physical_rows_(physical_rows), key_(key) {}

  Result<DeletionVector> Decode() {
    ARROW_RETURN_NOT_OK(DecodeHeader());
    for (size_t i = 0; i < containers_.size(); ++i) {
      const Container& container = containers_[i];
      if (i > 0 && container.key <= containers_[i - 1].key) {
        return Corrupt("its containers are not in order");
      }
      if (container.is_run) {
        ARROW_RETURN_NOT_OK(DecodeRuns(container));
      } else if (container.cardinality <= kMaxArrayCardinality) {
        ARROW_RETURN_NOT_OK(DecodeArray(container));
      } else {
        ARROW_RETURN_NOT_OK(DecodeBitset(container));
      }
    }
    if (position_ != bytes_.size()) return Corrupt("bytes are left over behind its last container");
    return std::move(vector_);
  }

 private:
  struct Container {
    uint32_t key;
    uint32_t cardinality;
    bool is_run;
  };

  Status Corrupt(std::string_view reason) const {
    return Error(ErrorCode::kCorrupt, "deletion file cannot be read: {}: {}, at byte {}", key_,
                 reason, position_);
  }

  /// `size` bytes from here on, or null if there are not as many.
  const char* Take(uint64_t size) {
    if (!RangeFits(position_, size, bytes_.size())) return nullptr;
    const char* from = bytes_.data() + position_;
    position_ += size;
    return from;
  }

  template <typename T>
  static T Load(const char* from, uint64_t index = 0) {
    T value;
    std::memcpy(&value, from + index * sizeof(T), sizeof(T));
    return value;
  }

  Status DecodeHeader() {
    const char* cookie_at = Take(sizeof(uint32_t));
    if (cookie_at == nullptr) return Corrupt("it is cut off");
    const auto cookie = Load<uint32_t>(cookie_at);
    const bool has_runs = (cookie & 0xffff) == kCookieRuns;
    uint64_t count = 0;
    const char* run_flags = nullptr;
    if (has_runs) {
      count = (cookie >> 16) + uint64_t{1};
      run_flags = Take(CeilDiv<uint64_t>(count, 8));
      if (run_flags == nullptr) return Corrupt("it is cut off");
    } else if (cookie == kCookieNoRuns) {
      const char* count_at = Take(sizeof(uint32_t));
      if (count_at == nullptr) return Corrupt("it is cut off");
      count = Load<uint32_t>(count_at);
      if (count > kMaxContainers) return Corrupt("it has too many containers");
    } else {
      return Corrupt("it is no Roaring bitmap");
    }
    const char* descriptions = Take(count * 2 * sizeof(uint16_t));
    if (descriptions == nullptr) return Corrupt("it is cut off");
    containers_.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      containers_.push_back(
          {.key = Load<uint16_t>(descriptions, 2 * i),
           .cardinality = Load<uint16_t>(descriptions, 2 * i + 1) + uint32_t{1},
           .is_run = has_runs && (static_cast<uint8_t>(run_flags[i / 8]) >> (i % 8) & 1) != 0});
    }
    // Containers lie one behind the other, so the offsets say nothing new.
    if ((!has_runs || count >= kOffsetThreshold) && Take(count * sizeof(uint32_t)) == nullptr) {
      return Corrupt("it is cut off");
    }
    return Status::OK();
  }

  Status Add(uint32_t container_key, uint32_t first, uint32_t last) {
    const uint32_t base = container_key << 16;
    if (uint64_t{base} + last >= physical_rows_) {
      return Corrupt(fmt::format("row {} is none of the fragment's {}", uint64_t{base} + last,
                                 physical_rows_));
    }
    vector_.Append(base + first, base + last);
    return Status::OK();
  }

  Status DecodeArray(const Container& container) {
    const char* values = Take(container.cardinality * sizeof(uint16_t));
    if (values == nullptr) return Corrupt("it is cut off");
    for (uint32_t i = 0; i < container.cardinality; ++i) {
      const auto value = Load<uint16_t>(values, i);
      if (i > 0 && value <= Load<uint16_t>(values, i - 1)) return Corrupt("rows are not in order");
      ARROW_RETURN_NOT_OK(Add(container.key, value, value));
    }
    return Status::OK();
  }

  Status DecodeBitset(const Container& container) {
    const char* words = Take(kBitsetWords * sizeof(uint64_t));
    if (words == nullptr) return Corrupt("it is cut off");
    uint32_t cardinality = 0;
    for (uint32_t i = 0; i < kBitsetWords; ++i) {
      auto word = Load<uint64_t>(words, i);
      cardinality += std::popcount(word);
      uint32_t offset = 64 * i;
      while (word != 0) {
        const int zeros = std::countr_zero(word);
        const int ones = std::countr_one(word >> zeros);
        offset += zeros;
        ARROW_RETURN_NOT_OK(Add(container.key, offset, offset + ones - 1));
        offset += ones;
        word = zeros + ones == 64 ? 0 : word >> zeros >> ones;
      }
    }
    if (cardinality != container.cardinality) return Corrupt("a container has another row count");
    return Status::OK();
  }

  Status DecodeRuns(const Container& container) {
    const char* count_at = Take(sizeof(uint16_t));
    if (count_at == nullptr) return Corrupt("it is cut off");
    const uint64_t count = Load<uint16_t>(count_at);
    const char* runs = Take(count * 2 * sizeof(uint16_t));
    if (runs == nullptr) return Corrupt("it is cut off");
    uint64_t next = 0;
    uint64_t cardinality = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t first = Load<uint16_t>(runs, 2 * i);
      const uint32_t last = first + Load<uint16_t>(runs, 2 * i + 1);
      if (first < next || last > 0xffff) return Corrupt("rows are not in order");
      ARROW_RETURN_NOT_OK(Add(container.key, first, last));
      next = uint64_t{last} + 1;
      cardinality += last - first + 1;
    }
    if (cardinality != container.cardinality) return Corrupt("a container has another row count");
    return Status::OK();
  }

  const std::string_view bytes_;
  const uint64_t physical_rows_;
  const std::string& key_;
  uint64_t position_ = 0;
  std::vector<Container> containers_;
  DeletionVector vector_;
};

Result<DeletionVector> DeletionVector::FromBitmap(std::string_view bytes, uint64_t physical_rows,
                                                  const std::string& key) {
  return BitmapDecoder(bytes, physical_rows, key).Decode();
}

}  // namespace lake::table
