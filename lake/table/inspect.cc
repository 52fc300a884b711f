#include "lake/table/inspect.h"

#include <ctime>

#include <arrow/buffer.h>
#include <fmt/ranges.h>

#include "lake/format/blob.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/transaction_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {

namespace {

constexpr size_t kMostVersionsShown = 20;

std::string FlagsText(uint64_t flags, const std::vector<std::string>& names) {
  return flags == 0 ? "none" : fmt::format("{} ({})", flags, fmt::join(names, ", "));
}

void AppendField(const format::Field& field, int depth, std::string* text) {
  *text +=
      fmt::format("{:{}}field {}: {} {}{}{}\n", "", 4 + 2 * depth, field.id, field.name,
                  field.logical_type, field.nullable ? "" : " not null", format::BlobRemark(field));
  for (const format::Field& child : field.children) AppendField(child, depth + 1, text);
}

void AppendMap(std::string_view name, const std::map<std::string, std::string>& map,
               std::string* text) {
  for (const auto& [key, value] : map) *text += fmt::format("  {} {} = {}\n", name, key, value);
}

void AppendFragment(const Fragment& fragment, std::string* text) {
  *text += fmt::format("  fragment {}: {} rows\n", fragment.id, fragment.physical_rows);
  for (const DataFile& file : fragment.files) {
    *text +=
        fmt::format("    file {}: version {}, {} bytes, fields {}, columns {}", file.path,
                    file.version.ToString(), file.size_bytes, file.field_ids, file.column_indices);
    if (file.base_id) *text += fmt::format(", in base {}", *file.base_id);
    *text += "\n";
  }
  if (fragment.deletion_file) {
    *text += fmt::format("    deletion file {}: {} rows\n",
                         DeletionFileKey(fragment.id, *fragment.deletion_file),
                         fragment.deletion_file->num_deleted_rows);
  }
}

format::ReadingFloor FloorOf(const Manifest& manifest) {
  using format::FloorFact;
  format::ReadingFloor floor;
  floor.Add(manifest.file_version());
  for (const Fragment& fragment : manifest.fragments()) {
    for (const DataFile& file : fragment.files) floor.Add(file.version);
  }
  for (const format::Field& field : manifest.schema().fields) {
    floor.Add(field, manifest.file_version());
  }
  // Those that every Lance of the versions above knows.
  constexpr uint64_t kOfAnyAge =
      kFlagDeletionFiles | kFlagStableRowIds | kFlagUseV2Format | kFlagTableConfig;
  for (uint64_t flags = manifest.reader_flags() & ~kOfAnyAge; flags != 0; flags &= flags - 1) {
    switch (const uint64_t flag = flags & ~(flags - 1)) {
      case kFlagBasePaths:
        floor.Add(FloorFact::kBasePaths);
        break;
      case kFlagMixedFileVersions:
        floor.Add(FloorFact::kMixedFileVersions);
        break;
      case 1024:
        floor.Add(FloorFact::kTaggedFragmentReuse);
        break;
      case 16384:
        floor.Add(FloorFact::kManagedBlobs);
        break;
      default:
        floor.AddUnknown("flag " + FlagNames(flag).front());
    }
  }
  return floor;
}

}  // namespace

Result<ManifestReport> DescribeManifest(std::string_view bytes, const std::string& key) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const ManifestFile> manifest,
                        ManifestFile::Decode(bytes, key));
  ManifestReport report;
  report.key = key;
  report.file_bytes = bytes.size();
  report.version = manifest->version();
  report.timestamp_nanos = manifest->timestamp_nanos();
  report.writer = manifest->writer();
  report.file_version = manifest->file_version().ToString();
  report.reader_flags = manifest->reader_flags();
  report.writer_flags = manifest->writer_flags();
  report.reader_flag_names = FlagNames(report.reader_flags);
  report.writer_flag_names = FlagNames(report.writer_flags);
  report.reading_floor = FloorOf(*manifest);
  report.max_fragment_id = manifest->max_fragment_id();
  report.next_row_id = manifest->message().next_row_id();
  report.branch = manifest->message().branch();
  report.schema = manifest->schema();
  report.fragments = manifest->fragments();
  report.num_rows = KnownRows(*manifest);
  for (const Fragment& fragment : report.fragments) {
    if (fragment.deletion_file) report.num_deleted_rows += fragment.deletion_file->num_deleted_rows;
    for (const DataFile& file : fragment.files) report.data_bytes += file.size_bytes;
  }
  report.config = manifest->config();
  report.table_metadata = manifest->table_metadata();
  if (manifest->index_section().ok() && *manifest->index_section()) {
    report.index_section_bytes = (*manifest->index_section())->size();
  }
  report.transaction_file = manifest->transaction_file();
  if (manifest->inline_transaction()) {
    report.inline_transaction_bytes = manifest->inline_transaction()->size();
    std::optional<pb::Transaction> transaction = ParseTransaction(*manifest->inline_transaction());
    if (transaction) {
      report.transaction =
          TransactionReport{.uuid = transaction->uuid(),
                            .read_version = transaction->read_version(),
                            .operation = std::string(OperationName(*transaction)),
                            .properties = {transaction->transaction_properties().begin(),
                                           transaction->transaction_properties().end()}};
    }
  }
  return report;
}

Result<ManifestReport> DescribeVersion(const Context& context, storage::ObjectStore* store,
                                       uint64_t version, ManifestNaming naming) {
  const std::string key = ManifestKey(version, naming);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                        store->GetAll(context, key, kMaxManifestSize));
  return DescribeManifest(std::string_view(*bytes), key);
}

Result<DatasetReport> DescribeDataset(const Context& context, storage::ObjectStore* store,
                                      std::optional<uint64_t> version) {
  ARROW_ASSIGN_OR_RAISE(VersionList list, ListVersions(context, store));
  if (list.empty() || (version && !list.Contains(*version))) {
    return Error(ErrorCode::kNotFound, "folder holds no Lance table, or not that version: {}",
                 store->description());
  }
  DatasetReport report;
  report.location = store->description();
  report.naming = list.naming == ManifestNaming::kV1 ? "V1" : "V2";
  ARROW_ASSIGN_OR_RAISE(report.versions, ReadVersions(context, store, list));
  ARROW_ASSIGN_OR_RAISE(
      report.manifest,
      DescribeVersion(context, store, version.value_or(list.newest()), list.naming));
  return report;
}

std::string TimestampText(int64_t unix_nanos) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t nanos = unix_nanos % kSecond;
  if (nanos < 0) nanos += kSecond;
  const std::time_t seconds = (unix_nanos - nanos) / kSecond;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     nanos);
}

std::string ToText(const ManifestReport& report) {
  std::string text = fmt::format("manifest {}\n", report.key);
  text += fmt::format("  version {}, {}, written by {}, {} bytes\n", report.version,
                      TimestampText(report.timestamp_nanos), report.writer, report.file_bytes);
  text += fmt::format("  {} rows, {} deleted, {} fragments, {} bytes of data, file version {}\n",
                      report.num_rows, report.num_deleted_rows, report.fragments.size(),
                      report.data_bytes, report.file_version);
  text += fmt::format("  reader flags {}, writer flags {}\n",
                      FlagsText(report.reader_flags, report.reader_flag_names),
                      FlagsText(report.writer_flags, report.writer_flag_names));
  text += fmt::format("  read by {}, if none of its data files needs more\n",
                      report.reading_floor.ToString());
  if (report.max_fragment_id) {
    text += fmt::format("  highest fragment id ever used {}\n", *report.max_fragment_id);
  }
  if (report.next_row_id != 0) text += fmt::format("  next row id {}\n", report.next_row_id);
  if (!report.branch.empty()) text += fmt::format("  branch {}\n", report.branch);
  if (report.index_section_bytes) {
    text += fmt::format("  index section of {} bytes\n", *report.index_section_bytes);
  }
  if (report.transaction) {
    text += fmt::format("  made by \"{}\" on version {}, transaction {}\n",
                        report.transaction->operation, report.transaction->read_version,
                        report.transaction->uuid);
    AppendMap("property", report.transaction->properties, &text);
  }
  if (!report.transaction_file.empty()) {
    text += fmt::format("  transaction file {}\n", report.transaction_file);
  }
  AppendMap("config", report.config, &text);
  AppendMap("metadata", report.table_metadata, &text);
  text += "  schema\n";
  for (const format::Field& field : report.schema.fields) AppendField(field, 0, &text);
  for (const Fragment& fragment : report.fragments) AppendFragment(fragment, &text);
  return text;
}

std::string ToText(const DatasetReport& report) {
  std::string text = fmt::format("dataset {}\n  {} versions, {} names\n", report.location,
                                 report.versions.size(), report.naming);
  const size_t hidden =
      report.versions.size() - std::min(report.versions.size(), kMostVersionsShown);
  if (hidden != 0) text += fmt::format("  {} older versions\n", hidden);
  for (size_t i = hidden; i < report.versions.size(); ++i) {
    const VersionInfo& info = report.versions[i];
    text += fmt::format("  version {}: {}, {}, {} rows\n", info.version,
                        TimestampText(info.timestamp_nanos), info.operation, info.num_rows);
  }
  return text + ToText(report.manifest);
}

}  // namespace lake::table
