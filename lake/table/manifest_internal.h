#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <google/protobuf/arena.h>

#include "lake/table/manifest.h"
#include "lake/table/table.pb.h"

namespace lake::table {

/// The one implementation of Manifest: the message as it was read, the sections beside it, and the
/// view of both that Manifest promises.
class ManifestFile final : public Manifest {
 public:
  static Result<std::shared_ptr<const ManifestFile>> Decode(std::string_view bytes,
                                                            const std::string& key);

  uint64_t version() const override { return message_->version(); }
  int64_t timestamp_nanos() const override { return timestamp_nanos_; }
  const format::Schema& schema() const override { return schema_; }
  const std::vector<Fragment>& fragments() const override { return fragments_; }
  uint64_t reader_flags() const override { return message_->reader_feature_flags(); }
  uint64_t writer_flags() const override { return message_->writer_feature_flags(); }
  std::optional<uint32_t> max_fragment_id() const override { return max_fragment_id_; }
  format::FileVersion file_version() const override { return file_version_; }
  const std::map<std::string, std::string>& config() const override { return config_; }
  const std::map<std::string, std::string>& table_metadata() const override {
    return table_metadata_;
  }
  const std::string& transaction_file() const override { return message_->transaction_file(); }
  std::vector<BasePath> base_paths() const override;
  uint64_t next_row_id() const override { return message_->next_row_id(); }
  std::string writer() const override;

  /// The message as read, unknown fields included; its fragments are in the file's order.
  const pb::Manifest& message() const { return *message_; }

  /// The bytes of the index section without their length word. Nothing if the manifest names none;
  /// kCorrupt if it names one that does not lie in the file (which does not stop an open).
  const Result<std::optional<std::string>>& index_section() const { return index_section_; }

  /// The bytes of the inline transaction, or nothing if there is none or it does not lie in the
  /// file.
  const std::optional<std::string>& inline_transaction() const { return inline_transaction_; }

  uint64_t file_size() const { return file_size_; }

 private:
  ManifestFile() = default;
  Status Interpret(const std::string& key);
  Status InterpretFragments(const std::string& key);

  /// Fragments are thousands of small messages: they are made and freed together.
  google::protobuf::Arena arena_;
  pb::Manifest* const message_ = google::protobuf::Arena::CreateMessage<pb::Manifest>(&arena_);
  Result<std::optional<std::string>> index_section_ = std::optional<std::string>();
  std::optional<std::string> inline_transaction_;
  int64_t timestamp_nanos_ = 0;
  format::Schema schema_;
  std::vector<Fragment> fragments_;
  std::optional<uint32_t> max_fragment_id_;
  format::FileVersion file_version_;
  std::map<std::string, std::string> config_;
  std::map<std::string, std::string> table_metadata_;
  uint64_t file_size_ = 0;
};

/// Every Manifest is a ManifestFile: Decode is the only maker.
inline const ManifestFile& FileOf(const Manifest& manifest) {
  return static_cast<const ManifestFile&>(manifest);
}

/// The name of the program in `writer_version` of manifests that lake writes.
inline constexpr char kWriterLibrary[] = "lake";

/// The bytes of a manifest file that holds `message` (whose section positions it sets), the index
/// section if there is one, and the inline transaction.
Result<std::string> EncodeManifest(pb::Manifest message,
                                   const std::optional<std::string>& index_section,
                                   const std::string& transaction);
/// The same without a copy: the positions are set in `message` itself.
Result<std::string> EncodeManifest(pb::Manifest* message,
                                   const std::optional<std::string>& index_section,
                                   const std::string& transaction);

/// Fills an empty `message`.
void DataFileToMessage(const DataFile& file, pb::DataFile* message);
void DeletionFileToMessage(const DeletionFile& file, pb::DeletionFile* message);
void FragmentToMessage(const Fragment& fragment, pb::DataFragment* message);
void BasePathToMessage(const BasePath& base, pb::Manifest::BasePath* message);

/// `key` names what holds the message, for kCorrupt.
Result<Fragment> FragmentFromMessage(const pb::DataFragment& message, const std::string& key);

/// The key of a data file, and of a deletion file of fragment `fragment_id`.
std::string DataFileKey(const DataFile& file);
std::string DeletionFileKey(uint64_t fragment_id, const DeletionFile& file);

/// The keys of all data files of `fragments`.
std::vector<std::string> DataFileKeys(const std::vector<Fragment>& fragments);

}  // namespace lake::table
