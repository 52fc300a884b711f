#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lake/format/version.h"

namespace lake::format {

struct Field;

/// A release of Lance.
struct LanceRelease {
  int major = 0;
  int minor = 0;

  /// "3.0"
  std::string ToString() const;
  auto operator<=>(const LanceRelease&) const = default;
};

/// What a file or a table can hold that not every Lance reads.
enum class FloorFact {
  kVersion20,
  kVersion21,
  kVersion22,
  kVersion23,
  kJson,
  kBlobIn20,
  kAllNullItems,
  kBasePaths,
  kMixedFileVersions,
  kTaggedFragmentReuse,
  kManagedBlobs,
};

/// Since which release Lance reads it: measured. docs/format/floors.md has the same rows.
struct FloorRow {
  FloorFact fact;
  /// For people, such as "files of version 2.2".
  const char* what;
  LanceRelease since;
};
const std::vector<FloorRow>& FloorRows();

/// The oldest Lance that opens something, as far as what it holds is known. A plain value.
class ReadingFloor {
 public:
  void Add(FloorFact fact);
  /// Of a file version; one that is not known is as AddUnknown.
  void Add(const FileVersion& version);
  /// Types of a column, at any depth.
  void Add(const Field& field, const FileVersion& version);
  /// No release is known to read `what`.
  void AddUnknown(const std::string& what);

  /// Nothing: no release is known.
  std::optional<LanceRelease> release() const;
  /// What keeps older ones from opening it.
  std::vector<std::string> reasons() const;
  /// "Lance 3.0 and later (files of version 2.2)"
  std::string ToString() const;

 private:
  std::vector<FloorRow> rows_;
  std::vector<std::string> unknown_;
};

}  // namespace lake::format
