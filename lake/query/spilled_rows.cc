#include <algorithm>
#include <array>
#include <utility>

#include <duckdb/common/serializer/binary_deserializer.hpp>
#include <duckdb/common/serializer/binary_serializer.hpp>
#include <duckdb/storage/buffer_manager.hpp>

#include "lake/query/duckdb_error_internal.h"
#include "lake/query/spilled_rows_internal.h"

namespace lake::query {
namespace {

constexpr int kBits = 7;
static_assert(RowPartitioner::kPartitions == size_t{1} << kBits);

/// A hash table of DuckDB places rows by the bits at both ends of the hash: those between are free.
constexpr int kFirstBit = 16;

uint8_t PartitionOf(duckdb::hash_t hash, int level) {
  const int shift = kFirstBit + kBits * (RowPartitioner::kLevels - 1 - level);
  return static_cast<uint8_t>((hash >> shift) & (RowPartitioner::kPartitions - 1));
}

/// The rows of a chunk by partition.
struct SortedChunk {
  std::unique_ptr<duckdb::DataChunk> rows;
  duckdb::SelectionVector order;
  /// Where in `order` each partition starts; then the end.
  std::array<duckdb::idx_t, RowPartitioner::kPartitions + 1> starts{};
};

SortedChunk Sort(std::unique_ptr<duckdb::DataChunk> rows, const uint8_t* partition_of) {
  SortedChunk sorted;
  sorted.rows = std::move(rows);
  const duckdb::idx_t count = sorted.rows->size();
  for (duckdb::idx_t i = 0; i < count; ++i) ++sorted.starts[partition_of[i] + 1];
  for (size_t p = 0; p < RowPartitioner::kPartitions; ++p) sorted.starts[p + 1] += sorted.starts[p];
  auto next = sorted.starts;
  sorted.order.Initialize(count);
  for (duckdb::idx_t i = 0; i < count; ++i) sorted.order.set_index(next[partition_of[i]]++, i);
  return sorted;
}

}  // namespace

RowPartitioner::RowPartitioner(duckdb::ClientContext& context,
                               duckdb::vector<duckdb::LogicalType> types, const std::string& folder,
                               int level, uint64_t buffer_bytes)
    : allocator_(duckdb::BufferAllocator::Get(context)),
      types_(std::move(types)),
      level_(level),
      buffer_bytes_(buffer_bytes),
      partitions_(kPartitions),
      stream_(allocator_) {
  const std::shared_ptr<SpillFile> file = ValueOrThrow(SpillFile::Make(folder));
  for (SpilledRows& partition : partitions_) partition.file = file;
  buffer_.emplace(allocator_, types_);
}

void RowPartitioner::Append(duckdb::DataChunk& rows, duckdb::Vector& hashes) {
  duckdb::UnifiedVectorFormat format;
  hashes.ToUnifiedFormat(rows.size(), format);
  const auto* values = duckdb::UnifiedVectorFormat::GetData<duckdb::hash_t>(format);
  for (duckdb::idx_t i = 0; i < rows.size(); ++i) {
    partition_of_.push_back(PartitionOf(values[format.sel->get_index(i)], level_));
  }
  buffer_->Append(rows);
  if (buffer_->SizeInBytes() >= buffer_bytes_) Flush();
}

void RowPartitioner::Flush() {
  std::vector<SortedChunk> chunks;
  duckdb::ColumnDataScanState scan;
  buffer_->InitializeScan(scan, duckdb::ColumnDataScanProperties::ALLOW_ZERO_COPY);
  for (size_t first = 0; first < partition_of_.size();) {
    auto rows = std::make_unique<duckdb::DataChunk>();
    buffer_->InitializeScanChunk(scan, *rows);
    buffer_->Scan(scan, *rows);
    const size_t count = rows->size();
    chunks.push_back(Sort(std::move(rows), partition_of_.data() + first));
    first += count;
  }
  duckdb::DataChunk out;
  out.Initialize(allocator_, types_);
  for (size_t p = 0; p < kPartitions; ++p) {
    for (SortedChunk& chunk : chunks) {
      duckdb::idx_t at = chunk.starts[p];
      while (at < chunk.starts[p + 1]) {
        const duckdb::idx_t count =
            std::min<duckdb::idx_t>(chunk.starts[p + 1] - at, STANDARD_VECTOR_SIZE - out.size());
        duckdb::SelectionVector selected(chunk.order.data() + at);
        out.Append(*chunk.rows, /*resize=*/false, &selected, count);
        at += count;
        if (out.size() == STANDARD_VECTOR_SIZE) Write(out, &partitions_[p]);
      }
    }
    Write(out, &partitions_[p]);
  }
  buffer_.emplace(allocator_, types_);
  partition_of_.clear();
}

void RowPartitioner::Write(duckdb::DataChunk& rows, SpilledRows* to) {
  if (rows.size() == 0) return;
  stream_.Rewind();
  duckdb::BinarySerializer serializer(stream_);
  serializer.Begin();
  serializer.WriteProperty<uint64_t>(100, "rows", rows.size());
  serializer.WriteList(
      101, "columns", rows.ColumnCount(), [&](duckdb::Serializer::List& list, duckdb::idx_t i) {
        list.WriteObject([&](duckdb::Serializer& object) {
          rows.data[i].Serialize(object, rows.size(), /*compressed_serialization=*/false);
        });
      });
  serializer.End();
  to->extents.push_back(ValueOrThrow(to->file->Append({stream_.GetData(), stream_.GetPosition()})));
  to->num_rows += rows.size();
  to->num_bytes += stream_.GetPosition();
  rows.Reset();
}

std::vector<SpilledRows> RowPartitioner::Finish() {
  Flush();
  buffer_.reset();
  return std::move(partitions_);
}

bool SpilledRowsReader::Next(duckdb::DataChunk* chunk) {
  if (next_ == rows_.extents.size()) return false;
  const SpillFile::Extent& extent = rows_.extents[next_++];
  bytes_.resize(extent.size);
  ThrowIfError(rows_.file->Read(extent, bytes_));
  chunk->Reset();
  duckdb::MemoryStream stream(bytes_.data(), bytes_.size());
  duckdb::BinaryDeserializer deserializer(stream);
  deserializer.Begin();
  const auto count = deserializer.ReadProperty<uint64_t>(100, "rows");
  chunk->SetCardinality(count);
  deserializer.ReadList(101, "columns", [&](duckdb::Deserializer::List& list, duckdb::idx_t i) {
    list.ReadObject(
        [&](duckdb::Deserializer& object) { chunk->data[i].Deserialize(object, count); });
  });
  deserializer.End();
  return true;
}

}  // namespace lake::query
