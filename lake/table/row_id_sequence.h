#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/row_selection.h"

namespace lake::table {

/// The stable row ids of a fragment's rows, by their place in it, deleted rows included. Format
/// facts: docs/format/row_ids.md. A plain value; constant methods are thread-safe.
class RowIdSequence {
 public:
  /// Ids `start` to `start + count - 1`.
  struct Run {
    uint64_t start;
    uint64_t count;
    bool operator==(const Run&) const = default;
  };

  RowIdSequence() = default;

  /// kCorrupt names `what` and the reason. No more than `max_rows` ids are taken.
  static Result<RowIdSequence> Decode(std::string_view bytes, uint64_t max_rows,
                                      const std::string& what);
  std::string Encode() const;

  /// Adds ids behind all others.
  void Append(uint64_t start, uint64_t count);
  void Append(const RowIdSequence& other);

  uint64_t size() const { return size_; }
  /// REQUIRES: row < size().
  uint64_t At(uint64_t row) const;
  const std::vector<Run>& runs() const { return runs_; }
  /// The ids of `rows`, in their order. REQUIRES: they end within size().
  RowIdSequence Select(const format::RowSelection& rows) const;

  /// Calls `add(start, count)` for the ids of `rows`, stretch by stretch.
  template <typename Add>
  void Visit(const format::RowSelection& rows, Add add) const {
    for (const format::RowRange& range : rows.ranges()) {
      uint64_t row = range.start;
      for (size_t i = FindRun(row); row < range.end(); ++i) {
        const uint64_t offset = row - starts_[i];
        const uint64_t left = runs_[i].count - offset;
        const uint64_t count = left < range.end() - row ? left : range.end() - row;
        add(runs_[i].start + offset, count);
        row += count;
      }
    }
  }

  bool operator==(const RowIdSequence& other) const { return runs_ == other.runs_; }

 private:
  size_t FindRun(uint64_t row) const;

  std::vector<Run> runs_;
  /// The row at which each run starts.
  std::vector<uint64_t> starts_;
  uint64_t size_ = 0;
};

/// The versions in which a fragment's rows were made or changed, by their place in it. A plain
/// value.
class RowVersionSequence {
 public:
  struct Run {
    uint64_t count;
    uint64_t version;
    bool operator==(const Run&) const = default;
  };

  static Result<RowVersionSequence> Decode(std::string_view bytes, uint64_t max_rows,
                                           const std::string& what);
  std::string Encode() const;

  void Append(uint64_t count, uint64_t version);
  uint64_t size() const { return size_; }
  /// REQUIRES: row < size().
  uint64_t At(uint64_t row) const { return runs_[FindRun(row)].version; }
  const std::vector<Run>& runs() const { return runs_; }
  RowVersionSequence Select(const format::RowSelection& rows) const;

  /// Calls `add(version, count)` for `rows`, stretch by stretch.
  template <typename Add>
  void Visit(const format::RowSelection& rows, Add add) const {
    for (const format::RowRange& range : rows.ranges()) {
      uint64_t row = range.start;
      for (size_t i = FindRun(row); row < range.end(); ++i) {
        const uint64_t left = starts_[i] + runs_[i].count - row;
        const uint64_t count = left < range.end() - row ? left : range.end() - row;
        add(runs_[i].version, count);
        row += count;
      }
    }
  }

  bool operator==(const RowVersionSequence& other) const { return runs_ == other.runs_; }

 private:
  size_t FindRun(uint64_t row) const;

  std::vector<Run> runs_;
  std::vector<uint64_t> starts_;
  uint64_t size_ = 0;
};

}  // namespace lake::table
