#include <algorithm>

#include "lake/table/conflict_internal.h"

namespace lake::table {

namespace {

bool FieldStillFits(const format::Field& read, const format::Field& newest) {
  if (read.id != newest.id || read.name != newest.name ||
      read.logical_type != newest.logical_type || (read.nullable && !newest.nullable)) {
    return false;
  }
  return std::equal(read.children.begin(), read.children.end(), newest.children.begin(),
                    newest.children.end(), FieldStillFits);
}

}  // namespace

AppendConflict CheckAppend(const pb::Transaction& theirs) {
  switch (theirs.operation_case()) {
    case pb::Transaction::kAppend:
    case pb::Transaction::kDelete:
    case pb::Transaction::kUpdate:
    case pb::Transaction::kRewrite:
    case pb::Transaction::kCreateIndex:
    case pb::Transaction::kDataReplacement:
    case pb::Transaction::kUpdateConfig:
    case pb::Transaction::kReserveFragments:
    case pb::Transaction::kUpdateBases:
      return AppendConflict::kNone;
    case pb::Transaction::kMerge:
      return AppendConflict::kColumnsAdded;
    case pb::Transaction::kProject:
      return AppendConflict::kColumnsProjected;
    case pb::Transaction::kOverwrite:
    case pb::Transaction::kRestore:
    case pb::Transaction::kUpdateMemWalState:
    case pb::Transaction::kClone:
    case pb::Transaction::kDataOverlay:
    case pb::Transaction::kAppendFriTransitions:
    case pb::Transaction::OPERATION_NOT_SET:
      return AppendConflict::kIncompatible;
  }
  return AppendConflict::kIncompatible;
}

bool SchemaStillFits(const format::Schema& read, const format::Schema& newest) {
  size_t kept = 0;
  for (const format::Field& field : newest.fields) {
    auto same = std::find_if(read.fields.begin(), read.fields.end(),
                             [&](const format::Field& other) { return other.id == field.id; });
    if (same == read.fields.end()) {
      if (!field.nullable) return false;
    } else if (!FieldStillFits(*same, field)) {
      return false;
    } else {
      ++kept;
    }
  }
  return kept == read.fields.size();
}

}  // namespace lake::table
