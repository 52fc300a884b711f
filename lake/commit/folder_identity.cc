#include "lake/commit/folder_identity.h"

#include <string_view>

#include <arrow/buffer.h>
#include <boost/json.hpp>

namespace lake::commit {
namespace {

constexpr uint64_t kMaxIdentityBytes = 64 * 1024;
constexpr char kFormatVersion[] = "format_version";
constexpr char kDeploymentId[] = "deployment_id";
constexpr char kStageUri[] = "stage_uri";

Status Corrupt(std::string_view reason) {
  return Error(ErrorCode::kCorrupt, "lake.json cannot be read, restore it from a copy: {}", reason);
}

Result<std::string> TextMember(const boost::json::object& object, const char* name) {
  const boost::json::value* member = object.if_contains(name);
  if (member == nullptr || !member->is_string()) {
    return Corrupt(fmt::format("member {} is missing or no text", name));
  }
  return std::string(member->get_string());
}

}  // namespace

std::string FolderIdentity::Encode(std::string_view previous) const {
  boost::json::object object;
  boost::system::error_code error;
  boost::json::value parsed = boost::json::parse(previous, error);
  if (!error && parsed.is_object()) object = parsed.get_object();
  object[kFormatVersion] = kFolderFormatVersion;
  object[kDeploymentId] = deployment_id.ToString();
  object[kStageUri] = stage_uri;
  return boost::json::serialize(object) + "\n";
}

Result<FolderIdentity> FolderIdentity::Decode(std::string_view text) {
  boost::system::error_code error;
  boost::json::value parsed = boost::json::parse(text, error);
  if (error) return Corrupt("it is not JSON: " + error.message());
  if (!parsed.is_object()) return Corrupt("it is not a JSON object");
  const boost::json::object& object = parsed.get_object();

  // First of all: a newer format may spell the rest in another way.
  const boost::json::value* version = object.if_contains(kFormatVersion);
  if (version == nullptr || !version->is_int64() || version->get_int64() < 1) {
    return Corrupt("member format_version is missing or no positive number");
  }
  if (version->get_int64() > kFolderFormatVersion) {
    return Error(ErrorCode::kUnsupported,
                 "data folder is newer than this program: format version {}, this program knows up "
                 "to {}; use a newer lake",
                 version->get_int64(), kFolderFormatVersion);
  }
  FolderIdentity identity;
  ARROW_ASSIGN_OR_RAISE(std::string deployment, TextMember(object, kDeploymentId));
  Result<Uuid> uuid = Uuid::Parse(deployment);
  if (!uuid.ok()) return Corrupt("member deployment_id is no UUID");
  identity.deployment_id = *uuid;
  ARROW_ASSIGN_OR_RAISE(identity.stage_uri, TextMember(object, kStageUri));
  if (identity.stage_uri.empty()) return Corrupt("member stage_uri is empty");
  return identity;
}

Result<std::optional<FolderIdentity>> ReadIdentity(const Context& context,
                                                   storage::ObjectStore* store) {
  Result<std::shared_ptr<arrow::Buffer>> bytes =
      store->GetAll(context, kIdentityKey, kMaxIdentityBytes);
  if (!bytes.ok()) {
    if (CodeOf(bytes.status()) == ErrorCode::kNotFound) return std::nullopt;
    return bytes.status();
  }
  Result<FolderIdentity> identity = FolderIdentity::Decode(std::string_view(
      reinterpret_cast<const char*>((*bytes)->data()), static_cast<size_t>((*bytes)->size())));
  if (!identity.ok()) return WithContext(identity.status(), store->description());
  return std::optional<FolderIdentity>(*std::move(identity));
}

Result<FolderIdentity> CreateIdentity(const Context& context, storage::ObjectStore* store,
                                      const std::string& stage_uri) {
  FolderIdentity identity{.deployment_id = Uuid::NewV7(context), .stage_uri = stage_uri};
  Status put =
      store->Put(context, kIdentityKey, identity.Encode(), storage::PutCondition::kIfAbsent);
  if (!put.ok() && CodeOf(put) != ErrorCode::kPreconditionFailed) return put;
  const std::string keys[] = {kIdentityKey};
  ARROW_RETURN_NOT_OK(store->Sync(context, keys, {}));
  ARROW_ASSIGN_OR_RAISE(std::optional<FolderIdentity> standing, ReadIdentity(context, store));
  if (!standing.has_value()) {
    return Error(ErrorCode::kIo, "lake.json vanished while the data folder was made: {}",
                 store->description());
  }
  return *std::move(standing);
}

}  // namespace lake::commit
