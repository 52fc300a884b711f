#pragma once

#include <cstdint>
#include <memory>

#include "lake/base/context.h"

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace lake::service {

/// True if values of `from` may keep their exact meaning as `to`: integers, floats and decimals
/// among each other (not decimal or float to a coarser family), strings among strings, binaries
/// among binaries, dates, times, durations, timestamps (with and without zone apart), lists to
/// fixed-size lists, dictionaries to their values, null to anything. Whether each value does is
/// ExactCast's to say.
bool MayCastExactly(const arrow::DataType& from, const arrow::DataType& to);

/// An array that could not be converted: the first row that could not, and why.
struct InexactRow {
  int64_t row = 0;
  Status reason;
};

/// Converts `array`, or says which row would not keep its exact value. REQUIRES: MayCastExactly, or
/// equal types (the array is returned as it is).
Result<std::shared_ptr<arrow::Array>> ExactCast(const Context& context,
                                                const std::shared_ptr<arrow::Array>& array,
                                                const std::shared_ptr<arrow::DataType>& to,
                                                InexactRow* failed);

}  // namespace lake::service
