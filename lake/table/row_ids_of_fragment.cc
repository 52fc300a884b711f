#include "lake/table/row_ids_of_fragment.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/type.h>

#include "lake/table/fragment_source.h"

namespace lake::table {

namespace {

std::string What(const Fragment& fragment, std::string_view what) {
  return fmt::format("{} of fragment {}", what, fragment.id);
}

Result<RowVersionSequence> Versions(const std::shared_ptr<const std::string>& bytes, uint64_t rows,
                                    const std::string& what) {
  RowVersionSequence versions;
  if (bytes != nullptr) {
    ARROW_ASSIGN_OR_RAISE(versions, RowVersionSequence::Decode(*bytes, rows, what));
  }
  // Tables from before there were versions.
  versions.Append(rows - versions.size(), 1);
  return versions;
}

Result<std::shared_ptr<arrow::Array>> Addresses(const Context& context, uint64_t fragment_id,
                                                const format::RowSelection& rows) {
  arrow::UInt64Builder builder(context.pool());
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(rows.num_rows())));
  for (const format::RowRange& range : rows.ranges()) {
    for (uint64_t row = range.start; row < range.end(); ++row) {
      builder.UnsafeAppend(fragment_id << 32 | row);
    }
  }
  return builder.Finish();
}

}  // namespace

Result<std::shared_ptr<const FragmentRowIds>> FragmentRowIds::Of(const Fragment& fragment,
                                                                 uint64_t physical_rows) {
  if (fragment.row_ids == nullptr) {
    return Error(ErrorCode::kUnsupported,
                 "row ids of a fragment do not stand in the manifest; they are not read from "
                 "elsewhere: fragment {}",
                 fragment.id);
  }
  auto decoded = std::make_shared<FragmentRowIds>();
  ARROW_ASSIGN_OR_RAISE(decoded->ids, RowIdSequence::Decode(*fragment.row_ids, physical_rows,
                                                            What(fragment, "row ids")));
  if (decoded->ids.size() != physical_rows) {
    return Error(ErrorCode::kCorrupt, "fragment has row ids for {} of its {} rows: fragment {}",
                 decoded->ids.size(), physical_rows, fragment.id);
  }
  ARROW_ASSIGN_OR_RAISE(decoded->created_at, Versions(fragment.created_at_versions, physical_rows,
                                                      What(fragment, "created-at versions")));
  ARROW_ASSIGN_OR_RAISE(decoded->last_updated_at,
                        Versions(fragment.last_updated_at_versions, physical_rows,
                                 What(fragment, "last-updated-at versions")));
  return decoded;
}

size_t FragmentRowIds::MemoryUse() const {
  // A run and where it starts.
  constexpr size_t kRunBytes = 24;
  return sizeof(*this) +
         kRunBytes * (ids.runs().size() + created_at.runs().size() + last_updated_at.runs().size());
}

std::optional<RowMetaColumn> FindRowMetaColumn(std::string_view name) {
  if (name == kRowIdColumn) return RowMetaColumn::kRowId;
  if (name == kRowAddressColumn) return RowMetaColumn::kRowAddress;
  if (name == kCreatedAtColumn) return RowMetaColumn::kCreatedAt;
  if (name == kLastUpdatedAtColumn) return RowMetaColumn::kLastUpdatedAt;
  return std::nullopt;
}

std::shared_ptr<arrow::Field> RowMetaField(RowMetaColumn column) {
  switch (column) {
    case RowMetaColumn::kRowId:
      return arrow::field(kRowIdColumn, arrow::uint64());
    case RowMetaColumn::kRowAddress:
      return arrow::field(kRowAddressColumn, arrow::uint64());
    case RowMetaColumn::kCreatedAt:
      return arrow::field(kCreatedAtColumn, arrow::uint64());
    case RowMetaColumn::kLastUpdatedAt:
      break;
  }
  return arrow::field(kLastUpdatedAtColumn, arrow::uint64());
}

Status CheckRowMetaColumn(const Manifest& manifest, RowMetaColumn column) {
  const bool is_version =
      column == RowMetaColumn::kCreatedAt || column == RowMetaColumn::kLastUpdatedAt;
  if (!is_version || manifest.has_stable_row_ids()) return Status::OK();
  return Error(ErrorCode::kUnsupported,
               "versions of rows are kept only in tables with stable row ids");
}

Result<std::shared_ptr<arrow::Array>> ReadRowMetaColumn(const Context& context,
                                                        FragmentSource* source,
                                                        const Fragment& fragment,
                                                        RowMetaColumn column,
                                                        const format::RowSelection& rows) {
  const Manifest& manifest = source->manifest();
  ARROW_RETURN_NOT_OK(CheckRowMetaColumn(manifest, column));
  if (!manifest.has_stable_row_ids() || column == RowMetaColumn::kRowAddress) {
    return Addresses(context, fragment.id, rows);
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const FragmentRowIds> ids,
                        source->RowIds(context, fragment));
  arrow::UInt64Builder builder(context.pool());
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(rows.num_rows())));
  auto add_version = [&](uint64_t version, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) builder.UnsafeAppend(version);
  };
  switch (column) {
    case RowMetaColumn::kRowId:
      ids->ids.Visit(rows, [&](uint64_t start, uint64_t count) {
        for (uint64_t i = 0; i < count; ++i) builder.UnsafeAppend(start + i);
      });
      break;
    case RowMetaColumn::kCreatedAt:
      ids->created_at.Visit(rows, add_version);
      break;
    case RowMetaColumn::kLastUpdatedAt:
      ids->last_updated_at.Visit(rows, add_version);
      break;
    case RowMetaColumn::kRowAddress:
      break;
  }
  return builder.Finish();
}

}  // namespace lake::table
