#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/container.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/page_decoder_internal.h"

namespace lake::format {

/// Full-zip pages lay everything of an entry behind each other: control word, then value.

/// The word in front of every entry: repetition level, then definition level, little-endian.
class FullZipControl {
 public:
  /// kCorrupt for levels that are too wide, or that do not go with `levels`.
  static Result<FullZipControl> From(const pb::FullZipLayout& layout, const LevelScheme& levels);

  /// Bytes of the word: 0, 1, 2 or 4.
  uint32_t width() const { return width_; }
  uint32_t Load(const char* at) const {
    switch (width_) {
      case 0:
        return 0;
      case 1:
        return static_cast<uint8_t>(*at);
      case 2:
        return LoadLittle<uint16_t>(at);
      default:
        return LoadLittle<uint32_t>(at);
    }
  }
  // Bits of the word beyond both levels mean nothing.
  uint16_t definition(uint32_t word) const { return Low(word, bits_def_); }
  uint16_t repetition(uint32_t word) const { return Low(word >> bits_def_, bits_rep_); }

 private:
  static uint16_t Low(uint32_t word, uint32_t bits) {
    return static_cast<uint16_t>(word & ((uint32_t{1} << bits) - 1));
  }

  uint32_t width_ = 0;
  uint32_t bits_def_ = 0;
  uint32_t bits_rep_ = 0;
};

/// kCorrupt unless the numbers of entries and of values fit the page: one of each for every row
/// where there are no lists.
Status CheckFullZipCounts(const PageTask& task);

/// Where the rows of a page begin: its second buffer, an entry for each row and one for the end.
class FullZipRowIndex {
 public:
  /// kCorrupt if the buffer has no such form. `task` must outlive the index.
  static Result<FullZipRowIndex> From(const PageTask& task);

  void PlanState(RangeReads* reads);
  Status PlanData(const RangeReads& state, RangeReads* reads);
  /// The bytes of the rows of wanted range `i`.
  std::string_view Bytes(const RangeReads& state, const RangeReads& data, size_t i) const;

 private:
  uint64_t Entry(std::string_view entries, uint64_t i) const;

  const PageTask* task_ = nullptr;
  uint64_t width_ = 0;
  // Of the ranges of rows, in order: their index entries, then their bytes.
  std::vector<size_t> index_reads_;
  std::vector<size_t> data_reads_;
};

Result<std::unique_ptr<PageDecoder>> MakeFixedFullZipDecoder(PageTask task);
Result<std::unique_ptr<PageDecoder>> MakeVariableFullZipDecoder(PageTask task);

}  // namespace lake::format
