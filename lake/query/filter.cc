// Filters that DuckDB hands to the scan, translated to Arrow expressions. Only what means exactly
// the same for every row is taken; the rest stays above the scan. Both sides use three-valued
// logic, compare strings byte by byte and hold -0.0 equal to 0.0; they differ in NaN, which DuckDB
// holds equal to itself and above all other numbers.

#include <cmath>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <arrow/compute/expression.h>
#include <arrow/util/decimal.h>
#include <duckdb/planner/expression/bound_between_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_comparison_expression.hpp>
#include <duckdb/planner/expression/bound_conjunction_expression.hpp>
#include <duckdb/planner/expression/bound_constant_expression.hpp>
#include <duckdb/planner/expression/bound_operator_expression.hpp>
#include <duckdb/planner/operator/logical_get.hpp>

#include "lake/query/scan_internal.h"

namespace lake::query {
namespace {

using arrow::compute::Expression;
using duckdb::ExpressionType;
using duckdb::LogicalTypeId;

/// A list longer than this would make an expression that costs more than it saves.
constexpr size_t kMostListValues = 64;

struct Column {
  std::string name;
  std::shared_ptr<arrow::DataType> type;
  Expression reference;
};

class Translator {
 public:
  Translator(const duckdb::LogicalGet& get, const ScanBindData& data) : get_(get), data_(data) {}

  std::optional<Expression> Translate(const duckdb::Expression& expression) const;

 private:
  std::optional<Column> ColumnOf(const duckdb::Expression& expression) const;
  std::optional<Expression> Comparison(const duckdb::BoundComparisonExpression& expression) const;
  std::optional<Expression> Between(const duckdb::BoundBetweenExpression& expression) const;
  std::optional<Expression> Conjunction(const duckdb::BoundConjunctionExpression& expression) const;
  std::optional<Expression> Operator(const duckdb::BoundOperatorExpression& expression) const;

  const duckdb::LogicalGet& get_;
  const ScanBindData& data_;
};

/// The constant as a scalar of exactly the column's type; nothing where the two do not fit without
/// a change of value.
std::shared_ptr<arrow::Scalar> ScalarFor(const arrow::DataType& type, const duckdb::Value& value) {
  if (value.IsNull()) return nullptr;
  const LogicalTypeId id = value.type().id();
  switch (type.id()) {
    case arrow::Type::BOOL:
      if (id != LogicalTypeId::BOOLEAN) return nullptr;
      return std::make_shared<arrow::BooleanScalar>(value.GetValueUnsafe<bool>());
    case arrow::Type::INT8:
      if (id != LogicalTypeId::TINYINT) return nullptr;
      return std::make_shared<arrow::Int8Scalar>(value.GetValueUnsafe<int8_t>());
    case arrow::Type::INT16:
      if (id != LogicalTypeId::SMALLINT) return nullptr;
      return std::make_shared<arrow::Int16Scalar>(value.GetValueUnsafe<int16_t>());
    case arrow::Type::INT32:
      if (id != LogicalTypeId::INTEGER) return nullptr;
      return std::make_shared<arrow::Int32Scalar>(value.GetValueUnsafe<int32_t>());
    case arrow::Type::INT64:
      if (id != LogicalTypeId::BIGINT) return nullptr;
      return std::make_shared<arrow::Int64Scalar>(value.GetValueUnsafe<int64_t>());
    case arrow::Type::UINT8:
      if (id != LogicalTypeId::UTINYINT) return nullptr;
      return std::make_shared<arrow::UInt8Scalar>(value.GetValueUnsafe<uint8_t>());
    case arrow::Type::UINT16:
      if (id != LogicalTypeId::USMALLINT) return nullptr;
      return std::make_shared<arrow::UInt16Scalar>(value.GetValueUnsafe<uint16_t>());
    case arrow::Type::UINT32:
      if (id != LogicalTypeId::UINTEGER) return nullptr;
      return std::make_shared<arrow::UInt32Scalar>(value.GetValueUnsafe<uint32_t>());
    case arrow::Type::UINT64:
      if (id != LogicalTypeId::UBIGINT) return nullptr;
      return std::make_shared<arrow::UInt64Scalar>(value.GetValueUnsafe<uint64_t>());
    case arrow::Type::FLOAT:
      if (id != LogicalTypeId::FLOAT || std::isnan(value.GetValueUnsafe<float>())) return nullptr;
      return std::make_shared<arrow::FloatScalar>(value.GetValueUnsafe<float>());
    case arrow::Type::DOUBLE:
      if (id != LogicalTypeId::DOUBLE || std::isnan(value.GetValueUnsafe<double>())) return nullptr;
      return std::make_shared<arrow::DoubleScalar>(value.GetValueUnsafe<double>());
    case arrow::Type::STRING:
      if (id != LogicalTypeId::VARCHAR) return nullptr;
      return std::make_shared<arrow::StringScalar>(duckdb::StringValue::Get(value));
    case arrow::Type::LARGE_STRING:
      if (id != LogicalTypeId::VARCHAR) return nullptr;
      return std::make_shared<arrow::LargeStringScalar>(duckdb::StringValue::Get(value));
    case arrow::Type::DATE32:
      if (id != LogicalTypeId::DATE) return nullptr;
      return std::make_shared<arrow::Date32Scalar>(value.GetValueUnsafe<int32_t>());
    case arrow::Type::TIME64:
      if (id != LogicalTypeId::TIME ||
          static_cast<const arrow::Time64Type&>(type).unit() != arrow::TimeUnit::MICRO) {
        return nullptr;
      }
      return std::make_shared<arrow::Time64Scalar>(value.GetValueUnsafe<int64_t>(),
                                                   arrow::TimeUnit::MICRO);
    default:
      return nullptr;
  }
}

std::shared_ptr<arrow::Scalar> TimestampScalarFor(const std::shared_ptr<arrow::DataType>& type,
                                                  const duckdb::Value& value) {
  if (value.IsNull()) return nullptr;
  const auto& timestamp = static_cast<const arrow::TimestampType&>(*type);
  LogicalTypeId wanted = LogicalTypeId::INVALID;
  if (!timestamp.timezone().empty()) {
    if (timestamp.unit() == arrow::TimeUnit::MICRO) wanted = LogicalTypeId::TIMESTAMP_TZ;
  } else {
    switch (timestamp.unit()) {
      case arrow::TimeUnit::SECOND:
        wanted = LogicalTypeId::TIMESTAMP_SEC;
        break;
      case arrow::TimeUnit::MILLI:
        wanted = LogicalTypeId::TIMESTAMP_MS;
        break;
      case arrow::TimeUnit::MICRO:
        wanted = LogicalTypeId::TIMESTAMP;
        break;
      case arrow::TimeUnit::NANO:
        wanted = LogicalTypeId::TIMESTAMP_NS;
        break;
    }
  }
  if (value.type().id() != wanted) return nullptr;
  return std::make_shared<arrow::TimestampScalar>(value.GetValueUnsafe<int64_t>(), type);
}

std::shared_ptr<arrow::Scalar> DecimalScalarFor(const std::shared_ptr<arrow::DataType>& type,
                                                const duckdb::Value& value) {
  const auto& decimal = static_cast<const arrow::Decimal128Type&>(*type);
  if (value.IsNull() || value.type().id() != LogicalTypeId::DECIMAL ||
      duckdb::DecimalType::GetWidth(value.type()) != decimal.precision() ||
      duckdb::DecimalType::GetScale(value.type()) != decimal.scale()) {
    return nullptr;
  }
  const auto number = duckdb::IntegralValue::Get(value);
  return std::make_shared<arrow::Decimal128Scalar>(arrow::Decimal128(number.upper, number.lower),
                                                   type);
}

std::shared_ptr<arrow::Scalar> LiteralFor(const Column& column, const duckdb::Value& value) {
  switch (column.type->id()) {
    case arrow::Type::TIMESTAMP:
      return TimestampScalarFor(column.type, value);
    case arrow::Type::DECIMAL128:
      return DecimalScalarFor(column.type, value);
    default:
      return ScalarFor(*column.type, value);
  }
}

bool IsFloating(const arrow::DataType& type) {
  return type.id() == arrow::Type::FLOAT || type.id() == arrow::Type::DOUBLE;
}

/// `column <op> literal`. The literal is never NaN; a NaN in the column is above it.
std::optional<Expression> Compare(const Column& column, ExpressionType op,
                                  const std::shared_ptr<arrow::Scalar>& literal) {
  const Expression value = arrow::compute::literal(arrow::Datum(literal));
  const auto or_nan = [&](Expression comparison) {
    if (!IsFloating(*column.type)) return comparison;
    return arrow::compute::or_(std::move(comparison),
                               arrow::compute::call("is_nan", {column.reference}));
  };
  switch (op) {
    case ExpressionType::COMPARE_EQUAL:
      return arrow::compute::equal(column.reference, value);
    case ExpressionType::COMPARE_NOTEQUAL:
      return arrow::compute::not_equal(column.reference, value);
    case ExpressionType::COMPARE_LESSTHAN:
      return arrow::compute::less(column.reference, value);
    case ExpressionType::COMPARE_LESSTHANOREQUALTO:
      return arrow::compute::less_equal(column.reference, value);
    case ExpressionType::COMPARE_GREATERTHAN:
      return or_nan(arrow::compute::greater(column.reference, value));
    case ExpressionType::COMPARE_GREATERTHANOREQUALTO:
      return or_nan(arrow::compute::greater_equal(column.reference, value));
    default:
      return std::nullopt;
  }
}

const duckdb::Value* ConstantOf(const duckdb::Expression& expression) {
  if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_CONSTANT) return nullptr;
  return &expression.Cast<duckdb::BoundConstantExpression>().value;
}

std::optional<Column> Translator::ColumnOf(const duckdb::Expression& expression) const {
  if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
    return std::nullopt;
  }
  const auto& reference = expression.Cast<duckdb::BoundColumnRefExpression>();
  const auto& ids = get_.GetColumnIds();
  if (reference.depth != 0 || reference.binding.table_index != get_.table_index ||
      reference.binding.column_index >= ids.size()) {
    return std::nullopt;
  }
  const duckdb::ColumnIndex& id = ids[reference.binding.column_index];
  if (id.IsVirtualColumn() || id.GetPrimaryIndex() >= data_.sql->columns.size()) {
    return std::nullopt;
  }
  const auto& field = data_.dataset->arrow_schema()->field(static_cast<int>(id.GetPrimaryIndex()));
  return Column{field->name(), field->type(),
                arrow::compute::field_ref(arrow::FieldRef(field->name()))};
}

std::optional<Expression> Translator::Comparison(
    const duckdb::BoundComparisonExpression& expression) const {
  ExpressionType op = expression.GetExpressionType();
  std::optional<Column> column = ColumnOf(*expression.left);
  const duckdb::Value* constant = ConstantOf(*expression.right);
  if (!column) {
    column = ColumnOf(*expression.right);
    constant = ConstantOf(*expression.left);
    op = duckdb::FlipComparisonExpression(op);
  }
  if (!column || constant == nullptr) return std::nullopt;
  const auto literal = LiteralFor(*column, *constant);
  if (!literal) return std::nullopt;
  return Compare(*column, op, literal);
}

std::optional<Expression> Translator::Between(
    const duckdb::BoundBetweenExpression& expression) const {
  const std::optional<Column> column = ColumnOf(*expression.input);
  const duckdb::Value* lower = ConstantOf(*expression.lower);
  const duckdb::Value* upper = ConstantOf(*expression.upper);
  if (!column || lower == nullptr || upper == nullptr) return std::nullopt;
  const auto low = LiteralFor(*column, *lower);
  const auto high = LiteralFor(*column, *upper);
  if (!low || !high) return std::nullopt;
  const auto above =
      Compare(*column,
              expression.lower_inclusive ? ExpressionType::COMPARE_GREATERTHANOREQUALTO
                                         : ExpressionType::COMPARE_GREATERTHAN,
              low);
  const auto below = Compare(*column,
                             expression.upper_inclusive ? ExpressionType::COMPARE_LESSTHANOREQUALTO
                                                        : ExpressionType::COMPARE_LESSTHAN,
                             high);
  return arrow::compute::and_(*above, *below);
}

std::optional<Expression> Translator::Conjunction(
    const duckdb::BoundConjunctionExpression& expression) const {
  std::vector<Expression> parts;
  for (const auto& child : expression.children) {
    auto part = Translate(*child);
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  if (parts.empty()) return std::nullopt;
  return expression.GetExpressionType() == ExpressionType::CONJUNCTION_AND
             ? arrow::compute::and_(parts)
             : arrow::compute::or_(parts);
}

std::optional<Expression> Translator::Operator(
    const duckdb::BoundOperatorExpression& expression) const {
  const auto& children = expression.children;
  switch (expression.GetExpressionType()) {
    case ExpressionType::OPERATOR_NOT: {
      auto child = Translate(*children[0]);
      if (!child) return std::nullopt;
      return arrow::compute::not_(std::move(*child));
    }
    case ExpressionType::OPERATOR_IS_NULL: {
      const auto column = ColumnOf(*children[0]);
      if (!column) return std::nullopt;
      return arrow::compute::is_null(column->reference);
    }
    case ExpressionType::OPERATOR_IS_NOT_NULL: {
      const auto column = ColumnOf(*children[0]);
      if (!column) return std::nullopt;
      return arrow::compute::is_valid(column->reference);
    }
    case ExpressionType::COMPARE_IN:
    case ExpressionType::COMPARE_NOT_IN: {
      const auto column = ColumnOf(*children[0]);
      if (!column || children.size() > kMostListValues) return std::nullopt;
      std::vector<Expression> alternatives;
      for (size_t i = 1; i < children.size(); ++i) {
        const duckdb::Value* constant = ConstantOf(*children[i]);
        const auto literal = constant == nullptr ? nullptr : LiteralFor(*column, *constant);
        if (!literal) return std::nullopt;
        alternatives.push_back(*Compare(*column, ExpressionType::COMPARE_EQUAL, literal));
      }
      if (alternatives.empty()) return std::nullopt;
      Expression any = arrow::compute::or_(alternatives);
      if (expression.GetExpressionType() == ExpressionType::COMPARE_IN) return any;
      return arrow::compute::not_(std::move(any));
    }
    default:
      return std::nullopt;
  }
}

std::optional<Expression> Translator::Translate(const duckdb::Expression& expression) const {
  switch (expression.GetExpressionClass()) {
    case duckdb::ExpressionClass::BOUND_COMPARISON:
      return Comparison(expression.Cast<duckdb::BoundComparisonExpression>());
    case duckdb::ExpressionClass::BOUND_BETWEEN:
      return Between(expression.Cast<duckdb::BoundBetweenExpression>());
    case duckdb::ExpressionClass::BOUND_CONJUNCTION:
      return Conjunction(expression.Cast<duckdb::BoundConjunctionExpression>());
    case duckdb::ExpressionClass::BOUND_OPERATOR:
      return Operator(expression.Cast<duckdb::BoundOperatorExpression>());
    case duckdb::ExpressionClass::BOUND_COLUMN_REF: {
      const auto column = ColumnOf(expression);
      if (!column || column->type->id() != arrow::Type::BOOL) return std::nullopt;
      return column->reference;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Expression> TranslateFilter(const duckdb::LogicalGet& get, const ScanBindData& data,
                                          const duckdb::Expression& expression) {
  return Translator(get, data).Translate(expression);
}

}  // namespace lake::query
