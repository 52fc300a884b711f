#include "lake/objects/containment.h"

#include <algorithm>

#include "lake/base/uuid.h"
#include "lake/objects/file_uri.h"

namespace lake::objects {
namespace {

constexpr size_t kMaxTenantBytes = 64;
constexpr std::string_view kTenants = "/tenants/";

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

Status Outside(const std::string& uri, std::string_view reason) {
  return Error(ErrorCode::kPermissionDenied, "the location is not in the managed stage, {}: '{}'",
               reason, RedactedUri(uri));
}

// True for a UUIDv7 in the spelling of Uuid::ToString.
bool IsObjectName(const std::string& name) {
  Result<Uuid> uuid = Uuid::Parse(name);
  return uuid.ok() && uuid->version() == 7 && (uuid->bytes[8] & 0xC0) == 0x80 &&
         uuid->ToString() == name;
}

}  // namespace

Status CheckTenant(const std::string& tenant) {
  bool valid =
      !tenant.empty() && tenant.size() <= kMaxTenantBytes && IsAlphanumeric(tenant.front()) &&
      IsAlphanumeric(tenant.back()) &&
      std::ranges::all_of(tenant, [](char c) { return IsAlphanumeric(c) || c == '_' || c == '-'; });
  if (valid) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "not a tenant name (1 to 64 letters, digits, '_' and '-', with a letter or digit at "
               "both ends): {} bytes",
               tenant.size());
}

Result<std::string> ObjectNameInStage(std::string_view stage_uri, std::string_view tenant,
                                      const std::string& uri) {
  if (uri.starts_with("s3:")) {
    return Error(ErrorCode::kUnsupported,
                 "objects on S3 are not supported by this version of lake: '{}'", RedactedUri(uri));
  }
  Result<std::string> path = PathFromFileUri(uri);
  if (!path.ok()) {
    return Error(ErrorCode::kPermissionDenied, "the location is not in the managed stage, it is {}",
                 ErrorText(path.status()));
  }
  if (FileUriFromPath(*path) != uri) return Outside(uri, "it is not spelled as lake spells URIs");

  std::string_view rest = uri;
  if (!rest.starts_with(stage_uri)) return Outside(uri, "it lies elsewhere");
  rest.remove_prefix(stage_uri.size());
  if (!rest.starts_with(kTenants)) return Outside(uri, "it lies elsewhere");
  rest.remove_prefix(kTenants.size());
  size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return Outside(uri, "it names no object");
  if (rest.substr(0, slash) != tenant) return Outside(uri, "it belongs to another tenant");
  std::string name(rest.substr(slash + 1));
  if (!IsObjectName(name)) return Outside(uri, "it names no object");
  return name;
}

}  // namespace lake::objects
