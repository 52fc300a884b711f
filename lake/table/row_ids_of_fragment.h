#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "lake/base/context.h"
#include "lake/table/manifest.h"
#include "lake/table/row_id_sequence.h"

namespace arrow {
class Array;
class Field;
}  // namespace arrow

namespace lake::table {

class FragmentSource;

/// The stable row ids and versions of one fragment's rows. Immutable, thread-safe.
struct FragmentRowIds {
  /// Decodes what `fragment`, which has `physical_rows` rows, carries. kUnsupported if it holds no
  /// row ids inline; kCorrupt if they are not as many as its rows.
  static Result<std::shared_ptr<const FragmentRowIds>> Of(const Fragment& fragment,
                                                          uint64_t physical_rows);

  RowIdSequence ids;
  /// As long as `ids`: rows whose version is not told were there in version 1.
  RowVersionSequence created_at;
  RowVersionSequence last_updated_at;

  /// Bytes that it takes, about.
  size_t MemoryUse() const;
};

/// The columns that a scan can add to a table's own.
enum class RowMetaColumn {
  kRowId,          ///< `_rowid`: the stable id, else the address.
  kRowAddress,     ///< `_rowaddr`
  kCreatedAt,      ///< `_row_created_at_version`
  kLastUpdatedAt,  ///< `_row_last_updated_at_version`
};
inline constexpr char kRowIdColumn[] = "_rowid";
inline constexpr char kRowAddressColumn[] = "_rowaddr";
inline constexpr char kCreatedAtColumn[] = "_row_created_at_version";
inline constexpr char kLastUpdatedAtColumn[] = "_row_last_updated_at_version";

/// The column of that name, or nothing.
std::optional<RowMetaColumn> FindRowMetaColumn(std::string_view name);

/// The field that a scan shows it as: nullable, as upstream has it, though it never is null.
std::shared_ptr<arrow::Field> RowMetaField(RowMetaColumn column);

/// kUnsupported for the versions of a row in a table without stable row ids, which does not keep
/// them.
Status CheckRowMetaColumn(const Manifest& manifest, RowMetaColumn column);

/// Its values (uint64, no nulls) for `rows` of a fragment of the source's version. Errors of
/// CheckRowMetaColumn and FragmentSource::RowIds.
Result<std::shared_ptr<arrow::Array>> ReadRowMetaColumn(const Context& context,
                                                        FragmentSource* source,
                                                        const Fragment& fragment,
                                                        RowMetaColumn column,
                                                        const format::RowSelection& rows);

}  // namespace lake::table
