#include "lake/table/clone.h"

#include <algorithm>
#include <set>

#include <arrow/buffer.h>

#include "lake/base/crash_point.h"
#include "lake/base/mutex.h"
#include "lake/base/thread_pool.h"
#include "lake/format/blob.h"
#include "lake/format/parse_message_internal.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/table_files.h"

namespace lake::table {

namespace {

constexpr uint64_t kCopyChunk = 8ull << 20;

/// The source's manifest as the clone's begins: with other metadata, and for a deep copy without
/// bases.
Result<std::shared_ptr<const Manifest>> SourceManifest(
    const Manifest& source, const std::map<std::string, std::string>& table_metadata,
    bool without_bases) {
  const ManifestFile& file = FileOf(source);
  pb::Manifest message = file.message();
  for (const auto& [key, value] : table_metadata) {
    (*message.mutable_table_metadata())[key] = value;
  }
  ARROW_ASSIGN_OR_RAISE(std::optional<std::string> section, file.index_section());
  if (without_bases) {
    // External blobs name theirs relative to bases that hold no tables: these are not copied.
    const auto& fields = source.schema().fields;
    const bool blobs = std::any_of(fields.begin(), fields.end(), format::HoldsBlobs);
    auto* bases = message.mutable_base_paths();
    bases->erase(std::remove_if(bases->begin(), bases->end(),
                                [&](const pb::Manifest::BasePath& base) {
                                  return !blobs || base.is_dataset_root();
                                }),
                 bases->end());
    for (pb::DataFragment& fragment : *message.mutable_fragments()) {
      for (pb::DataFile& data : *fragment.mutable_files()) data.clear_base_id();
      if (fragment.has_deletion_file()) fragment.mutable_deletion_file()->clear_base_id();
    }
    if (section) {
      pb::IndexSection indices;
      ARROW_RETURN_NOT_OK(format::ParseMessage(*section, "index section", &indices));
      for (pb::IndexMetadata& index : *indices.mutable_indices()) index.clear_base_id();
      section->clear();
      if (!indices.SerializeToString(&*section)) {
        return Error(ErrorCode::kUnsupported, "index section is larger than 2 GiB");
      }
    }
  }
  const std::string transaction = file.inline_transaction().value_or(std::string());
  ARROW_ASSIGN_OR_RAISE(std::string bytes,
                        EncodeManifest(std::move(message), section, transaction));
  return Manifest::Decode(arrow::Buffer(bytes), "manifest of a clone's source");
}

CloneOperation CloneOf(const Dataset& source, const std::string& source_path, bool is_shallow,
                       std::shared_ptr<const Manifest> manifest) {
  CloneOperation operation;
  operation.is_shallow = is_shallow;
  operation.ref_version = source.manifest().version();
  operation.ref_path =
      source.branch() ? source_path + "/" + BranchFolder(source.branch()) : source_path;
  operation.source = std::move(manifest);
  return operation;
}

struct CopyJob {
  BaseStores::Place from;
  std::string to;
  uint64_t bytes = 0;
};

Status CopyObject(const Context& context, const CopyJob& job, storage::ObjectStore* target) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<storage::ObjectWriter> writer,
                        target->OpenWriter(context, job.to, storage::PutCondition::kIfAbsent));
  for (uint64_t offset = 0; offset < job.bytes; offset += kCopyChunk) {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                          job.from.store->Get(context, job.from.key,
                                              {offset, std::min(kCopyChunk, job.bytes - offset)}));
    ARROW_RETURN_NOT_OK(writer->Write(std::string_view(*bytes)));
  }
  ARROW_RETURN_NOT_OK(writer->Finish());
  CrashPoint("file_copied");
  return Status::OK();
}

/// What a copy of `source` must hold.
class CopyList {
 public:
  CopyList(const Context& context, const Dataset& source) : context_(context), source_(source) {}

  Result<std::vector<CopyJob>> Run() {
    for (const Fragment& fragment : source_.manifest().fragments()) {
      for (const DataFile& file : fragment.files) ARROW_RETURN_NOT_OK(AddDataFile(file));
      if (!fragment.deletion_file) continue;
      ARROW_ASSIGN_OR_RAISE(BaseStores::Place place,
                            source_.bases()->Find(context_, fragment.id, *fragment.deletion_file));
      ARROW_RETURN_NOT_OK(
          Add(std::move(place), DeletionFileKey(fragment.id, *fragment.deletion_file)));
    }
    ARROW_RETURN_NOT_OK(AddIndices());
    return std::move(jobs_);
  }

 private:
  Status Add(BaseStores::Place place, std::string to) {
    if (!seen_.insert(to).second) return Status::OK();
    ARROW_ASSIGN_OR_RAISE(storage::ObjectInfo info, place.store->Head(context_, place.key));
    jobs_.push_back({std::move(place), std::move(to), info.size});
    return Status::OK();
  }

  /// All that lies below `own_prefix` of the base.
  Status AddFolder(std::optional<uint32_t> base_id, const std::string& own_prefix) {
    ARROW_ASSIGN_OR_RAISE(BaseStores::Place place,
                          source_.bases()->FindKey(context_, base_id, own_prefix));
    ARROW_ASSIGN_OR_RAISE(std::vector<storage::ObjectInfo> objects,
                          storage::ListAll(place.store.get(), context_, place.key));
    for (const storage::ObjectInfo& object : objects) {
      const std::string to = own_prefix + object.key.substr(place.key.size());
      if (!seen_.insert(to).second) continue;
      jobs_.push_back({{place.store, object.key}, to, object.size});
    }
    return Status::OK();
  }

  Status AddDataFile(const DataFile& file) {
    ARROW_ASSIGN_OR_RAISE(BaseStores::Place place, source_.bases()->Find(context_, file));
    ARROW_RETURN_NOT_OK(Add(std::move(place), DataFileKey(file)));
    const std::string stem = file.path.substr(0, file.path.rfind('.'));
    // Blobs of the file lie in a folder of its name, what it names of managed objects beside it.
    ARROW_RETURN_NOT_OK(AddFolder(file.base_id, "data/" + stem + "/"));
    return AddFolder(file.base_id, "_lake/object_refs/" + stem);
  }

  Status AddIndices() {
    ARROW_ASSIGN_OR_RAISE(const std::optional<std::string> section,
                          FileOf(source_.manifest()).index_section());
    if (!section) return Status::OK();
    pb::IndexSection indices;
    ARROW_RETURN_NOT_OK(format::ParseMessage(*section, "index section", &indices));
    for (const pb::IndexMetadata& index : indices.indices()) {
      Uuid uuid;
      if (index.uuid().uuid().size() != uuid.bytes.size()) {
        return Error(ErrorCode::kCorrupt, "index has no valid id: {}", index.name());
      }
      std::copy(index.uuid().uuid().begin(), index.uuid().uuid().end(), uuid.bytes.begin());
      std::optional<uint32_t> base_id;
      if (index.has_base_id()) base_id = index.base_id();
      ARROW_RETURN_NOT_OK(AddFolder(base_id, "_indices/" + uuid.ToString() + "/"));
    }
    return Status::OK();
  }

  const Context& context_;
  const Dataset& source_;
  std::set<std::string> seen_;
  std::vector<CopyJob> jobs_;
};

}  // namespace

Result<Transaction> MakeShallowClone(const Context& context, const Dataset& source,
                                     const std::string& source_path,
                                     const std::map<std::string, std::string>& table_metadata) {
  ARROW_RETURN_NOT_OK(CheckWritable(source.manifest(), source.store()->description()));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const Manifest> manifest,
                        SourceManifest(source.manifest(), table_metadata, /*without_bases=*/false));
  return NewTransaction(context, /*read_version=*/0,
                        CloneOf(source, source_path, /*is_shallow=*/true, std::move(manifest)));
}

Result<Transaction> MakeDeepCopy(const Context& context, const Dataset& source,
                                 const std::shared_ptr<storage::ObjectStore>& target,
                                 const std::string& source_path,
                                 const std::map<std::string, std::string>& table_metadata,
                                 const std::function<void(const CopyProgress&)>& progress) {
  ARROW_RETURN_NOT_OK(CheckWritable(source.manifest(), source.store()->description()));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const Manifest> manifest,
                        SourceManifest(source.manifest(), table_metadata, /*without_bases=*/true));
  ARROW_ASSIGN_OR_RAISE(const std::vector<CopyJob> jobs, CopyList(context, source).Run());
  Transaction transaction =
      NewTransaction(context, /*read_version=*/0,
                     CloneOf(source, source_path, /*is_shallow=*/false, std::move(manifest)));
  for (const CopyJob& job : jobs) transaction.new_objects.push_back(job.to);
  Mutex mutex;
  CopyProgress state;
  state.files_total = jobs.size();
  Status copied = ParallelFor(IoThreadPool(), jobs.size(), [&](size_t i) -> Status {
    ARROW_RETURN_NOT_OK(CopyObject(context, jobs[i], target.get()));
    MutexLock lock(&mutex);
    ++state.files_done;
    state.bytes_done += jobs[i].bytes;
    if (progress) progress(state);
    return Status::OK();
  });
  if (!copied.ok()) {
    (void)RemoveUncommitted(context, target.get(), transaction.new_objects);
    return copied;
  }
  return transaction;
}

}  // namespace lake::table
