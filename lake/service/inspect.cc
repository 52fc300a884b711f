#include "lake/service/inspect.h"

#include <filesystem>
#include <memory>
#include <utility>

#include <arrow/buffer.h>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/format/inspect.h"
#include "lake/storage/local_store.h"
#include "lake/table/inspect.h"

namespace lake::service {
namespace {

constexpr uint64_t kMaxManifestBytes = 4ull << 30;
constexpr char kManifestSuffix[] = ".manifest";

boost::json::object MapJson(const std::map<std::string, std::string>& map) {
  boost::json::object object;
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

boost::json::object FieldJson(const format::Field& field) {
  boost::json::array children;
  for (const format::Field& child : field.children) children.push_back(FieldJson(child));
  return {{"id", field.id},
          {"name", field.name},
          {"logical_type", field.logical_type},
          {"nullable", field.nullable},
          {"children", std::move(children)}};
}

boost::json::array NamesJson(const std::vector<std::string>& names) {
  boost::json::array array;
  for (const std::string& name : names) array.emplace_back(name);
  return array;
}

boost::json::object FragmentJson(const table::Fragment& fragment) {
  boost::json::array files;
  for (const table::DataFile& file : fragment.files) {
    files.push_back({{"path", file.path},
                     {"field_ids", boost::json::value_from(file.field_ids)},
                     {"column_indices", boost::json::value_from(file.column_indices)},
                     {"version", file.version.ToString()},
                     {"size_bytes", file.size_bytes}});
  }
  boost::json::object object{
      {"id", fragment.id}, {"physical_rows", fragment.physical_rows}, {"files", std::move(files)}};
  if (fragment.deletion_file) {
    const table::DeletionFile& deletion = *fragment.deletion_file;
    object["deletion_file"] = {
        {"kind", deletion.kind == table::DeletionFile::Kind::kArrow ? "arrow" : "bitmap"},
        {"read_version", deletion.read_version},
        {"id", deletion.id},
        {"num_deleted_rows", deletion.num_deleted_rows}};
  }
  return object;
}

boost::json::object ManifestJson(const table::ManifestReport& report) {
  boost::json::array fields;
  for (const format::Field& field : report.schema.fields) fields.push_back(FieldJson(field));
  boost::json::array fragments;
  for (const table::Fragment& fragment : report.fragments)
    fragments.push_back(FragmentJson(fragment));
  boost::json::object object{{"kind", "manifest"},
                             {"path", report.key},
                             {"version", report.version},
                             {"committed", table::TimestampText(report.timestamp_nanos)},
                             {"writer", report.writer},
                             {"file_version", report.file_version},
                             {"reader_flags", report.reader_flags},
                             {"reader_flag_names", NamesJson(report.reader_flag_names)},
                             {"writer_flags", report.writer_flags},
                             {"writer_flag_names", NamesJson(report.writer_flag_names)},
                             {"reading_floor", format::ToJson(report.reading_floor)},
                             {"num_rows", report.num_rows},
                             {"num_deleted_rows", report.num_deleted_rows},
                             {"data_bytes", report.data_bytes},
                             {"schema", std::move(fields)},
                             {"fragments", std::move(fragments)},
                             {"config", MapJson(report.config)},
                             {"table_metadata", MapJson(report.table_metadata)},
                             {"transaction_file", report.transaction_file}};
  if (report.transaction) {
    object["transaction"] = {{"uuid", report.transaction->uuid},
                             {"read_version", report.transaction->read_version},
                             {"operation", report.transaction->operation},
                             {"properties", MapJson(report.transaction->properties)}};
  }
  return object;
}

boost::json::object DatasetJson(const table::DatasetReport& report) {
  boost::json::object object = ManifestJson(report.manifest);
  object["kind"] = "dataset";
  object["location"] = report.location;
  object["naming"] = report.naming;
  boost::json::array versions;
  for (const table::VersionInfo& version : report.versions) {
    versions.push_back({{"version", version.version},
                        {"committed", table::TimestampText(version.timestamp_nanos)},
                        {"num_rows", version.num_rows},
                        {"operation", version.operation}});
  }
  object["versions"] = std::move(versions);
  return object;
}

}  // namespace

Result<InspectReport> InspectPath(const Context& context, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  const fs::file_status status = fs::status(absolute, error);
  if (!fs::exists(status)) return Error(ErrorCode::kNotFound, "there is nothing at {}", path);
  if (fs::is_directory(status)) {
    if (!fs::is_directory(absolute / "_versions", error)) {
      return Error(ErrorCode::kInvalidArgument,
                   "not a Lance dataset, the folder has no _versions/: {}", path);
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<storage::ObjectStore> store,
                          storage::OpenLocalStore(absolute));
    ARROW_ASSIGN_OR_RAISE(table::DatasetReport report,
                          table::DescribeDataset(context, store.get()));
    return InspectReport{table::ToText(report), DatasetJson(report)};
  }
  if (!fs::is_regular_file(status)) {
    return Error(ErrorCode::kInvalidArgument, "neither a file nor a folder: {}", path);
  }
  const std::string name = absolute.filename();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<storage::ObjectStore> store,
                        storage::OpenLocalStore(absolute.parent_path()));
  if (name.ends_with(kManifestSuffix)) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                          store->GetAll(context, name, kMaxManifestBytes));
    ARROW_ASSIGN_OR_RAISE(table::ManifestReport report,
                          table::DescribeManifest(std::string_view(*bytes), name));
    return InspectReport{table::ToText(report), ManifestJson(report)};
  }
  ARROW_ASSIGN_OR_RAISE(format::FileDescription file,
                        format::InspectFile(context, store.get(), name));
  return InspectReport{format::ToText(file), format::ToJson(file)};
}

}  // namespace lake::service
