#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lake/base/context.h"
#include "lake/base/mutex.h"
#include "lake/catalog/types.h"
#include "lake/commit/lakehouse.h"
#include "lake/objects/stage.h"
#include "lake/query/engine.h"

namespace lake::service {

struct WorkspaceOptions {
  std::string data_dir;
  bool create_if_missing = true;
  std::string time_zone = "UTC";
  int64_t memory_limit = 0;  ///< bytes; 0: the default of query::EngineOptions
  int threads = 0;
  uint64_t write_buffer_bytes = 256ull << 20;
  catalog::Principal principal;
};

/// One user's view of a data folder: names, tables, objects and SQL. The engine starts at its first
/// use, since most commands never need it. Thread-safe.
class Workspace {
 public:
  static Result<std::unique_ptr<Workspace>> Open(const Context& context, WorkspaceOptions options);

  /// A view of a lakehouse that is open already: of the data folder `options` names.
  static std::unique_ptr<Workspace> Over(WorkspaceOptions options,
                                         std::shared_ptr<commit::Lakehouse> lakehouse);

  const WorkspaceOptions& options() const { return options_; }
  const catalog::Principal& principal() const { return options_.principal; }
  commit::Lakehouse& lakehouse() { return *lakehouse_; }
  std::shared_ptr<commit::Lakehouse> shared_lakehouse() { return lakehouse_; }

  /// The stage of this principal.
  Result<std::shared_ptr<objects::Stage>> Stage(const Context& context);

  /// A new SQL session with the workspace's time zone.
  Result<std::unique_ptr<query::Session>> Connect(const Context& context) LAKE_EXCLUDES(mutex_);

  /// Opens a table that a user named as `namespace.table` (or `table`, which lies in `main`): the
  /// exact name, else the only case-insensitive match.
  Result<std::shared_ptr<const commit::OpenTable>> OpenTable(const Context& context,
                                                             const std::string& name);

 private:
  Workspace(WorkspaceOptions options, std::shared_ptr<commit::Lakehouse> lakehouse);

  const WorkspaceOptions options_;
  const std::shared_ptr<commit::Lakehouse> lakehouse_;

  Mutex mutex_;
  std::unique_ptr<query::Engine> engine_ LAKE_GUARDED_BY(mutex_);
};

/// Cuts `namespace.table` at its only dot outside double quotes; `table` alone lies in `main`. A
/// part may be quoted as in SQL: "my.ns"."a ""b""". kInvalidArgument for anything else.
Result<catalog::QualifiedName> ParseTableName(const std::string& text);

/// `name` as a quoted SQL identifier.
std::string QuoteIdentifier(const std::string& name);

}  // namespace lake::service
