#include "lake/cli/invocation.h"

#include <filesystem>
#include <utility>

#include "lake/base/log.h"
#include "lake/base/memory_budget.h"

namespace lake::cli {

Status Invocation::LoadConfig() {
  ARROW_ASSIGN_OR_RAISE(config_,
                        Config::Load({.flags = flags, .environment = ProcessEnvironment()}));
  ConfigureLog(LogLevelFromName(config_->Text("log_level")),
               LogFormatFromName(config_->Text("log_format")));
  context.memory = MemoryBudget::Make(config_->Bytes("memory_limit"));
  return Status::OK();
}

Result<service::Workspace*> Invocation::OpenWorkspace(bool must_exist) {
  if (workspace_ != nullptr) return workspace_.get();
  service::WorkspaceOptions options;
  std::error_code error;
  options.data_dir = std::filesystem::absolute(config_->Text("data_dir"), error);
  if (error) {
    return Error(ErrorCode::kIo, "cannot find the current folder: {}", error.message());
  }
  options.create_if_missing = !must_exist;
  options.time_zone = config_->Text("time_zone");
  options.memory_limit = config_->Bytes("memory_limit");
  options.threads = static_cast<int>(config_->Integer("threads"));
  options.write_buffer_bytes = static_cast<uint64_t>(config_->Bytes("write_buffer_bytes"));
  ARROW_ASSIGN_OR_RAISE(workspace_, service::Workspace::Open(context, std::move(options)));
  return workspace_.get();
}

}  // namespace lake::cli
