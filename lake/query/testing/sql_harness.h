#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lake/commit/lakehouse.h"
#include "lake/query/engine.h"

namespace lake::query {

/// One session on an engine over a lakehouse, for tests that look at values as text.
class SqlHarness {
 public:
  static Result<std::unique_ptr<SqlHarness>> Open(std::shared_ptr<commit::Lakehouse> lakehouse,
                                                  EngineOptions options = DefaultOptions());

  /// Two threads, 256 MiB, local files.
  static EngineOptions DefaultOptions();

  /// Another session on the same engine.
  Result<std::unique_ptr<SqlHarness>> Second() const;

  /// Runs one statement to its end. One text per row, values by ", ".
  Result<std::vector<std::string>> Rows(const std::string& sql,
                                        const std::vector<Parameter>& values = {});
  /// The same under a context of the caller's.
  Result<std::vector<std::string>> Rows(const Context& context, const std::string& sql,
                                        const std::vector<Parameter>& values = {});
  /// Runs one statement and gives the rows that it changed.
  Result<int64_t> Run(const std::string& sql, const std::vector<Parameter>& values = {});

  Session* session() { return session_.get(); }
  const Context& context() const { return context_; }

 private:
  SqlHarness() = default;

  Context context_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

}  // namespace lake::query
