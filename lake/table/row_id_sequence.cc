#include "lake/table/row_id_sequence.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "lake/base/checked.h"
#include "lake/format/parse_message_internal.h"
#include "lake/table/row_ids.pb.h"

namespace lake::table {

namespace {

template <typename T>
T Load(const std::string& bytes, uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Decodes segments into runs of a sink `add(start, count)`, which says no when it has enough.
class SegmentDecoder {
 public:
  SegmentDecoder(uint64_t max_values, const std::string& what)
      : max_values_(max_values), what_(what) {}

  template <typename Add>
  Status Decode(const pb::U64Segment& segment, Add add) {
    switch (segment.segment_case()) {
      case pb::U64Segment::kRange:
        ARROW_RETURN_NOT_OK(CheckRange(segment.range().start(), segment.range().end()));
        return Take(segment.range().start(), segment.range().end() - segment.range().start(), add);
      case pb::U64Segment::kRangeWithHoles:
        return DecodeHoles(segment.range_with_holes(), add);
      case pb::U64Segment::kRangeWithBitmap:
        return DecodeBitmap(segment.range_with_bitmap(), add);
      case pb::U64Segment::kSortedArray:
        return VisitArray(segment.sorted_array(), [&](uint64_t id) { return Take(id, 1, add); });
      case pb::U64Segment::kArray:
        return VisitArray(segment.array(), [&](uint64_t id) { return Take(id, 1, add); });
      case pb::U64Segment::SEGMENT_NOT_SET:
        break;
    }
    return Error(ErrorCode::kUnsupported, "sequence has a segment of an unknown kind: {}", what_);
  }

 private:
  Status Corrupt(std::string_view reason) const {
    return Error(ErrorCode::kCorrupt, "sequence cannot be read: {}: {}", what_, reason);
  }

  Status CheckRange(uint64_t start, uint64_t end) const {
    return start <= end ? Status::OK() : Corrupt("a range ends before it starts");
  }

  template <typename Add>
  Status Take(uint64_t start, uint64_t count, Add& add) {
    if (count > max_values_) return Corrupt("it has more values than rows");
    max_values_ -= count;
    if (count > 0) add(start, count);
    return Status::OK();
  }

  template <typename Visit>
  Status VisitArray(const pb::EncodedU64Array& array, Visit visit) {
    auto each = [&]<typename T>(T, uint64_t base, const std::string& bytes) -> Status {
      if (bytes.size() % sizeof(T) != 0) return Corrupt("an array is cut off");
      for (uint64_t i = 0; i < bytes.size() / sizeof(T); ++i) {
        std::optional<uint64_t> value = CheckedAdd<uint64_t>(base, Load<T>(bytes, i));
        // The last number has no end behind it.
        if (!value || *value == UINT64_MAX) return Corrupt("a value has over 64 bits");
        ARROW_RETURN_NOT_OK(visit(*value));
      }
      return Status::OK();
    };
    switch (array.array_case()) {
      case pb::EncodedU64Array::kU16Array:
        return each(uint16_t{}, array.u16_array().base(), array.u16_array().offsets());
      case pb::EncodedU64Array::kU32Array:
        return each(uint32_t{}, array.u32_array().base(), array.u32_array().offsets());
      case pb::EncodedU64Array::kU64Array:
        return each(uint64_t{}, 0, array.u64_array().values());
      case pb::EncodedU64Array::ARRAY_NOT_SET:
        break;
    }
    return Error(ErrorCode::kUnsupported, "sequence has an array of an unknown kind: {}", what_);
  }

  template <typename Add>
  Status DecodeHoles(const pb::U64Segment::RangeWithHoles& segment, Add& add) {
    ARROW_RETURN_NOT_OK(CheckRange(segment.start(), segment.end()));
    uint64_t next = segment.start();
    ARROW_RETURN_NOT_OK(VisitArray(segment.holes(), [&](uint64_t hole) -> Status {
      if (hole < next || hole >= segment.end()) return Corrupt("holes are not in order");
      ARROW_RETURN_NOT_OK(Take(next, hole - next, add));
      next = hole + 1;
      return Status::OK();
    }));
    return Take(next, segment.end() - next, add);
  }

  template <typename Add>
  Status DecodeBitmap(const pb::U64Segment::RangeWithBitmap& segment, Add& add) {
    ARROW_RETURN_NOT_OK(CheckRange(segment.start(), segment.end()));
    const uint64_t length = segment.end() - segment.start();
    const std::string& bitmap = segment.bitmap();
    if (bitmap.size() != length / 8 + (length % 8 != 0)) {
      return Corrupt("a bitmap has another length than its range");
    }
    uint64_t run = 0;  // length of the run that ends before the position
    for (uint64_t i = 0; i < length; ++i) {
      if ((static_cast<uint8_t>(bitmap[i / 8]) >> (i % 8) & 1) != 0) {
        ++run;
      } else if (run > 0) {
        ARROW_RETURN_NOT_OK(Take(segment.start() + i - run, run, add));
        run = 0;
      }
    }
    return Take(segment.end() - run, run, add);
  }

  uint64_t max_values_;
  const std::string& what_;
};

void SetRange(uint64_t start, uint64_t count, pb::U64Segment* segment) {
  // An empty message would lose the choice of a range from 0 to 0, which is none of ours.
  segment->mutable_range()->set_start(start);
  segment->mutable_range()->set_end(start + count);
}

/// Runs in ascending order, [begin, end), as the segment or segments that take least.
class StretchEncoder {
 public:
  using Run = RowIdSequence::Run;

  static void Encode(const Run* begin, const Run* end, pb::RowIdSequence* message) {
    const uint64_t start = begin->start;
    const uint64_t stop = (end - 1)->start + (end - 1)->count;
    const uint64_t span = stop - start;
    uint64_t count = 0;
    for (const Run* run = begin; run != end; ++run) count += run->count;
    const auto runs = static_cast<uint64_t>(end - begin);
    if (runs == 1) return SetRange(start, count, message->add_segments());

    constexpr uint64_t kRangeBytes = 12;
    const uint64_t offset_bytes = span <= std::numeric_limits<uint16_t>::max()   ? 2
                                  : span <= std::numeric_limits<uint32_t>::max() ? 4
                                                                                 : 8;
    const uint64_t as_ranges = runs * kRangeBytes;
    // Over a wide span neither pays, and their sizes would not be numbers any more.
    constexpr uint64_t kWideSpan = 1ull << 40;
    const bool wide = span >= kWideSpan;
    const uint64_t as_bitmap = wide ? UINT64_MAX : span / 8 + 1;
    const uint64_t as_holes = wide ? UINT64_MAX : (span - count) * offset_bytes;
    const uint64_t as_array = count * offset_bytes;
    const uint64_t least = std::min({as_ranges, as_bitmap, as_holes, as_array});
    if (as_bitmap == least) {
      auto* bitmap = message->add_segments()->mutable_range_with_bitmap();
      bitmap->set_start(start);
      bitmap->set_end(stop);
      std::string bits(span / 8 + (span % 8 != 0), '\0');
      for (const Run* run = begin; run != end; ++run) {
        for (uint64_t i = run->start - start; i < run->start - start + run->count; ++i) {
          bits[i / 8] = static_cast<char>(static_cast<uint8_t>(bits[i / 8]) | 1u << (i % 8));
        }
      }
      bitmap->set_bitmap(std::move(bits));
    } else if (as_holes == least) {
      auto* holes = message->add_segments()->mutable_range_with_holes();
      holes->set_start(start);
      holes->set_end(stop);
      std::vector<uint64_t> values;
      for (const Run* run = begin; run + 1 != end; ++run) {
        for (uint64_t id = run->start + run->count; id < (run + 1)->start; ++id) {
          values.push_back(id);
        }
      }
      SetArray(values, holes->mutable_holes());
    } else if (as_array == least) {
      SetArray(Values(begin, end), message->add_segments()->mutable_sorted_array());
    } else {
      for (const Run* run = begin; run != end; ++run) {
        SetRange(run->start, run->count, message->add_segments());
      }
    }
  }

  static std::vector<uint64_t> Values(const Run* begin, const Run* end) {
    std::vector<uint64_t> values;
    for (const Run* run = begin; run != end; ++run) {
      for (uint64_t i = 0; i < run->count; ++i) values.push_back(run->start + i);
    }
    return values;
  }

  static void SetArray(const std::vector<uint64_t>& values, pb::EncodedU64Array* message) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const uint64_t base = *low;
    auto offsets = [&]<typename T>(T) {
      std::string bytes(values.size() * sizeof(T), '\0');
      for (size_t i = 0; i < values.size(); ++i) {
        const T offset = static_cast<T>(values[i] - base);
        std::memcpy(bytes.data() + i * sizeof(T), &offset, sizeof(T));
      }
      return bytes;
    };
    if (*high - base <= std::numeric_limits<uint16_t>::max()) {
      message->mutable_u16_array()->set_base(base);
      message->mutable_u16_array()->set_offsets(offsets(uint16_t{}));
    } else if (*high - base <= std::numeric_limits<uint32_t>::max()) {
      message->mutable_u32_array()->set_base(base);
      message->mutable_u32_array()->set_offsets(offsets(uint32_t{}));
    } else {
      std::string bytes(values.size() * sizeof(uint64_t), '\0');
      std::memcpy(bytes.data(), values.data(), bytes.size());
      message->mutable_u64_array()->set_values(std::move(bytes));
    }
  }
};

template <typename Message>
Result<Message> Parse(std::string_view bytes, const std::string& what) {
  Message message;
  if (!format::ParseMessage(bytes, "sequence", &message).ok()) {
    return Error(ErrorCode::kCorrupt, "sequence cannot be read: {}: it is no valid protobuf", what);
  }
  return message;
}

}  // namespace

Result<RowIdSequence> RowIdSequence::Decode(std::string_view bytes, uint64_t max_rows,
                                            const std::string& what) {
  ARROW_ASSIGN_OR_RAISE(auto message, Parse<pb::RowIdSequence>(bytes, what));
  RowIdSequence sequence;
  SegmentDecoder decoder(max_rows, what);
  for (const pb::U64Segment& segment : message.segments()) {
    ARROW_RETURN_NOT_OK(decoder.Decode(
        segment, [&](uint64_t start, uint64_t count) { sequence.Append(start, count); }));
  }
  return sequence;
}

std::string RowIdSequence::Encode() const {
  pb::RowIdSequence message;
  size_t stretches = 1;
  auto ascends = [&](size_t i) {
    return runs_[i].start > runs_[i - 1].start &&
           runs_[i].start - runs_[i - 1].start >= runs_[i - 1].count;
  };
  for (size_t i = 1; i < runs_.size(); ++i) stretches += ascends(i) ? 0 : 1;
  // Without order there is nothing to save.
  const bool shuffled = stretches > 4 && stretches > size_ / 16;
  if (shuffled) {
    StretchEncoder::SetArray(StretchEncoder::Values(runs_.data(), runs_.data() + runs_.size()),
                             message.add_segments()->mutable_array());
  } else {
    for (size_t begin = 0; begin < runs_.size();) {
      size_t end = begin + 1;
      while (end < runs_.size() && ascends(end)) ++end;
      StretchEncoder::Encode(runs_.data() + begin, runs_.data() + end, &message);
      begin = end;
    }
  }
  return message.SerializeAsString();
}

void RowIdSequence::Append(uint64_t start, uint64_t count) {
  if (count == 0) return;
  if (!runs_.empty() && runs_.back().start + runs_.back().count == start) {
    runs_.back().count += count;
  } else {
    starts_.push_back(size_);
    runs_.push_back({start, count});
  }
  size_ += count;
}

void RowIdSequence::Append(const RowIdSequence& other) {
  for (const Run& run : other.runs_) Append(run.start, run.count);
}

size_t RowIdSequence::FindRun(uint64_t row) const {
  return std::upper_bound(starts_.begin(), starts_.end(), row) - starts_.begin() - 1;
}

uint64_t RowIdSequence::At(uint64_t row) const {
  const size_t run = FindRun(row);
  return runs_[run].start + (row - starts_[run]);
}

RowIdSequence RowIdSequence::Select(const format::RowSelection& rows) const {
  RowIdSequence selected;
  Visit(rows, [&](uint64_t start, uint64_t count) { selected.Append(start, count); });
  return selected;
}

Result<RowVersionSequence> RowVersionSequence::Decode(std::string_view bytes, uint64_t max_rows,
                                                      const std::string& what) {
  ARROW_ASSIGN_OR_RAISE(auto message, Parse<pb::RowDatasetVersionSequence>(bytes, what));
  RowVersionSequence sequence;
  SegmentDecoder decoder(max_rows, what);
  for (const pb::RowDatasetVersionSequence::Run& run : message.runs()) {
    ARROW_RETURN_NOT_OK(decoder.Decode(
        run.span(), [&](uint64_t, uint64_t count) { sequence.Append(count, run.version()); }));
  }
  return sequence;
}

std::string RowVersionSequence::Encode() const {
  pb::RowDatasetVersionSequence message;
  uint64_t row = 0;
  for (const Run& run : runs_) {
    pb::RowDatasetVersionSequence::Run* to = message.add_runs();
    SetRange(row, run.count, to->mutable_span());
    to->set_version(run.version);
    row += run.count;
  }
  return message.SerializeAsString();
}

void RowVersionSequence::Append(uint64_t count, uint64_t version) {
  if (count == 0) return;
  if (!runs_.empty() && runs_.back().version == version) {
    runs_.back().count += count;
  } else {
    starts_.push_back(size_);
    runs_.push_back({count, version});
  }
  size_ += count;
}

size_t RowVersionSequence::FindRun(uint64_t row) const {
  return std::upper_bound(starts_.begin(), starts_.end(), row) - starts_.begin() - 1;
}

RowVersionSequence RowVersionSequence::Select(const format::RowSelection& rows) const {
  RowVersionSequence selected;
  Visit(rows, [&](uint64_t version, uint64_t count) { selected.Append(count, version); });
  return selected;
}

}  // namespace lake::table
