#include "lake/service/value_text.h"

#include <cmath>
#include <utility>

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/base64.h>
#include <arrow/util/decimal.h>
#include <arrow/util/formatting.h>
#include <arrow/util/macros.h>
#include <arrow/visit_type_inline.h>
#include <fmt/format.h>

#include "lake/objects/data_location.h"

namespace lake::service {
namespace {

constexpr char kHex[] = "0123456789abcdef";

enum class Style { kText, kJson };

void AppendValue(const arrow::Array& array, int64_t row, Style style, std::string* out);

void AppendHex(std::string_view bytes, std::string* out) {
  out->append("\\x");
  for (unsigned char byte : bytes) {
    out->push_back(kHex[byte >> 4]);
    out->push_back(kHex[byte & 15]);
  }
}

/// Appends text that JSON has to quote and tables show bare.
void AppendQuotable(std::string_view text, Style style, std::string* out) {
  if (style == Style::kJson) {
    AppendJsonString(text, out);
  } else {
    out->append(text);
  }
}

/// Appends one value; dispatched on the type once per value, which is fine for people's eyes.
struct ValueAppender {
  const arrow::Array& array;
  int64_t row;
  Style style;
  std::string* out;

  arrow::Status Visit(const arrow::NullType&) {
    out->append("null");
    return arrow::Status::OK();
  }

  arrow::Status Visit(const arrow::BooleanType&) {
    out->append(static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false");
    return arrow::Status::OK();
  }

  template <typename T>
  arrow::enable_if_integer<T, arrow::Status> Visit(const T&) {
    auto value = static_cast<const typename arrow::TypeTraits<T>::ArrayType&>(array).Value(row);
    fmt::format_to(std::back_inserter(*out), "{}", +value);
    return arrow::Status::OK();
  }

  template <typename T>
  arrow::Status AppendFloat(T value) {
    if (std::isfinite(value)) {
      std::string text = fmt::format("{}", value);
      // fmt leaves out the fraction of whole numbers; keep it visible that this is not an integer.
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
      out->append(text);
    } else {
      AppendQuotable(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity", style, out);
    }
    return arrow::Status::OK();
  }
  arrow::Status Visit(const arrow::FloatType&) {
    return AppendFloat(static_cast<const arrow::FloatArray&>(array).Value(row));
  }
  arrow::Status Visit(const arrow::DoubleType&) {
    return AppendFloat(static_cast<const arrow::DoubleArray&>(array).Value(row));
  }

  arrow::Status Visit(const arrow::Decimal128Type&) {
    out->append(static_cast<const arrow::Decimal128Array&>(array).FormatValue(row));
    return arrow::Status::OK();
  }

  template <typename T>
  arrow::enable_if_base_binary<T, arrow::Status> Visit(const T&) {
    std::string_view value =
        static_cast<const typename arrow::TypeTraits<T>::ArrayType&>(array).GetView(row);
    if constexpr (arrow::is_string_type<T>::value) {
      AppendQuotable(value, style, out);
    } else {
      AppendBytes(value);
    }
    return arrow::Status::OK();
  }
  arrow::Status Visit(const arrow::FixedSizeBinaryType&) {
    AppendBytes(static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row));
    return arrow::Status::OK();
  }
  void AppendBytes(std::string_view bytes) {
    if (style == Style::kJson) {
      AppendJsonString(arrow::util::base64_encode(bytes), out);
    } else {
      AppendHex(bytes, out);
    }
  }

  template <typename T>
  arrow::enable_if_t<arrow::is_date_type<T>::value || arrow::is_time_type<T>::value, arrow::Status>
  Visit(const T& type) {
    arrow::internal::StringFormatter<T> formatter(&type);
    auto value = static_cast<const typename arrow::TypeTraits<T>::ArrayType&>(array).Value(row);
    return formatter(value, [&](std::string_view text) {
      AppendQuotable(text, style, out);
      return arrow::Status::OK();
    });
  }
  arrow::Status Visit(const arrow::TimestampType& type) {
    // The stored instant is UTC whatever the zone's name; the formatter ends it with Z.
    arrow::internal::StringFormatter<arrow::TimestampType> formatter(&type);
    return formatter(static_cast<const arrow::TimestampArray&>(array).Value(row),
                     [&](std::string_view text) {
                       AppendQuotable(text, style, out);
                       return arrow::Status::OK();
                     });
  }
  arrow::Status Visit(const arrow::DurationType& type) {
    static constexpr const char* kUnits[] = {"s", "ms", "us", "ns"};
    AppendQuotable(fmt::format("{} {}", static_cast<const arrow::DurationArray&>(array).Value(row),
                               kUnits[type.unit()]),
                   style, out);
    return arrow::Status::OK();
  }

  arrow::Status AppendList(const arrow::Array& values, int64_t start, int64_t length) {
    out->push_back('[');
    for (int64_t i = 0; i < length; ++i) {
      if (i > 0) out->append(style == Style::kJson ? "," : ", ");
      AppendValue(values, start + i, style, out);
    }
    out->push_back(']');
    return arrow::Status::OK();
  }
  template <typename T>
  arrow::enable_if_t<arrow::is_var_length_list_type<T>::value, arrow::Status> Visit(const T&) {
    const auto& list = static_cast<const typename arrow::TypeTraits<T>::ArrayType&>(array);
    return AppendList(*list.values(), list.value_offset(row), list.value_length(row));
  }
  arrow::Status Visit(const arrow::FixedSizeListType&) {
    const auto& list = static_cast<const arrow::FixedSizeListArray&>(array);
    return AppendList(*list.values(), list.value_offset(row), list.value_length(row));
  }
  arrow::Status Visit(const arrow::StructType& type) {
    const auto& value = static_cast<const arrow::StructArray&>(array);
    out->push_back('{');
    for (int i = 0; i < type.num_fields(); ++i) {
      if (i > 0) out->append(style == Style::kJson ? "," : ", ");
      AppendQuotable(type.field(i)->name(), style, out);
      out->append(style == Style::kJson ? ":" : ": ");
      AppendValue(*value.field(i), row, style, out);
    }
    out->push_back('}');
    return arrow::Status::OK();
  }

  // What remains (maps, dictionaries, intervals, ...) is shown as Arrow shows it.
  template <typename T>
  arrow::enable_if_t<!arrow::is_integer_type<T>::value && !arrow::is_base_binary_type<T>::value &&
                         !arrow::is_date_type<T>::value && !arrow::is_time_type<T>::value &&
                         !arrow::is_var_length_list_type<T>::value,
                     arrow::Status>
  Visit(const T&) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Scalar> scalar, array.GetScalar(row));
    AppendQuotable(scalar->ToString(), style, out);
    return arrow::Status::OK();
  }
};

void AppendValue(const arrow::Array& array, int64_t row, Style style, std::string* out) {
  if (array.IsNull(row)) {
    out->append(style == Style::kJson ? "null" : "NULL");
    return;
  }
  ValueAppender appender{array, row, style, out};
  arrow::Status status = arrow::VisitTypeInline(*array.type(), &appender);
  if (!status.ok()) AppendQuotable(fmt::format("<{}>", status.message()), style, out);
}

}  // namespace

void AppendValueText(const arrow::Array& array, int64_t row, std::string* out) {
  AppendValue(array, row, Style::kText, out);
}

void AppendValueJson(const arrow::Array& array, int64_t row, std::string* out) {
  AppendValue(array, row, Style::kJson, out);
}

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  for (unsigned char c : text) {
    switch (c) {
      case '"':
        out->append("\\\"");
        break;
      case '\\':
        out->append("\\\\");
        break;
      case '\n':
        out->append("\\n");
        break;
      case '\r':
        out->append("\\r");
        break;
      case '\t':
        out->append("\\t");
        break;
      default:
        if (c < 0x20) {
          fmt::format_to(std::back_inserter(*out), "\\u{:04x}", c);
        } else {
          out->push_back(static_cast<char>(c));
        }
    }
  }
  out->push_back('"');
}

bool IsNumeric(const arrow::DataType& type) {
  return arrow::is_numeric(type.id()) || arrow::is_decimal(type.id());
}

}  // namespace lake::service
