#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <arrow/memory_pool.h>

#include "lake/base/error.h"

namespace arrow {
struct ArrayData;
}

namespace lake::format {

/// JSON columns hold JSONB, a binary form of JSON. Layout: docs/format/encodings.md.

/// Appends the JSON text of one JSONB value, without spaces, as upstream prints it. kCorrupt for
/// bytes that are no such value or nest deeper than 128; kUnsupported for a number kind that JSON
/// does not have (decimal).
Status AppendJsonText(std::string_view jsonb, std::string* text);

/// Appends the JSONB of a JSON text: keys sorted by their bytes, numbers in the shortest form.
/// kInvalidArgument for text that is not JSON, has a key twice in one object, or nests deeper than
/// 128.
Status AppendJsonb(std::string_view text, std::string* jsonb);

/// The string column of a large_binary column of JSONB, nulls kept. kCorrupt as above, with the
/// row; kInvalidArgument if the text passes 2 GiB.
Result<std::shared_ptr<arrow::ArrayData>> JsonbToText(const arrow::ArrayData& jsonb,
                                                      arrow::MemoryPool* pool);

}  // namespace lake::format
