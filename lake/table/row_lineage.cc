#include "lake/table/row_id_sequence.h"
#include "lake/table/row_lineage_internal.h"

namespace lake::table {

Status AssignRowIds(uint64_t version, uint64_t* next_row_id, pb::DataFragment* fragment) {
  const uint64_t rows = fragment->physical_rows();
  const std::string what = fmt::format("fragment {}", fragment->id());
  RowIdSequence ids;
  if (fragment->has_inline_row_ids()) {
    ARROW_ASSIGN_OR_RAISE(ids, RowIdSequence::Decode(fragment->inline_row_ids(), rows, what));
  }
  RowVersionSequence created;
  if (fragment->has_inline_created_at_versions()) {
    ARROW_ASSIGN_OR_RAISE(
        created, RowVersionSequence::Decode(fragment->inline_created_at_versions(), rows, what));
  }
  if (*next_row_id + (rows - ids.size()) < *next_row_id) {
    return Error(ErrorCode::kUnsupported, "table has used up its 2^64 row ids");
  }
  const uint64_t missing = rows - ids.size();
  ids.Append(*next_row_id, missing);
  *next_row_id += missing;
  created.Append(rows - created.size(), version);
  fragment->set_inline_row_ids(ids.Encode());
  fragment->set_inline_created_at_versions(created.Encode());
  MarkUpdated(version, fragment);
  return Status::OK();
}

void MarkUpdated(uint64_t version, pb::DataFragment* fragment) {
  RowVersionSequence updated;
  updated.Append(fragment->physical_rows(), version);
  fragment->set_inline_last_updated_at_versions(updated.Encode());
}

}  // namespace lake::table
