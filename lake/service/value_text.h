#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace lake::service {

/// How values appear in tables and CSV: integers and exact decimals as digits, floating point in
/// the shortest form that reads back equal, times as ISO 8601 with a space (`2024-05-01
/// 12:00:00.5`, with zone: UTC and `Z`), binary as `\x` and hexadecimal digits, lists as `[1, 2]`,
/// structs as `{a: 1}`. Appends the text of `array[row]` to `out`; the caller handles a top-level
/// null.
void AppendValueText(const arrow::Array& array, int64_t row, std::string* out);

/// How values appear in JSON: numbers as numbers (decimals with all digits), NaN and infinities as
/// strings, times as strings, binary as base64, lists and structs as arrays and objects, null as
/// null.
void AppendValueJson(const arrow::Array& array, int64_t row, std::string* out);

/// Appends `text` as a JSON string with quotes.
void AppendJsonString(std::string_view text, std::string* out);

/// True for the types that a table shows right-aligned.
bool IsNumeric(const arrow::DataType& type);

}  // namespace lake::service
