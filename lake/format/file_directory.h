#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "lake/base/error.h"
#include "lake/format/container.h"
#include "lake/format/schema.h"
#include "lake/format/version.h"

namespace lake::format {

/// What the end of a Lance file says of the rest of it.
struct FileDirectory {
  FileFooter footer;
  FileVersion version;
  /// Where buffers and metadata of the file must end.
  uint64_t data_end = 0;
  std::vector<ByteRange> global_buffers;
  /// Where the metadata of each column lies.
  std::vector<ByteRange> columns;
  uint64_t num_rows = 0;
  Schema schema;

  /// Reads it from the file `key` of `file_size` bytes; `get` gives the bytes of a range. kCorrupt
  /// where it is none or its parts do not fit each other, kUnsupported for a version that is not
  /// read; both name the file.
  static Result<FileDirectory> Load(
      uint64_t file_size, const std::string& key,
      const std::function<Result<std::shared_ptr<arrow::Buffer>>(ByteRange)>& get);
};

}  // namespace lake::format
