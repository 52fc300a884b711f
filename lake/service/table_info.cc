#include "lake/service/table_info.h"

#include <utility>

#include <arrow/type.h>
#include <fmt/format.h>

#include "lake/objects/data_location.h"

namespace lake::service {

Result<TableDescription> DescribeTable(const Context& context, Workspace* workspace,
                                       const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const commit::OpenTable> table,
                        workspace->OpenTable(context, name));
  const table::Manifest& manifest = table->dataset->manifest();
  TableDescription description;
  description.name = table->entry.name;
  description.location = workspace->lakehouse().data_dir() + "/" + table->entry.location;
  description.incarnation = table->entry.incarnation.ToString();
  description.version = manifest.version();
  description.timestamp_nanos = manifest.timestamp_nanos();
  ARROW_ASSIGN_OR_RAISE(description.num_rows, table->dataset->CountRows(context));
  description.num_fragments = manifest.fragments().size();
  for (const table::Fragment& fragment : manifest.fragments()) {
    for (const table::DataFile& file : fragment.files) description.data_bytes += file.size_bytes;
  }
  description.file_version = manifest.file_version().ToString();
  description.schema = table->dataset->arrow_schema();
  description.properties = table->entry.properties;
  return description;
}

Result<std::vector<TableListing>> ListTables(const Context& context, Workspace* workspace,
                                             const std::optional<std::string>& name_space,
                                             bool dropped) {
  std::unique_ptr<catalog::View> view =
      workspace->lakehouse().metastore().ViewFor(workspace->principal());
  std::vector<TableListing> listings;
  if (dropped) {
    ARROW_ASSIGN_OR_RAISE(std::vector<catalog::Tombstone> tombstones,
                          view->ListTombstones(context));
    for (const catalog::Tombstone& tombstone : tombstones) {
      if (name_space.has_value() && tombstone.entry.name.name_space != *name_space) continue;
      listings.push_back(
          {tombstone.entry.name, tombstone.entry.incarnation.ToString(), tombstone.dropped_nanos});
    }
    return listings;
  }
  std::vector<std::string> namespaces;
  if (name_space.has_value()) {
    ARROW_ASSIGN_OR_RAISE(std::string found,
                          view->FindNamespace(context, *name_space, catalog::NameMatch::kSql));
    namespaces.push_back(std::move(found));
  } else {
    ARROW_ASSIGN_OR_RAISE(namespaces, view->ListNamespaces(context));
  }
  for (const std::string& found : namespaces) {
    ARROW_ASSIGN_OR_RAISE(std::vector<catalog::Entry> entries, view->ListEntries(context, found));
    for (const catalog::Entry& entry : entries) {
      listings.push_back({entry.name, entry.incarnation.ToString(), {}});
    }
  }
  return listings;
}

std::string TypeName(const arrow::DataType& type) {
  if (objects::IsFileType(type)) return "FILE";
  switch (type.id()) {
    case arrow::Type::BOOL:
      return "BOOLEAN";
    case arrow::Type::INT8:
      return "TINYINT";
    case arrow::Type::INT16:
      return "SMALLINT";
    case arrow::Type::INT32:
      return "INTEGER";
    case arrow::Type::INT64:
      return "BIGINT";
    case arrow::Type::UINT8:
      return "UTINYINT";
    case arrow::Type::UINT16:
      return "USMALLINT";
    case arrow::Type::UINT32:
      return "UINTEGER";
    case arrow::Type::UINT64:
      return "UBIGINT";
    case arrow::Type::FLOAT:
      return "FLOAT";
    case arrow::Type::DOUBLE:
      return "DOUBLE";
    case arrow::Type::STRING:
      return "VARCHAR";
    case arrow::Type::BINARY:
      return "BLOB";
    case arrow::Type::DATE32:
      return "DATE";
    case arrow::Type::DECIMAL128: {
      const auto& decimal = static_cast<const arrow::Decimal128Type&>(type);
      return fmt::format("DECIMAL({},{})", decimal.precision(), decimal.scale());
    }
    case arrow::Type::TIME64:
      if (static_cast<const arrow::Time64Type&>(type).unit() == arrow::TimeUnit::MICRO)
        return "TIME";
      break;
    case arrow::Type::TIMESTAMP: {
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      if (!timestamp.timezone().empty()) {
        if (timestamp.unit() == arrow::TimeUnit::MICRO) return "TIMESTAMPTZ";
        break;
      }
      static constexpr const char* kNames[] = {"TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP",
                                               "TIMESTAMP_NS"};
      return kNames[timestamp.unit()];
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
      return fmt::format("{}[{}]", TypeName(*list.value_type()), list.list_size());
    }
    default:
      break;
  }
  return type.ToString();
}

}  // namespace lake::service
