#include "lake/table/blobs.h"

#include <optional>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>

#include "lake/base/checked.h"
#include "lake/table/dataset_impl.h"

namespace lake::table {

namespace {

/// The field of blobs, and the way to it from its column.
struct BlobColumn {
  std::string top_level;
  std::vector<int> steps;
  const format::Field* field = nullptr;
};

Result<BlobColumn> FindBlobColumn(const format::Schema& schema, const std::string& path) {
  BlobColumn column;
  // A name may hold dots itself.
  size_t end = path.size();
  while ((column.field = schema.Find(path.substr(0, end))) == nullptr) {
    end = path.rfind('.', end - 1);
    if (end == std::string::npos || end == 0) {
      return Error(ErrorCode::kNotFound, "table has no such column: \"{}\"", path);
    }
  }
  column.top_level = path.substr(0, end);
  while (end < path.size()) {
    const std::string rest = path.substr(end + 1);
    const format::Field* next = nullptr;
    if (column.field->logical_type == "struct" && !column.field->is_blob_v2()) {
      for (size_t i = 0; i < column.field->children.size(); ++i) {
        const std::string& name = column.field->children[i].name;
        if (rest != name && !rest.starts_with(name + ".")) continue;
        next = &column.field->children[i];
        column.steps.push_back(static_cast<int>(i));
        break;
      }
    }
    if (next == nullptr) {
      return Error(ErrorCode::kNotFound, "column has no such field: \"{}\"", path);
    }
    column.field = next;
    end += 1 + next->name.size();
  }
  if (column.field->is_blob_v1() || column.field->is_blob_v2()) return column;
  return Error(ErrorCode::kInvalidArgument, "column holds no blobs: \"{}\", type {}", path,
               column.field->logical_type);
}

class BlobReaderImpl final : public BlobReader {
 public:
  BlobReaderImpl(std::shared_ptr<const DatasetImpl> dataset, std::string name, BlobColumn column,
                 BlobOptions options)
      : dataset_(std::move(dataset)),
        name_(std::move(name)),
        column_(std::move(column)),
        finder_(dataset_->bases(), std::move(options.open_external)) {}

  Result<std::vector<std::shared_ptr<const Blob>>> Take(
      const Context& context, std::span<const RowAddress> addresses) const override;
  Result<std::vector<std::shared_ptr<arrow::Buffer>>> Read(
      const Context& context, std::span<const RowAddress> addresses) const override;
  Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadRanges(
      const Context& context, std::span<const BlobRange> ranges) const override;

 private:
  using Locations = std::vector<std::optional<BlobLocation>>;

  Result<Locations> Locate(const Context& context, std::span<const RowAddress> addresses) const;
  Result<std::shared_ptr<arrow::Array>> Places(const Context& context,
                                               std::span<const RowAddress> addresses) const;
  Status InRow(const Status& status, RowAddress address) const {
    return WithContext(status, fmt::format("blob column \"{}\", fragment {}, row {}", name_,
                                           address >> 32, address & 0xffffffff));
  }
  /// Fills in sizes that places do not tell, all of external objects.
  Status FillSizes(const Context& context, Locations* locations) const;
  Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadAt(
      const Context& context, const Locations& locations,
      std::span<const storage::ByteRange> parts) const;

  const std::shared_ptr<const DatasetImpl> dataset_;
  const std::string name_;
  const BlobColumn column_;
  const BlobFinder finder_;
};

Result<std::shared_ptr<arrow::Array>> BlobReaderImpl::Places(
    const Context& context, std::span<const RowAddress> addresses) const {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch,
                        dataset_->Take(context, addresses, {column_.top_level}));
  std::shared_ptr<arrow::Array> array = batch->column(0);
  for (const int step : column_.steps) {
    ARROW_ASSIGN_OR_RAISE(array, static_cast<const arrow::StructArray&>(*array).GetFlattenedField(
                                     step, context.pool()));
  }
  return array;
}

Result<BlobReaderImpl::Locations> BlobReaderImpl::Locate(
    const Context& context, std::span<const RowAddress> addresses) const {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> array, Places(context, addresses));
  ARROW_ASSIGN_OR_RAISE(const format::BlobPlaces places, format::BlobPlaces::Of(*array));
  Locations locations(addresses.size());
  const DataFile* file = nullptr;
  std::optional<uint64_t> fragment_id;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i);
    if (places.IsNull(row)) continue;
    if (fragment_id != addresses[i] >> 32) {
      fragment_id = addresses[i] >> 32;
      ARROW_ASSIGN_OR_RAISE(const Fragment* fragment, dataset_->FragmentById(*fragment_id));
      file = FileOfField(*fragment, column_.field->id);
    }
    if (file == nullptr) {
      return InRow(MakeError(ErrorCode::kInternal, "no file holds the column"), addresses[i]);
    }
    const auto place = places.At(row);
    if (!place.ok()) return InRow(place.status(), addresses[i]);
    auto location = finder_.Find(context, *file, *place);
    if (!location.ok()) return InRow(location.status(), addresses[i]);
    locations[i] = *std::move(location);
  }
  return locations;
}

Status BlobReaderImpl::FillSizes(const Context& context, Locations* locations) const {
  std::vector<const BlobLocation*> open;
  for (const auto& location : *locations) {
    if (location && !location->size) open.push_back(&*location);
  }
  if (open.empty()) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(const std::vector<uint64_t> sizes, CheckBlobSizes(context, open));
  auto next = sizes.begin();
  for (auto& location : *locations) {
    if (location && !location->size) location->size = *next++;
  }
  return Status::OK();
}

Result<std::vector<std::shared_ptr<const Blob>>> BlobReaderImpl::Take(
    const Context& context, std::span<const RowAddress> addresses) const {
  ARROW_ASSIGN_OR_RAISE(Locations locations, Locate(context, addresses));
  std::vector<const BlobLocation*> found;
  for (const auto& location : locations) {
    if (location) found.push_back(&*location);
  }
  const auto sizes = CheckBlobSizes(context, found);
  if (!sizes.ok()) return WithContext(sizes.status(), fmt::format("blob column \"{}\"", name_));
  std::vector<std::shared_ptr<const Blob>> blobs(addresses.size());
  auto size = sizes->begin();
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (locations[i]) blobs[i] = std::make_shared<const Blob>(*std::move(locations[i]), *size++);
  }
  return blobs;
}

Result<std::vector<std::shared_ptr<arrow::Buffer>>> BlobReaderImpl::ReadAt(
    const Context& context, const Locations& locations,
    std::span<const storage::ByteRange> parts) const {
  std::vector<BlobRead> reads;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!locations[i] || parts[i].length == 0) continue;
    reads.push_back({&*locations[i], {locations[i]->position + parts[i].offset, parts[i].length}});
  }
  auto bytes = ReadBlobBytes(context, reads);
  if (!bytes.ok()) return WithContext(bytes.status(), fmt::format("blob column \"{}\"", name_));
  static const std::shared_ptr<arrow::Buffer> empty = std::make_shared<arrow::Buffer>("");
  std::vector<std::shared_ptr<arrow::Buffer>> buffers(parts.size());
  auto next = bytes->begin();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (locations[i]) buffers[i] = parts[i].length == 0 ? empty : std::move(*next++);
  }
  return buffers;
}

Result<std::vector<std::shared_ptr<arrow::Buffer>>> BlobReaderImpl::Read(
    const Context& context, std::span<const RowAddress> addresses) const {
  ARROW_ASSIGN_OR_RAISE(Locations locations, Locate(context, addresses));
  ARROW_RETURN_NOT_OK(FillSizes(context, &locations));
  std::vector<storage::ByteRange> parts(addresses.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (locations[i]) parts[i].length = *locations[i]->size;
  }
  return ReadAt(context, locations, parts);
}

Result<std::vector<std::shared_ptr<arrow::Buffer>>> BlobReaderImpl::ReadRanges(
    const Context& context, std::span<const BlobRange> ranges) const {
  std::vector<RowAddress> addresses;
  std::vector<storage::ByteRange> parts;
  for (const BlobRange& range : ranges) {
    addresses.push_back(range.address);
    parts.push_back({range.offset, range.length});
  }
  ARROW_ASSIGN_OR_RAISE(Locations locations, Locate(context, addresses));
  ARROW_RETURN_NOT_OK(FillSizes(context, &locations));
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!locations[i] || RangeFits(parts[i].offset, parts[i].length, *locations[i]->size)) continue;
    return InRow(Error(ErrorCode::kInvalidArgument, "{} bytes at {} are not in a blob of {}",
                       parts[i].length, parts[i].offset, *locations[i]->size),
                 addresses[i]);
  }
  return ReadAt(context, locations, parts);
}

}  // namespace

Result<std::shared_ptr<arrow::Buffer>> Blob::Read(const Context& context, uint64_t offset,
                                                  uint64_t length) const {
  if (!RangeFits(offset, length, size_)) {
    return Error(ErrorCode::kInvalidArgument, "{} bytes at {} are not in a blob of {}: {}", length,
                 offset, size_, location_.name());
  }
  if (length == 0) return std::make_shared<arrow::Buffer>("");
  const BlobRead read{&location_, {location_.position + offset, length}};
  ARROW_ASSIGN_OR_RAISE(auto bytes, ReadBlobBytes(context, std::span(&read, 1)));
  return std::move(bytes[0]);
}

Result<std::unique_ptr<BlobReader>> BlobReader::Open(std::shared_ptr<const Dataset> dataset,
                                                     const std::string& column,
                                                     BlobOptions options) {
  ARROW_ASSIGN_OR_RAISE(BlobColumn found, FindBlobColumn(dataset->manifest().schema(), column));
  // DatasetImpl is the only Dataset.
  return std::make_unique<BlobReaderImpl>(
      std::static_pointer_cast<const DatasetImpl>(std::move(dataset)), column, std::move(found),
      std::move(options));
}

}  // namespace lake::table
