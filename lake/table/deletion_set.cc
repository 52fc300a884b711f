// DeletionVector as a set: what of two makes a third, and how it is written.

#include <algorithm>

#include <arrow/array/builder_primitive.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <roaring/roaring.h>

#include "lake/table/deletion_vector.h"

namespace lake::table {

namespace {

constexpr char kRowColumn[] = "row_id";

}  // namespace

DeletionVector DeletionVector::FromSortedRows(std::span<const uint32_t> rows) {
  DeletionVector vector;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows[i] != rows[i - 1]) vector.Append(rows[i], rows[i]);
  }
  return vector;
}

DeletionVector DeletionVector::FromSelection(const format::RowSelection& rows) {
  DeletionVector vector;
  for (const format::RowRange& range : rows.ranges()) {
    if (range.count == 0) continue;
    vector.Append(static_cast<uint32_t>(range.start), static_cast<uint32_t>(range.end() - 1));
  }
  return vector;
}

format::RowSelection DeletionVector::Selection() const {
  format::RowSelection rows;
  for (const Run& run : runs_) rows.Append(run.first, uint64_t{run.last} - run.first + 1);
  return rows;
}

template <typename Keep>
DeletionVector DeletionVector::Combine(const DeletionVector& a, const DeletionVector& b,
                                       Keep keep) {
  DeletionVector result;
  auto in_a = a.runs_.begin();
  auto in_b = b.runs_.begin();
  // Each step covers a stretch in which membership in both stays the same.
  uint64_t position = 0;
  while (in_a != a.runs_.end() || in_b != b.runs_.end()) {
    auto stretch = [&](auto& run, auto end, bool* inside) -> uint64_t {
      while (run != end && run->last < position) ++run;
      *inside = run != end && run->first <= position;
      if (run == end) return uint64_t{1} << 32;
      return *inside ? uint64_t{run->last} + 1 : run->first;
    };
    bool inside_a = false;
    bool inside_b = false;
    const uint64_t next_a = stretch(in_a, a.runs_.end(), &inside_a);
    const uint64_t next_b = stretch(in_b, b.runs_.end(), &inside_b);
    const uint64_t next = std::min(next_a, next_b);
    if (next > position && keep(inside_a, inside_b)) {
      result.Append(static_cast<uint32_t>(position), static_cast<uint32_t>(next - 1));
    }
    if (next >> 32 != 0) break;
    position = next;
  }
  return result;
}

DeletionVector DeletionVector::Union(const DeletionVector& a, const DeletionVector& b) {
  return Combine(a, b, [](bool in_a, bool in_b) { return in_a || in_b; });
}

DeletionVector DeletionVector::Intersection(const DeletionVector& a, const DeletionVector& b) {
  return Combine(a, b, [](bool in_a, bool in_b) { return in_a && in_b; });
}

DeletionVector DeletionVector::Difference(const DeletionVector& a, const DeletionVector& b) {
  return Combine(a, b, [](bool in_a, bool in_b) { return in_a && !in_b; });
}

Result<std::string> DeletionVector::ToArrowFile(const Context& context) const {
  arrow::UInt32Builder builder(context.pool());
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(num_deleted_)));
  for (const Run& run : runs_) {
    for (uint64_t row = run.first; row <= run.last; ++row) {
      builder.UnsafeAppend(static_cast<uint32_t>(row));
    }
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> rows, builder.Finish());
  auto schema = arrow::schema({arrow::field(kRowColumn, arrow::uint32(), false)});
  arrow::ipc::IpcWriteOptions options = arrow::ipc::IpcWriteOptions::Defaults();
  options.memory_pool = context.pool();
  options.use_threads = false;
  ARROW_ASSIGN_OR_RAISE(options.codec, arrow::util::Codec::Create(arrow::Compression::ZSTD));
  ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::BufferOutputStream::Create(4096, context.pool()));
  ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeFileWriter(sink, schema, options));
  ARROW_RETURN_NOT_OK(
      writer->WriteRecordBatch(*arrow::RecordBatch::Make(schema, rows->length(), {rows})));
  ARROW_RETURN_NOT_OK(writer->Close());
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, sink->Finish());
  return bytes->ToString();
}

std::string DeletionVector::ToBitmap() const {
  roaring_bitmap_t* bitmap = roaring_bitmap_create();
  for (const Run& run : runs_) roaring_bitmap_add_range_closed(bitmap, run.first, run.last);
  roaring_bitmap_run_optimize(bitmap);
  std::string bytes(roaring_bitmap_portable_size_in_bytes(bitmap), '\0');
  roaring_bitmap_portable_serialize(bitmap, bytes.data());
  roaring_bitmap_free(bitmap);
  return bytes;
}

}  // namespace lake::table
