#include "lake/service/workspace.h"

#include <utility>
#include <vector>

namespace lake::service {

Result<std::unique_ptr<Workspace>> Workspace::Open(const Context& context,
                                                   WorkspaceOptions options) {
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<commit::Lakehouse> lakehouse,
      commit::Lakehouse::Open(
          context, {.data_dir = options.data_dir, .create_if_missing = options.create_if_missing}));
  return Over(std::move(options), std::move(lakehouse));
}

std::unique_ptr<Workspace> Workspace::Over(WorkspaceOptions options,
                                           std::shared_ptr<commit::Lakehouse> lakehouse) {
  return std::unique_ptr<Workspace>(new Workspace(std::move(options), std::move(lakehouse)));
}

Workspace::Workspace(WorkspaceOptions options, std::shared_ptr<commit::Lakehouse> lakehouse)
    : options_(std::move(options)), lakehouse_(std::move(lakehouse)) {}

Result<std::shared_ptr<objects::Stage>> Workspace::Stage(const Context& context) {
  return lakehouse_->StageFor(context, principal());
}

Result<std::unique_ptr<query::Session>> Workspace::Connect(const Context& context) {
  MutexLock lock(&mutex_);
  if (engine_ == nullptr) {
    query::EngineOptions engine_options;
    engine_options.memory_limit = options_.memory_limit;
    engine_options.threads = options_.threads;
    engine_options.allow_local_files = true;
    ARROW_ASSIGN_OR_RAISE(engine_, query::Engine::Open(context, lakehouse_, engine_options));
  }
  query::SessionOptions session_options;
  session_options.time_zone = options_.time_zone;
  return engine_->Connect(context, principal(), std::move(session_options));
}

Result<std::shared_ptr<const commit::OpenTable>> Workspace::OpenTable(const Context& context,
                                                                      const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(catalog::QualifiedName parsed, ParseTableName(name));
  return lakehouse_->OpenByName(context, principal(), parsed, catalog::NameMatch::kSql);
}

Result<catalog::QualifiedName> ParseTableName(const std::string& text) {
  Status malformed = Error(ErrorCode::kInvalidArgument,
                           "not a table name (namespace.table or table is expected): '{}'", text);
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '"') {
      bool doubled = i + 1 < text.size() && text[i + 1] == '"';
      if (doubled) {
        parts.back().push_back('"');
        ++i;
      } else {
        quoted = false;
        bool ends_part = i + 1 == text.size() || text[i + 1] == '.';
        if (!ends_part) return malformed;
      }
    } else if (!quoted && c == '"') {
      if (!parts.back().empty()) return malformed;
      quoted = true;
    } else if (!quoted && c == '.') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  if (quoted || parts.size() > 2) return malformed;
  for (const std::string& part : parts) {
    if (part.empty()) return malformed;
  }
  if (parts.size() == 1) return catalog::QualifiedName{catalog::kMainNamespace, parts[0]};
  return catalog::QualifiedName{parts[0], parts[1]};
}

std::string QuoteIdentifier(const std::string& name) {
  std::string quoted = "\"";
  for (char c : name) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

}  // namespace lake::service
