#include "lake/table/manifest.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <arrow/buffer.h>

#include "lake/base/checked.h"
#include "lake/format/parse_message_internal.h"
#include "lake/format/schema_internal.h"
#include "lake/storage/object_store.h"
#include "lake/table/manifest_internal.h"

namespace lake::table {

namespace {

// i64 position of the manifest's length word, two u16 of the container's version, magic.
constexpr uint64_t kTailSize = 16;
constexpr char kMagic[] = "LANC";
constexpr uint16_t kContainerMajor = 0;
constexpr uint16_t kContainerMinor = 2;
constexpr uint64_t kMaxFragmentRows = 1ull << 32;

template <typename T>
T LoadLittleEndian(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void AppendLittleEndian(T value, std::string* to) {
  to->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// The bytes behind the length word at `position`, or nothing if they do not lie in [0, end).
std::optional<std::string_view> SectionAt(std::string_view bytes, uint64_t position, uint64_t end) {
  if (!RangeFits(position, sizeof(uint32_t), end)) return std::nullopt;
  uint64_t length = LoadLittleEndian<uint32_t>(bytes.data() + position);
  position += sizeof(uint32_t);
  if (!RangeFits(position, length, end)) return std::nullopt;
  return bytes.substr(position, length);
}

Result<int64_t> TimestampNanos(const google::protobuf::Timestamp& time, const std::string& key) {
  std::optional<int64_t> nanos = CheckedMul<int64_t>(time.seconds(), 1'000'000'000);
  if (nanos) nanos = CheckedAdd<int64_t>(*nanos, time.nanos());
  if (!nanos || time.nanos() < 0 || time.nanos() >= 1'000'000'000) {
    return Error(ErrorCode::kCorrupt, "manifest time is out of range: {}: {} s {} ns", key,
                 time.seconds(), time.nanos());
  }
  return *nanos;
}

std::string UnknownFields(const google::protobuf::Message& message) {
  std::string bytes;
  const google::protobuf::UnknownFieldSet& unknown =
      message.GetReflection()->GetUnknownFields(message);
  if (!unknown.empty()) unknown.SerializeToString(&bytes);
  return bytes;
}

void RestoreUnknownFields(const std::string& bytes, google::protobuf::Message* message) {
  if (!bytes.empty())
    message->GetReflection()->MutableUnknownFields(message)->ParseFromString(bytes);
}

std::shared_ptr<const std::string> Shared(bool present, const std::string& bytes) {
  return present ? std::make_shared<const std::string>(bytes) : nullptr;
}

Result<DataFile> DataFileFromMessage(const pb::DataFile& message, uint64_t fragment_id,
                                     const std::string& key) {
  auto corrupt = [&](std::string_view reason) {
    return Error(ErrorCode::kCorrupt, "data file in a manifest is wrong: {}: fragment {}: {}", key,
                 fragment_id, reason);
  };
  DataFile file;
  file.path = message.path();
  if (!storage::CheckKey(file.path).ok()) return corrupt("its path is no relative path");
  if (message.file_major_version() > std::numeric_limits<uint16_t>::max() ||
      message.file_minor_version() > std::numeric_limits<uint16_t>::max()) {
    return corrupt("its version is out of range");
  }
  file.version =
      format::FileVersion::FromFooter(message.file_major_version(), message.file_minor_version());
  file.field_ids.assign(message.fields().begin(), message.fields().end());
  file.column_indices.assign(message.column_indices().begin(), message.column_indices().end());
  // Files older than 2.0 have no columns of their own numbering.
  const bool is_numbered = file.version.major >= 2 || !file.column_indices.empty();
  if (is_numbered && file.field_ids.size() != file.column_indices.size()) {
    return corrupt("it lists another number of columns than of fields");
  }
  file.size_bytes = message.file_size_bytes();
  if (message.has_base_id()) file.base_id = message.base_id();
  file.unknown_fields = UnknownFields(message);
  return file;
}

}  // namespace

Result<Fragment> FragmentFromMessage(const pb::DataFragment& message, const std::string& key) {
  Fragment fragment;
  fragment.id = message.id();
  auto corrupt = [&](std::string_view reason) {
    return Error(ErrorCode::kCorrupt, "fragment in a manifest is wrong: {}: fragment {}: {}", key,
                 fragment.id, reason);
  };
  if (fragment.id > std::numeric_limits<uint32_t>::max()) return corrupt("its id has over 32 bits");
  fragment.physical_rows = message.physical_rows();
  if (fragment.physical_rows > kMaxFragmentRows) return corrupt("it has over 2^32 rows");
  fragment.files.reserve(message.files_size());
  for (const pb::DataFile& file : message.files()) {
    ARROW_ASSIGN_OR_RAISE(DataFile data_file, DataFileFromMessage(file, fragment.id, key));
    fragment.files.push_back(std::move(data_file));
  }
  if (message.has_deletion_file()) {
    const pb::DeletionFile& from = message.deletion_file();
    DeletionFile& deletion = fragment.deletion_file.emplace();
    if (from.file_type() == pb::DeletionFile::ARROW_ARRAY) {
      deletion.kind = DeletionFile::Kind::kArrow;
    } else if (from.file_type() == pb::DeletionFile::BITMAP) {
      deletion.kind = DeletionFile::Kind::kBitmap;
    } else {
      return Error(ErrorCode::kUnsupported,
                   "deletion file is of an unknown kind: {}: fragment {}: kind {}", key,
                   fragment.id, static_cast<int>(from.file_type()));
    }
    deletion.read_version = from.read_version();
    deletion.id = from.id();
    deletion.num_deleted_rows = from.num_deleted_rows();
    if (from.has_base_id()) deletion.base_id = from.base_id();
    deletion.unknown_fields = UnknownFields(from);
    if (fragment.physical_rows != 0 && deletion.num_deleted_rows > fragment.physical_rows) {
      return corrupt("more rows are deleted than it has");
    }
  }
  fragment.row_ids = Shared(message.has_inline_row_ids(), message.inline_row_ids());
  fragment.created_at_versions =
      Shared(message.has_inline_created_at_versions(), message.inline_created_at_versions());
  fragment.last_updated_at_versions = Shared(message.has_inline_last_updated_at_versions(),
                                             message.inline_last_updated_at_versions());
  fragment.unknown_fields = UnknownFields(message);
  return fragment;
}

const Fragment* FindFragment(const Manifest& manifest, uint64_t id) {
  const std::vector<Fragment>& fragments = manifest.fragments();
  auto found = std::lower_bound(fragments.begin(), fragments.end(), id,
                                [](const Fragment& f, uint64_t id) { return f.id < id; });
  return found == fragments.end() || found->id != id ? nullptr : &*found;
}

bool SameFile(const DataFile& a, const DataFile& b) {
  return a.path == b.path && a.field_ids == b.field_ids && a.base_id == b.base_id;
}

bool SameFiles(const Fragment& a, const Fragment& b) {
  return std::equal(a.files.begin(), a.files.end(), b.files.begin(), b.files.end(), SameFile);
}

bool SameDeletions(const Fragment& a, const Fragment& b) {
  if (!a.deletion_file || !b.deletion_file) return !a.deletion_file && !b.deletion_file;
  return a.deletion_file->id == b.deletion_file->id &&
         a.deletion_file->read_version == b.deletion_file->read_version &&
         a.deletion_file->base_id == b.deletion_file->base_id;
}

Result<std::shared_ptr<const Manifest>> Manifest::Decode(const arrow::Buffer& bytes,
                                                         const std::string& key) {
  return ManifestFile::Decode(std::string_view(bytes), key);
}

Result<std::shared_ptr<const ManifestFile>> ManifestFile::Decode(std::string_view bytes,
                                                                 const std::string& key) {
  auto corrupt = [&](std::string_view reason) {
    return Error(ErrorCode::kCorrupt, "manifest cannot be read: {}: {}", key, reason);
  };
  if (bytes.size() < kTailSize) return corrupt("it is shorter than its 16-byte tail");
  const char* tail = bytes.data() + bytes.size() - kTailSize;
  if (std::memcmp(tail + 12, kMagic, 4) != 0) return corrupt("it does not end in LANC");
  const auto position = LoadLittleEndian<uint64_t>(tail);
  const uint64_t end = bytes.size() - kTailSize;
  std::optional<std::string_view> body = SectionAt(bytes, position, end);
  if (!body) return corrupt("the message does not lie in the file");

  std::shared_ptr<ManifestFile> manifest(new ManifestFile());
  manifest->file_size_ = bytes.size();
  pb::Manifest& message = *manifest->message_;
  if (!format::ParseMessage(*body, "manifest", &message).ok()) {
    return corrupt("the message is no valid protobuf");
  }
  if (message.has_index_section()) {
    std::optional<std::string_view> section = SectionAt(bytes, message.index_section(), end);
    if (section) {
      manifest->index_section_ = std::optional<std::string>(*section);
    } else {
      manifest->index_section_ = corrupt("the index section does not lie in the file");
    }
  }
  std::optional<std::string_view> transaction;
  if (message.has_transaction_section()) {
    transaction = SectionAt(bytes, message.transaction_section(), end);
  }
  if (!transaction && message.has_old_transaction_section()) {
    transaction = SectionAt(bytes, message.old_transaction_section(), end);
  }
  if (transaction) manifest->inline_transaction_ = std::string(*transaction);
  ARROW_RETURN_NOT_OK(manifest->Interpret(key));
  return manifest;
}

Status ManifestFile::Interpret(const std::string& key) {
  if (message_->version() == 0) {
    return Error(ErrorCode::kCorrupt, "manifest cannot be read: {}: its version is 0", key);
  }
  ARROW_ASSIGN_OR_RAISE(timestamp_nanos_, TimestampNanos(message_->timestamp(), key));
  ARROW_ASSIGN_OR_RAISE(schema_.fields, format::FieldsFromMessages(message_->fields(), key));
  schema_.metadata = format::MetadataFromMessage(message_->schema_metadata());
  ARROW_RETURN_NOT_OK(InterpretFragments(key));
  config_.insert(message_->config().begin(), message_->config().end());
  table_metadata_.insert(message_->table_metadata().begin(), message_->table_metadata().end());

  const std::string& version = message_->data_format().version();
  if (version.empty()) {
    // Written before the field existed; files of that age are refused one by one.
    file_version_ = (reader_flags() & kFlagUseV2Format) != 0 ? format::FileVersion{2, 0}
                                                             : format::FileVersion{0, 1};
  } else {
    Result<format::FileVersion> parsed = format::FileVersion::Parse(version);
    if (!parsed.ok()) {
      return Error(ErrorCode::kUnsupported, "file version of the table is unknown: {}: \"{}\"", key,
                   version);
    }
    file_version_ = *parsed;
  }
  return Status::OK();
}

Status ManifestFile::InterpretFragments(const std::string& key) {
  fragments_.reserve(message_->fragments_size());
  for (const pb::DataFragment& message : message_->fragments()) {
    ARROW_ASSIGN_OR_RAISE(Fragment fragment, FragmentFromMessage(message, key));
    fragments_.push_back(std::move(fragment));
  }
  auto by_id = [](const Fragment& a, const Fragment& b) { return a.id < b.id; };
  std::sort(fragments_.begin(), fragments_.end(), by_id);
  auto same = std::adjacent_find(fragments_.begin(), fragments_.end(),
                                 [](const Fragment& a, const Fragment& b) { return a.id == b.id; });
  if (same != fragments_.end()) {
    return Error(ErrorCode::kCorrupt, "manifest cannot be read: {}: two fragments have the id {}",
                 key, same->id);
  }
  if (!fragments_.empty()) max_fragment_id_ = static_cast<uint32_t>(fragments_.back().id);
  if (message_->has_max_fragment_id()) {
    max_fragment_id_ = std::max(message_->max_fragment_id(), max_fragment_id_.value_or(0));
  }
  return Status::OK();
}

std::vector<BasePath> ManifestFile::base_paths() const {
  std::vector<BasePath> bases;
  for (const pb::Manifest::BasePath& message : message_->base_paths()) {
    BasePath& base = bases.emplace_back();
    base.id = message.id();
    if (message.has_name()) base.name = message.name();
    base.is_dataset_root = message.is_dataset_root();
    base.path = message.path();
  }
  return bases;
}

std::string ManifestFile::writer() const {
  if (!message_->has_writer_version()) return "unknown";
  const pb::Manifest::WriterVersion& writer = message_->writer_version();
  std::string text = fmt::format("{} {}", writer.library(), writer.version());
  if (writer.has_prerelease()) text += "-" + writer.prerelease();
  if (writer.has_build_metadata()) text += "+" + writer.build_metadata();
  return text;
}

Result<std::string> EncodeManifest(pb::Manifest message,
                                   const std::optional<std::string>& index_section,
                                   const std::string& transaction) {
  return EncodeManifest(&message, index_section, transaction);
}

Result<std::string> EncodeManifest(pb::Manifest* message,
                                   const std::optional<std::string>& index_section,
                                   const std::string& transaction) {
  std::string bytes;
  auto append = [&](const std::string& section) -> Status {
    if (section.size() > std::numeric_limits<uint32_t>::max()) {
      return Error(ErrorCode::kUnsupported, "manifest section is larger than 4 GiB: {} bytes",
                   section.size());
    }
    AppendLittleEndian(static_cast<uint32_t>(section.size()), &bytes);
    bytes += section;
    return Status::OK();
  };
  message->clear_index_section();
  if (index_section) {
    message->set_index_section(bytes.size());
    ARROW_RETURN_NOT_OK(append(*index_section));
  }
  message->clear_old_transaction_section();
  message->set_transaction_section(bytes.size());
  ARROW_RETURN_NOT_OK(append(transaction));

  const uint64_t position = bytes.size();
  std::string body;
  if (message->ByteSizeLong() > std::numeric_limits<int>::max() ||
      !message->SerializeToString(&body)) {
    return Error(ErrorCode::kUnsupported, "manifest is larger than 2 GiB: version {}",
                 message->version());
  }
  ARROW_RETURN_NOT_OK(append(body));
  AppendLittleEndian(position, &bytes);
  AppendLittleEndian(kContainerMajor, &bytes);
  AppendLittleEndian(kContainerMinor, &bytes);
  bytes.append(kMagic, 4);
  return bytes;
}

void DataFileToMessage(const DataFile& file, pb::DataFile* message) {
  RestoreUnknownFields(file.unknown_fields, message);
  message->set_path(file.path);
  message->mutable_fields()->Add(file.field_ids.begin(), file.field_ids.end());
  message->mutable_column_indices()->Add(file.column_indices.begin(), file.column_indices.end());
  message->set_file_major_version(file.version.major);
  message->set_file_minor_version(file.version.minor);
  message->set_file_size_bytes(file.size_bytes);
  if (file.base_id) message->set_base_id(*file.base_id);
}

void DeletionFileToMessage(const DeletionFile& file, pb::DeletionFile* message) {
  RestoreUnknownFields(file.unknown_fields, message);
  message->set_file_type(file.kind == DeletionFile::Kind::kArrow ? pb::DeletionFile::ARROW_ARRAY
                                                                 : pb::DeletionFile::BITMAP);
  message->set_read_version(file.read_version);
  message->set_id(file.id);
  message->set_num_deleted_rows(file.num_deleted_rows);
  if (file.base_id) message->set_base_id(*file.base_id);
}

void FragmentToMessage(const Fragment& fragment, pb::DataFragment* message) {
  RestoreUnknownFields(fragment.unknown_fields, message);
  message->set_id(fragment.id);
  message->set_physical_rows(fragment.physical_rows);
  for (const DataFile& file : fragment.files) DataFileToMessage(file, message->add_files());
  if (fragment.deletion_file) {
    DeletionFileToMessage(*fragment.deletion_file, message->mutable_deletion_file());
  }
  if (fragment.row_ids) message->set_inline_row_ids(*fragment.row_ids);
  if (fragment.created_at_versions) {
    message->set_inline_created_at_versions(*fragment.created_at_versions);
  }
  if (fragment.last_updated_at_versions) {
    message->set_inline_last_updated_at_versions(*fragment.last_updated_at_versions);
  }
}

void BasePathToMessage(const BasePath& base, pb::Manifest::BasePath* message) {
  message->set_id(base.id);
  if (base.name) message->set_name(*base.name);
  message->set_is_dataset_root(base.is_dataset_root);
  message->set_path(base.path);
}

std::string DataFileKey(const DataFile& file) { return "data/" + file.path; }

std::string DeletionFileKey(uint64_t fragment_id, const DeletionFile& file) {
  return fmt::format("_deletions/{}-{}-{}.{}", fragment_id, file.read_version, file.id,
                     file.kind == DeletionFile::Kind::kArrow ? "arrow" : "bin");
}

std::vector<std::string> DataFileKeys(const std::vector<Fragment>& fragments) {
  std::vector<std::string> keys;
  for (const Fragment& fragment : fragments) {
    for (const DataFile& file : fragment.files) keys.push_back(DataFileKey(file));
  }
  return keys;
}

}  // namespace lake::table
