#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/buffer.h>
#include <fmt/core.h>

#include "lake/base/context.h"
#include "lake/format/container.h"
#include "lake/format/metadata_cache.h"
#include "lake/format/page_decoder_internal.h"
#include "lake/format/read_call_internal.h"

namespace lake::format {

/// The end of a file as it was read at once, from `start` on; null if it was not kept.
struct FileTail {
  const std::shared_ptr<arrow::Buffer>& bytes;
  uint64_t start;
};

/// The metadata of `columns`, each from `cache`, from the tail, or read in one round with the
/// others; `table` says where they lie. `decode` makes a Result<Metadata> of a column's bytes.
/// kCorrupt for a column that the file does not have.
template <typename Metadata, typename Decode>
Result<std::vector<std::shared_ptr<const Metadata>>> LoadColumns(
    const Context& context, const FileSource& source, const std::vector<ByteRange>& table,
    FileTail tail, std::span<const uint32_t> columns, FileCache<Metadata>* cache, Decode decode) {
  std::vector<std::shared_ptr<const Metadata>> result(columns.size());
  RangeReads reads;
  std::vector<size_t> from_store;
  const auto keep = [&](size_t i, std::string_view bytes) {
    auto decoded = decode(bytes);
    if (!decoded.ok()) {
      return WithContext(decoded.status(),
                         fmt::format("Lance {} file '{}', column {}", source.version.ToString(),
                                     source.key, columns[i]));
    }
    auto metadata = std::make_shared<const Metadata>(*std::move(decoded));
    cache->Put(columns[i], metadata, metadata->MemoryUse());
    result[i] = std::move(metadata);
    return Status::OK();
  };
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] >= table.size()) {
      return Error(
          ErrorCode::kCorrupt,
          "a table names a column that its Lance file does not have: column {} of {}: '{}'",
          columns[i], table.size(), source.key);
    }
    result[i] = cache->Find(columns[i]);
    if (result[i] != nullptr) continue;
    const ByteRange range = table[columns[i]];
    if (tail.bytes != nullptr && range.offset >= tail.start) {
      ARROW_RETURN_NOT_OK(
          keep(i, std::string_view(*tail.bytes).substr(range.offset - tail.start, range.length)));
    } else {
      reads.Add(range);
      from_store.push_back(i);
    }
  }
  ARROW_RETURN_NOT_OK(reads.Fetch(context, source.store.get(), source.key));
  for (size_t i = 0; i < from_store.size(); ++i) {
    ARROW_RETURN_NOT_OK(keep(from_store[i], reads.Get(i)));
  }
  return result;
}

}  // namespace lake::format
