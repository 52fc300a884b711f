#include "lake/service/exact_cast.h"

#include <arrow/array/array_base.h>
#include <arrow/compare.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/exec.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

namespace lake::service {
namespace {

using arrow::Type;

bool IsStringLike(Type::type id) {
  return id == Type::STRING || id == Type::LARGE_STRING || id == Type::STRING_VIEW;
}

bool IsBinaryLike(Type::type id) {
  return id == Type::BINARY || id == Type::LARGE_BINARY || id == Type::BINARY_VIEW ||
         id == Type::FIXED_SIZE_BINARY;
}

bool IsDate(Type::type id) { return id == Type::DATE32 || id == Type::DATE64; }
bool IsTime(Type::type id) { return id == Type::TIME32 || id == Type::TIME64; }
bool IsList(Type::type id) {
  return id == Type::LIST || id == Type::LARGE_LIST || id == Type::FIXED_SIZE_LIST;
}

const arrow::DataType& ValueType(const arrow::DataType& list) { return *list.field(0)->type(); }

// Arrow's safe cast checks everything but what a narrower float loses.
bool NarrowsFloats(const arrow::DataType& from, const arrow::DataType& to) {
  if (IsList(from.id()) && IsList(to.id())) return NarrowsFloats(ValueType(from), ValueType(to));
  if (from.id() == Type::DICTIONARY) {
    return NarrowsFloats(*static_cast<const arrow::DictionaryType&>(from).value_type(), to);
  }
  return arrow::is_floating(from.id()) && arrow::is_floating(to.id()) &&
         static_cast<const arrow::FloatingPointType&>(from).precision() >
             static_cast<const arrow::FloatingPointType&>(to).precision();
}

class Caster {
 public:
  explicit Caster(const Context& context) : execution_(context.pool()) {}

  Result<std::shared_ptr<arrow::Array>> Cast(const std::shared_ptr<arrow::Array>& array,
                                             const std::shared_ptr<arrow::DataType>& to) {
    std::shared_ptr<arrow::Array> input = array;
    const arrow::DataType& from = *array->type();
    if (from.id() == Type::DICTIONARY) {
      const auto& values = static_cast<const arrow::DictionaryType&>(from).value_type();
      ARROW_ASSIGN_OR_RAISE(input, Plain(input, values));
      if (values->Equals(*to)) return input;
      return Cast(input, to);
    }
    if (arrow::is_integer(from.id()) && to->id() == Type::DECIMAL128) {
      // Arrow refuses by the types what these values may well fit.
      int scale = static_cast<const arrow::Decimal128Type&>(*to).scale();
      ARROW_ASSIGN_OR_RAISE(input, Plain(input, arrow::decimal128(38, scale)));
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> cast, Plain(input, to));
    if (NarrowsFloats(from, *to)) {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> back, Plain(cast, array->type()));
      if (!back->Equals(*array, arrow::EqualOptions::Defaults().nans_equal(true))) {
        return Error(ErrorCode::kInvalidArgument, "a value of {} has no exact {}", from.ToString(),
                     to->ToString());
      }
    }
    return cast;
  }

 private:
  Result<std::shared_ptr<arrow::Array>> Plain(const std::shared_ptr<arrow::Array>& array,
                                              const std::shared_ptr<arrow::DataType>& to) {
    return arrow::compute::Cast(*array, to, arrow::compute::CastOptions::Safe(), &execution_);
  }

  arrow::compute::ExecContext execution_;
};

}  // namespace

bool MayCastExactly(const arrow::DataType& from, const arrow::DataType& to) {
  Type::type a = from.id();
  Type::type b = to.id();
  if (a == Type::NA) return true;
  if (a == Type::DICTIONARY) {
    const arrow::DataType& values = *static_cast<const arrow::DictionaryType&>(from).value_type();
    return values.Equals(to) || MayCastExactly(values, to);
  }
  if (arrow::is_integer(a)) {
    return arrow::is_integer(b) || b == Type::FLOAT || b == Type::DOUBLE || b == Type::DECIMAL128;
  }
  if (arrow::is_floating(a)) return arrow::is_floating(b) || arrow::is_integer(b);
  if (arrow::is_decimal(a)) return b == Type::DECIMAL128;
  if (IsStringLike(a)) return IsStringLike(b);
  if (IsBinaryLike(a)) return IsBinaryLike(b);
  if (IsDate(a)) return IsDate(b);
  if (IsTime(a)) return IsTime(b);
  if (a == Type::DURATION) return b == Type::DURATION;
  if (a == Type::TIMESTAMP && b == Type::TIMESTAMP) {
    return static_cast<const arrow::TimestampType&>(from).timezone().empty() ==
           static_cast<const arrow::TimestampType&>(to).timezone().empty();
  }
  if (IsList(a) && b == Type::FIXED_SIZE_LIST) {
    if (a == Type::FIXED_SIZE_LIST &&
        static_cast<const arrow::FixedSizeListType&>(from).list_size() !=
            static_cast<const arrow::FixedSizeListType&>(to).list_size()) {
      return false;
    }
    const arrow::DataType& values = ValueType(from);
    return values.Equals(ValueType(to)) || MayCastExactly(values, ValueType(to));
  }
  return false;
}

Result<std::shared_ptr<arrow::Array>> ExactCast(const Context& context,
                                                const std::shared_ptr<arrow::Array>& array,
                                                const std::shared_ptr<arrow::DataType>& to,
                                                InexactRow* failed) {
  if (array->type()->Equals(*to)) return array;
  Caster caster(context);
  auto cast = caster.Cast(array, to);
  if (cast.ok()) return cast;

  // The first row that fails, by halving: everything before `begin` converts, [begin, end) does
  // not.
  int64_t begin = 0;
  int64_t end = array->length();
  Status reason = cast.status();
  while (end - begin > 1) {
    int64_t middle = begin + (end - begin) / 2;
    auto half = caster.Cast(array->Slice(begin, middle - begin), to);
    if (half.ok()) {
      begin = middle;
    } else {
      end = middle;
      reason = half.status();
    }
  }
  *failed = {.row = begin, .reason = reason};
  return reason;
}

}  // namespace lake::service
