// ALTER TABLE and COMMENT: each statement one commit.

#include <optional>
#include <utility>

#include <arrow/api.h>
#include <duckdb/parser/expression/cast_expression.hpp>
#include <duckdb/parser/expression/columnref_expression.hpp>
#include <duckdb/parser/parsed_data/alter_table_info.hpp>
#include <duckdb/parser/parsed_data/comment_on_column_info.hpp>
#include <duckdb/planner/binder.hpp>

#include "lake/commit/row_shape.h"
#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/stored_values.h"
#include "lake/query/transaction_internal.h"
#include "lake/table/alter_columns.h"

namespace lake::query {
namespace {

/// One ALTER of one table.
class Alteration {
 public:
  Alteration(duckdb::ClientContext& context, LakeCatalog& catalog, LakeTableEntry& entry)
      : context_(context), session_(SessionState::Of(context)), catalog_(catalog), entry_(entry) {}

  void Run(duckdb::AlterTableInfo& info);
  void CommentTable(const duckdb::Value& comment);
  void CommentColumn(const std::string& column, const duckdb::Value& comment);

 private:
  using Input = commit::ChangeInput;

  void AddColumn(const duckdb::AddColumnInfo& info);
  void DropColumn(const duckdb::RemoveColumnInfo& info);
  void RenameColumn(const duckdb::RenameColumnInfo& info);
  void RenameTable(const duckdb::RenameTableInfo& info);
  void ChangeType(const duckdb::ChangeColumnTypeInfo& info);
  void SetNullable(const std::string& column, bool nullable);

  const arrow::Schema& schema() const { return *entry_.table()->dataset->arrow_schema(); }
  /// The name of the column that SQL means; throws kNotFound.
  std::string Column(const std::string& name) const;
  std::shared_ptr<arrow::Field> FieldFor(const std::string& name,
                                         const duckdb::LogicalType& type) const;
  void Alter(table::ColumnAlteration alteration);
  void Commit(const commit::ChangeMaker& make);

  duckdb::ClientContext& context_;
  SessionState& session_;
  LakeCatalog& catalog_;
  LakeTableEntry& entry_;
};

/// The name of the column of `schema` that SQL means by `name`; nothing if there is none.
std::optional<std::string> FindColumn(const arrow::Schema& schema, const std::string& name) {
  if (schema.GetFieldIndex(name) >= 0) return name;
  for (const auto& field : schema.fields()) {
    if (duckdb::StringUtil::CIEquals(field->name(), name)) return field->name();
  }
  return std::nullopt;
}

/// A change that does nothing, since it is done already.
table::PreparedChange NoChange() {
  table::PreparedChange change;
  change.is_empty = true;
  return change;
}

std::string Alteration::Column(const std::string& name) const {
  if (!entry_.ColumnExists(name)) {
    ThrowStatus(Error(ErrorCode::kNotFound, "not found: column '{}' of table '{}'", name,
                      entry_.QualifiedName()));
  }
  return entry_.GetColumn(name).Name();
}

std::shared_ptr<arrow::Field> Alteration::FieldFor(const std::string& name,
                                                   const duckdb::LogicalType& type) const {
  duckdb::LogicalType bound = type;
  duckdb::Binder::CreateBinder(context_)->BindLogicalType(bound);
  return ValueOrThrow(FieldForCreate(name, bound, /*nullable=*/true));
}

void Alteration::Commit(const commit::ChangeMaker& make) {
  commit::WriteOptions options;
  options.operation = std::exchange(session_.operation, {});
  options.max_buffered_bytes = static_cast<uint64_t>(catalog_.write_buffer_bytes());
  // No FILE value is made by an ALTER.
  options.file_provenance_proved = false;
  ThrowIfError(catalog_.lakehouse()
                   .Change(session_.context, session_.principal, entry_.table(), make, options)
                   .status());
}

void Alteration::Alter(table::ColumnAlteration alteration) {
  Commit([&](const Context& context, const Input& input) {
    return table::AlterColumns(
        context, input.dataset, {alteration},
        {.check = input.check, .max_buffered_bytes = input.max_buffered_bytes});
  });
}

void Alteration::AddColumn(const duckdb::AddColumnInfo& info) {
  const duckdb::ColumnDefinition& column = info.new_column;
  const std::string object = entry_.QualifiedName() + ", column " + column.Name();
  if (column.Generated()) ThrowRefused("generated columns", object);
  if (column.HasDefaultValue()) {
    ThrowRefused("ADD COLUMN ... DEFAULT (add the column, then UPDATE it)", object);
  }
  RefuseReservedColumn(column.Name());
  const arrow::Schema added({FieldFor(column.Name(), column.Type())});
  // What others did since the statement was bound counts, too.
  Commit([&](const Context& context, const Input& input) -> Result<table::PreparedChange> {
    const arrow::Schema& old = *input.dataset->arrow_schema();
    if (info.if_column_not_exists && FindColumn(old, column.Name())) return NoChange();
    auto fields = old.fields();
    fields.push_back(added.field(0));
    ARROW_RETURN_NOT_OK(commit::CheckNewColumns(arrow::Schema(fields)));
    return table::AddNullColumns(context, input.dataset, added);
  });
}

void Alteration::DropColumn(const duckdb::RemoveColumnInfo& info) {
  if (!info.if_column_exists) Column(info.removed_column);
  Commit([&](const Context& context, const Input& input) -> Result<table::PreparedChange> {
    const auto name = FindColumn(*input.dataset->arrow_schema(), info.removed_column);
    if (!name && info.if_column_exists) return NoChange();
    return table::DropColumns(context, input.dataset, {name.value_or(info.removed_column)});
  });
}

void Alteration::RenameColumn(const duckdb::RenameColumnInfo& info) {
  const std::string name = Column(info.old_name);
  RefuseReservedColumn(info.new_name);
  table::ColumnAlteration alteration;
  alteration.column = name;
  alteration.new_name = info.new_name;
  Commit([&](const Context& context, const Input& input) -> Result<table::PreparedChange> {
    auto fields = input.dataset->arrow_schema()->fields();
    for (auto& field : fields) {
      if (field->name() == name) field = field->WithName(info.new_name);
    }
    ARROW_RETURN_NOT_OK(commit::CheckNewColumns(arrow::Schema(fields)));
    return table::AlterColumns(
        context, input.dataset, {alteration},
        {.check = input.check, .max_buffered_bytes = input.max_buffered_bytes});
  });
}

void Alteration::RenameTable(const duckdb::RenameTableInfo& info) {
  const catalog::Entry& entry = entry_.table()->entry;
  ThrowIfError(catalog_.lakehouse()
                   .Rename(session_.context, session_.principal, entry,
                           {entry.name.name_space, info.new_table_name})
                   .status());
}

/// True for the expression that the parser makes where there is no USING.
bool IsPlainCast(const duckdb::ParsedExpression& expression, const std::string& column) {
  if (expression.GetExpressionClass() != duckdb::ExpressionClass::CAST) return false;
  const auto& child = *expression.Cast<duckdb::CastExpression>().child;
  if (child.GetExpressionClass() != duckdb::ExpressionClass::COLUMN_REF) return false;
  const auto& reference = child.Cast<duckdb::ColumnRefExpression>();
  return !reference.IsQualified() &&
         duckdb::StringUtil::CIEquals(reference.GetColumnName(), column);
}

void Alteration::ChangeType(const duckdb::ChangeColumnTypeInfo& info) {
  const std::string name = Column(info.column_name);
  const std::string object = entry_.QualifiedName() + ", column " + name;
  if (!info.expression || !IsPlainCast(*info.expression, name)) {
    ThrowRefused("ALTER COLUMN ... TYPE ... USING", object);
  }
  const auto wanted = FieldFor(name, info.target_type);
  const auto stored = schema().GetFieldByName(name);
  if (ContainsFileSqlType(entry_.GetColumn(name).Type()) || ContainsFileSqlType(info.target_type) ||
      duckdb::StringUtil::CIEquals(info.target_type.ToString(), "FILE")) {
    ThrowRefused("ALTER COLUMN ... TYPE of or to FILE", object);
  }
  for (const auto& field : {wanted, stored}) {
    if (!IsUuidField(*field) && !IsJsonField(*field) && field->type()->num_fields() == 0) continue;
    ThrowRefused("ALTER COLUMN ... TYPE of or to UUID, JSON and nested types", object);
  }
  table::ColumnAlteration alteration;
  alteration.column = name;
  alteration.new_type = wanted->type();
  Alter(std::move(alteration));
}

void Alteration::SetNullable(const std::string& column, bool nullable) {
  table::ColumnAlteration alteration;
  alteration.column = Column(column);
  alteration.nullable = nullable;
  Alter(std::move(alteration));
}

void Alteration::Run(duckdb::AlterTableInfo& info) {
  switch (info.alter_table_type) {
    case duckdb::AlterTableType::ADD_COLUMN:
      return AddColumn(info.Cast<duckdb::AddColumnInfo>());
    case duckdb::AlterTableType::REMOVE_COLUMN:
      return DropColumn(info.Cast<duckdb::RemoveColumnInfo>());
    case duckdb::AlterTableType::RENAME_COLUMN:
      return RenameColumn(info.Cast<duckdb::RenameColumnInfo>());
    case duckdb::AlterTableType::RENAME_TABLE:
      return RenameTable(info.Cast<duckdb::RenameTableInfo>());
    case duckdb::AlterTableType::ALTER_COLUMN_TYPE:
      return ChangeType(info.Cast<duckdb::ChangeColumnTypeInfo>());
    case duckdb::AlterTableType::SET_NOT_NULL:
      return SetNullable(info.Cast<duckdb::SetNotNullInfo>().column_name, false);
    case duckdb::AlterTableType::DROP_NOT_NULL:
      return SetNullable(info.Cast<duckdb::DropNotNullInfo>().column_name, true);
    case duckdb::AlterTableType::SET_DEFAULT:
      ThrowRefused("ALTER COLUMN ... SET DEFAULT", entry_.QualifiedName());
    case duckdb::AlterTableType::ADD_FIELD:
    case duckdb::AlterTableType::REMOVE_FIELD:
    case duckdb::AlterTableType::RENAME_FIELD:
      ThrowRefused("ALTER TABLE of a field in a struct", entry_.QualifiedName());
    default:
      ThrowRefused("this ALTER TABLE", entry_.QualifiedName());
  }
}

/// A comment as an entry of metadata: NULL takes it away.
table::MapUpdate CommentEntry(const duckdb::Value& comment) {
  table::MapUpdate update;
  std::optional<std::string> text;
  if (!comment.IsNull()) text = comment.ToString();
  update.entries[kCommentKey] = std::move(text);
  return update;
}

void Alteration::CommentTable(const duckdb::Value& comment) {
  Commit([&](const Context& context, const Input& input) -> Result<table::PreparedChange> {
    table::UpdateConfigOperation operation;
    operation.table_metadata = CommentEntry(comment);
    table::PreparedChange change;
    change.transaction =
        table::NewTransaction(context, input.dataset->manifest().version(), std::move(operation));
    return change;
  });
}

void Alteration::CommentColumn(const std::string& column, const duckdb::Value& comment) {
  const std::string name = Column(column);
  Commit([&](const Context& context, const Input& input) -> Result<table::PreparedChange> {
    const format::Field* field = input.dataset->manifest().schema().Find(name);
    if (field == nullptr) {
      return Error(ErrorCode::kNotFound, "not found: column '{}' of table '{}'", name,
                   entry_.QualifiedName());
    }
    table::UpdateConfigOperation operation;
    operation.field_metadata[field->id] = CommentEntry(comment);
    table::PreparedChange change;
    change.transaction =
        table::NewTransaction(context, input.dataset->manifest().version(), std::move(operation));
    return change;
  });
}

}  // namespace

void LakeSchemaEntry::Alter(duckdb::CatalogTransaction transaction, duckdb::AlterInfo& info) {
  duckdb::ClientContext& context = transaction.GetContext();
  RefuseInTransaction(context, "ALTER and COMMENT");
  const std::string qualified = name + "." + info.name;
  const bool known = info.type == duckdb::AlterType::ALTER_TABLE ||
                     info.type == duckdb::AlterType::SET_COLUMN_COMMENT ||
                     (info.type == duckdb::AlterType::SET_COMMENT &&
                      info.GetCatalogType() == duckdb::CatalogType::TABLE_ENTRY);
  if (!known) ThrowRefused("this ALTER or COMMENT", qualified);
  const auto entry =
      LakeTransaction::Get(context, catalog).FindTable(context, *this, info.name, nullptr);
  if (!entry) {
    if (info.if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) return;
    ThrowStatus(Error(ErrorCode::kNotFound, "not found: table '{}'", qualified));
  }
  Alteration alteration(context, lake_catalog_, *entry);
  switch (info.type) {
    case duckdb::AlterType::SET_COMMENT:
      return alteration.CommentTable(info.Cast<duckdb::SetCommentInfo>().comment_value);
    case duckdb::AlterType::SET_COLUMN_COMMENT: {
      const auto& comment = info.Cast<duckdb::SetColumnCommentInfo>();
      return alteration.CommentColumn(comment.column_name, comment.comment_value);
    }
    default:
      return alteration.Run(info.Cast<duckdb::AlterTableInfo>());
  }
}

}  // namespace lake::query
