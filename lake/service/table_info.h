#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/service/workspace.h"

namespace arrow {
class Schema;
}

namespace lake::service {

/// What `lake table describe` tells.
struct TableDescription {
  catalog::QualifiedName name;
  /// Absolute path of the dataset's folder: what upstream tools open.
  std::string location;
  std::string incarnation;
  uint64_t version = 0;
  int64_t timestamp_nanos = 0;
  uint64_t num_rows = 0;
  size_t num_fragments = 0;
  uint64_t data_bytes = 0;  ///< 0 where a manifest does not say it
  std::string file_version;
  std::shared_ptr<arrow::Schema> schema;
  std::map<std::string, std::string> properties;
};

Result<TableDescription> DescribeTable(const Context& context, Workspace* workspace,
                                       const std::string& name);

struct TableListing {
  catalog::QualifiedName name;
  std::string incarnation;
  /// Set for dropped tables only.
  std::optional<int64_t> dropped_nanos;
};

/// Tables by name, of one namespace or of all; with `dropped`, those that can be undropped instead.
Result<std::vector<TableListing>> ListTables(const Context& context, Workspace* workspace,
                                             const std::optional<std::string>& name_space,
                                             bool dropped);

/// How a type is written in SQL and in `table describe`: FILE, VARCHAR, TIMESTAMP, FLOAT[4], ...;
/// an Arrow type that SQL has no name for is written as Arrow writes it.
std::string TypeName(const arrow::DataType& type);

}  // namespace lake::service
