#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "lake/base/context.h"
#include "lake/table/dataset.h"

namespace arrow {
class RecordBatch;
}

namespace lake::table {

struct StreamOptions {
  /// Batches in the order of the table's rows; else in the order in which they are ready.
  bool ordered = true;
  /// Bound on the bytes of batches that are decoded or being decoded and not taken yet, about; at
  /// least one is decoded at a time. 0: an eighth of the context's memory limit, 256 MiB at most.
  uint64_t max_buffered_bytes = 0;
};

/// The batches of a scan for one consumer, decoded on all cores ahead of it. Not thread-safe.
/// Destruction cancels what is not decoded yet and waits for what is.
class BatchStream {
 public:
  /// `context` is copied; its pool and clock outlive the stream.
  static std::unique_ptr<BatchStream> Open(const Context& context, std::shared_ptr<Scanner> scanner,
                                           const StreamOptions& options = {});
  virtual ~BatchStream() = default;

  /// The next batch that has rows; null at the end. After an error every call gives it again.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

/// How many morsels to read side by side: one for each core and the calling thread, as far as an
/// eighth of the memory budget holds their batches.
size_t MorselsAtOnce(const Context& context, const Scanner& scanner);

/// Hands every batch of a scan that has rows to `consume`, on all cores and the calling thread at
/// once, in no order, each as soon as it is decoded. Ends at the first error, of the scan or of
/// `consume`, which must be thread-safe. Holds one batch for each thread.
Status ForEachBatch(const Context& context, Scanner* scanner,
                    const std::function<Status(std::shared_ptr<arrow::RecordBatch>)>& consume);

}  // namespace lake::table
