#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lake/format/container.h"
#include "lake/format/schema.h"
#include "lake/format/version.h"
#include "lake/storage/object_store.h"

namespace lake::format {

/// Appends `bytes` to a file in the making, at the next multiple of kBufferAlignment.
Result<ByteRange> WriteBuffer(storage::ObjectWriter* object, std::string_view bytes);

/// Appends what follows the pages: descriptor, the columns' metadata, tables and footer.
/// `encoded_pages` has one block for each column, as PageMetadata::EncodeTo made it. `file` is for
/// texts.
Status WriteFileEnd(storage::ObjectWriter* object, const Schema& schema, uint64_t num_rows,
                    FileVersion version, const std::vector<std::string_view>& encoded_pages,
                    const std::string& file);

}  // namespace lake::format
