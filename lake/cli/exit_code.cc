#include "lake/cli/exit_code.h"

#include <memory>
#include <string_view>
#include <utility>

namespace lake::cli {
namespace {

constexpr char kUsageDetailTypeId[] = "lake::cli::UsageDetail";

/// Marks errors of the command line itself, which end in exit code 2.
class UsageDetail : public arrow::StatusDetail {
 public:
  const char* type_id() const override { return kUsageDetailTypeId; }
  std::string ToString() const override { return "usage"; }
};

}  // namespace

Status UsageError(std::string text) {
  return Status(arrow::StatusCode::Invalid, std::move(text), std::make_shared<UsageDetail>());
}

bool IsUsageError(const Status& status) {
  return !status.ok() && status.detail() != nullptr &&
         std::string_view(status.detail()->type_id()) == kUsageDetailTypeId;
}

int ExitCodeFor(const Status& status) {
  if (status.ok()) return kExitOk;
  if (IsUsageError(status)) return kExitUsage;
  return IsCommitStateUnknown(status) ? kExitCommitUnknown : kExitFailed;
}

}  // namespace lake::cli
