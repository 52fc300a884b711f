#include "lake/table/blob_location.h"

#include <algorithm>
#include <map>
#include <utility>

#include <arrow/buffer.h>

#include "lake/base/checked.h"
#include "lake/base/thread_pool.h"
#include "lake/table/manifest_internal.h"

namespace lake::table {

namespace {

// Reads of one object up to this size go to one thread.
constexpr uint64_t kBytesPerThread = 16ull << 20;

using Object = std::pair<storage::ObjectStore*, std::string_view>;

/// An error of reading `location`, as what it says about the table.
Status ReadError(const Status& status, const BlobLocation& location, uint64_t end) {
  if (location.kind == format::BlobKind::kExternal) return WithContext(status, location.name());
  switch (CodeOf(status)) {
    case ErrorCode::kNotFound:
      return Error(ErrorCode::kCorrupt, "bytes of a blob are gone, their file does not exist: {}",
                   location.name());
    case ErrorCode::kInvalidArgument:
      return Error(ErrorCode::kCorrupt,
                   "a blob lies behind the end of its file: bytes up to {} of {}", end,
                   location.name());
    default:
      return WithContext(status, location.name());
  }
}

std::string Reversed(uint32_t id) {
  std::string bits(32, '0');
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = (id >> i & 1) != 0 ? '1' : '0';
  return bits;
}

}  // namespace

std::string BlobFolder(const std::string& path) {
  return "data/" + path.substr(0, path.rfind('.')) + "/";
}

std::string BlobFileKey(const std::string& path, uint32_t blob_id) {
  // The lowest bit first, which spreads them over the prefixes that object stores partition by.
  return BlobFolder(path) + Reversed(blob_id) + ".blob";
}

std::string BlobLocation::name() const {
  return fmt::format("{} blob at {} of '{}' in {}", format::BlobKindName(kind), position, key,
                     store->description());
}

const DataFile* FileOfField(const Fragment& fragment, int32_t field_id) {
  for (const DataFile& file : fragment.files) {
    for (size_t i = 0; i < file.field_ids.size() && i < file.column_indices.size(); ++i) {
      if (file.field_ids[i] == field_id && file.column_indices[i] >= 0) return &file;
    }
  }
  return nullptr;
}

Result<BlobLocation> BlobFinder::FindExternal(const Context& context,
                                              const format::BlobPlace& place) const {
  const std::string uri(place.uri);
  BaseStores::Place found;
  if (place.blob_id != 0) {
    ARROW_ASSIGN_OR_RAISE(found.store, bases_->OpenBase(context, place.blob_id, uri));
    found.key = uri;
  } else if (open_external_) {
    ARROW_ASSIGN_OR_RAISE(found, open_external_(context, uri));
  } else {
    return Error(ErrorCode::kPermissionDenied,
                 "a blob lies outside of the table and its bases, where nothing is opened unless "
                 "the caller allows it: '{}'",
                 uri);
  }
  const Status key = storage::CheckKey(found.key);
  if (!key.ok()) {
    return Error(ErrorCode::kCorrupt, "a blob has a URI that leads out of its base: '{}': {}", uri,
                 key.message());
  }
  BlobLocation location{
      std::move(found.store), std::move(found.key), place.position, {}, place.kind};
  if (place.size != 0) location.size = place.size;
  return location;
}

Result<BlobLocation> BlobFinder::Find(const Context& context, const DataFile& file,
                                      const format::BlobPlace& place) const {
  if (!CheckedAdd(place.position, place.size)) {
    return Error(ErrorCode::kCorrupt, "a blob has {} bytes at {}, which is no place: '{}'",
                 place.size, place.position, DataFileKey(file));
  }
  if (place.kind == format::BlobKind::kExternal) return FindExternal(context, place);
  std::string key = DataFileKey(file);
  if (place.kind != format::BlobKind::kInline) {
    if (place.blob_id == 0) {
      return Error(ErrorCode::kCorrupt, "a {} blob names no blob file: '{}'",
                   format::BlobKindName(place.kind), key);
    }
    key = BlobFileKey(file.path, place.blob_id);
  }
  ARROW_ASSIGN_OR_RAISE(BaseStores::Place found, bases_->FindKey(context, file.base_id, key));
  return BlobLocation{std::move(found.store), std::move(found.key), place.position, place.size,
                      place.kind};
}

Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadBlobBytes(const Context& context,
                                                                  std::span<const BlobRead> reads) {
  std::map<Object, std::vector<size_t>> by_object;
  for (size_t i = 0; i < reads.size(); ++i) {
    const BlobLocation& location = *reads[i].location;
    by_object[{location.store.get(), location.key}].push_back(i);
  }
  std::vector<std::vector<size_t>> groups;
  for (auto& [object, members] : by_object) {
    std::sort(members.begin(), members.end(),
              [&](size_t a, size_t b) { return reads[a].range.offset < reads[b].range.offset; });
    uint64_t bytes = kBytesPerThread;
    for (const size_t i : members) {
      if (bytes >= kBytesPerThread) {
        groups.emplace_back();
        bytes = 0;
      }
      groups.back().push_back(i);
      bytes += std::min(reads[i].range.length, kBytesPerThread);
    }
  }
  std::vector<std::shared_ptr<arrow::Buffer>> buffers(reads.size());
  ARROW_RETURN_NOT_OK(ParallelFor(CpuThreadPool(), groups.size(), [&](size_t group) -> Status {
    ARROW_RETURN_NOT_OK(context.Check());
    std::vector<storage::ByteRange> ranges;
    uint64_t end = 0;
    for (const size_t i : groups[group]) {
      ranges.push_back(reads[i].range);
      end = std::max(end, reads[i].range.end());
    }
    const BlobLocation& location = *reads[groups[group].front()].location;
    auto read = location.store->GetMany(context, location.key, ranges);
    if (!read.ok()) return ReadError(read.status(), location, end);
    for (size_t i = 0; i < ranges.size(); ++i) buffers[groups[group][i]] = std::move((*read)[i]);
    return Status::OK();
  }));
  return buffers;
}

Result<std::vector<uint64_t>> CheckBlobSizes(const Context& context,
                                             std::span<const BlobLocation* const> locations) {
  std::map<Object, uint64_t> sizes;
  for (const BlobLocation* location : locations) {
    sizes.try_emplace({location->store.get(), location->key}, 0);
  }
  std::vector<std::map<Object, uint64_t>::iterator> objects;
  for (auto object = sizes.begin(); object != sizes.end(); ++object) objects.push_back(object);
  ARROW_RETURN_NOT_OK(ParallelFor(IoThreadPool(), objects.size(), [&](size_t i) -> Status {
    ARROW_RETURN_NOT_OK(context.Check());
    const auto& [store, key] = objects[i]->first;
    auto info = store->Head(context, std::string(key));
    if (info.ok()) {
      objects[i]->second = info->size;
      return Status::OK();
    }
    const auto location = std::find_if(
        locations.begin(), locations.end(),
        [&](const BlobLocation* l) { return Object(l->store.get(), l->key) == objects[i]->first; });
    return ReadError(info.status(), **location, 0);
  }));
  std::vector<uint64_t> result;
  result.reserve(locations.size());
  for (const BlobLocation* location : locations) {
    const uint64_t object = sizes.at({location->store.get(), location->key});
    const uint64_t size = location->size.value_or(object - std::min(object, location->position));
    if (!RangeFits(location->position, size, object)) {
      return Error(ErrorCode::kCorrupt,
                   "a blob lies behind the end of its file: {} bytes, the file has {}: {}", size,
                   object, location->name());
    }
    result.push_back(size);
  }
  return result;
}

}  // namespace lake::table
