#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "lake/base/context.h"
#include "lake/objects/stage.h"

namespace arrow {
class RecordBatch;
class Schema;
class StructArray;
}  // namespace arrow

namespace lake::commit {

/// The references that one write may hold at most.
inline constexpr uint64_t kMaxFileReferences = 1'000'000;

/// kUnsupported, naming the column, if FILE is nested inside another type: references would not be
/// seen there.
Status RefuseNestedFile(const arrow::Schema& schema);

/// Checks the FILE values of a write (DESIGN: rule 1): where they come from was proved by the
/// caller, and each distinct one names a complete object of the writer's own stage. Not
/// thread-safe.
class FileReferenceChecker {
 public:
  /// `columns`: indices of the FILE columns of `schema`. `max_references` is smaller only in tests.
  FileReferenceChecker(const arrow::Schema& schema, std::shared_ptr<objects::Stage> stage,
                       bool provenance_proved, uint64_t max_references = kMaxFileReferences);

  /// True if there is a FILE column.
  bool needed() const { return !columns_.empty(); }

  /// kPermissionDenied without provenance or outside the stage; kInvalidArgument for a value with a
  /// null child or for too many references; kNotFound, kIntegrity as Stage::CheckExists says.
  Status Check(const Context& context, const arrow::RecordBatch& batch);
  /// The same for the FILE columns of a batch of any columns.
  Status CheckAll(const Context& context, const arrow::RecordBatch& batch);

 private:
  using Digest = std::array<uint8_t, 16>;
  struct DigestHash {
    size_t operator()(const Digest& digest) const;
  };

  Status CheckColumn(const Context& context, const std::string& name,
                     const arrow::StructArray& column);
  /// Remembers the value; false if it was checked before.
  Result<bool> AddReference(const Context& context, const objects::DataLocation& location);

  const std::vector<int> columns_;
  const std::shared_ptr<objects::Stage> stage_;
  const bool provenance_proved_;
  const uint64_t max_references_;
  std::unordered_set<Digest, DigestHash> checked_;
  MemoryReservation memory_;
};

}  // namespace lake::commit
