#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/reading_floor.h"
#include "lake/format/schema.h"
#include "lake/storage/object_store.h"
#include "lake/table/dataset.h"
#include "lake/table/manifest.h"

namespace lake::table {

/// The transaction that made a version. A plain value.
struct TransactionReport {
  std::string uuid;
  uint64_t read_version = 0;
  std::string operation;  ///< "append", ... or "unknown"
  std::map<std::string, std::string> properties;
};

/// What a manifest file says, for people. Flags and types that lake does not read are shown, not
/// refused.
struct ManifestReport {
  std::string key;
  uint64_t file_bytes = 0;
  uint64_t version = 0;
  int64_t timestamp_nanos = 0;
  std::string writer;
  std::string file_version;
  uint64_t reader_flags = 0;
  uint64_t writer_flags = 0;
  std::vector<std::string> reader_flag_names;
  std::vector<std::string> writer_flag_names;
  /// The oldest Lance that reads the version, as far as the manifest tells: a data file may hold
  /// more.
  format::ReadingFloor reading_floor;
  std::optional<uint32_t> max_fragment_id;
  uint64_t next_row_id = 0;
  std::string branch;
  format::Schema schema;
  std::vector<Fragment> fragments;
  uint64_t num_rows = 0;
  uint64_t num_deleted_rows = 0;
  /// Bytes of the data files as far as the manifest tells them.
  uint64_t data_bytes = 0;
  std::map<std::string, std::string> config;
  std::map<std::string, std::string> table_metadata;
  /// Bytes of the sections beside the message.
  std::optional<uint64_t> index_section_bytes;
  std::optional<uint64_t> inline_transaction_bytes;
  std::string transaction_file;
  /// The inline transaction, if it can be decoded.
  std::optional<TransactionReport> transaction;
};

/// A dataset folder: its versions, and one of them in full.
struct DatasetReport {
  std::string location;
  std::string naming;  ///< "V1" or "V2"
  std::vector<VersionInfo> versions;
  ManifestReport manifest;
};

/// Explains the bytes of a manifest file. kCorrupt as Manifest::Decode.
Result<ManifestReport> DescribeManifest(std::string_view bytes, const std::string& key);

/// Explains one version of the table that `store` is rooted at. kNotFound if it is not there.
Result<ManifestReport> DescribeVersion(const Context& context, storage::ObjectStore* store,
                                       uint64_t version, ManifestNaming naming);

/// Explains the newest version of the table that `store` is rooted at, or `version`. kNotFound if
/// it is not there.
Result<DatasetReport> DescribeDataset(const Context& context, storage::ObjectStore* store,
                                      std::optional<uint64_t> version = {});

/// The reports as text of several lines.
std::string ToText(const ManifestReport& report);
std::string ToText(const DatasetReport& report);

/// "2026-11-29T15:08:23.451005844Z"
std::string TimestampText(int64_t unix_nanos);

}  // namespace lake::table
