#include "lake/commit/file_references.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <openssl/evp.h>

#include "lake/objects/data_location.h"

namespace lake::commit {
namespace {

// A node of the set: digest, hash link and bucket.
constexpr int64_t kBytesPerReference = 48;
constexpr uint64_t kReferencesPerReservation = 16 * 1024;

std::vector<int> FileColumns(const arrow::Schema& schema) {
  std::vector<int> columns;
  for (int i = 0; i < schema.num_fields(); ++i) {
    if (objects::IsFileType(*schema.field(i)->type())) columns.push_back(i);
  }
  return columns;
}

}  // namespace

Status RefuseNestedFile(const arrow::Schema& schema) {
  for (const auto& field : schema.fields()) {
    if (!objects::IsFileType(*field->type()) && objects::ContainsNestedFile(*field->type())) {
      return Error(ErrorCode::kUnsupported,
                   "FILE stands only as a column of its own, not inside another type: column '{}'",
                   field->name());
    }
  }
  return Status::OK();
}

FileReferenceChecker::FileReferenceChecker(const arrow::Schema& schema,
                                           std::shared_ptr<objects::Stage> stage,
                                           bool provenance_proved, uint64_t max_references)
    : columns_(FileColumns(schema)),
      stage_(std::move(stage)),
      provenance_proved_(provenance_proved),
      max_references_(max_references) {}

size_t FileReferenceChecker::DigestHash::operator()(const Digest& digest) const {
  size_t hash;
  std::memcpy(&hash, digest.data(), sizeof(hash));
  return hash;
}

Status FileReferenceChecker::Check(const Context& context, const arrow::RecordBatch& batch) {
  for (int column : columns_) {
    ARROW_RETURN_NOT_OK(CheckColumn(context, batch.schema()->field(column)->name(),
                                    static_cast<const arrow::StructArray&>(*batch.column(column))));
  }
  return Status::OK();
}

Status FileReferenceChecker::CheckAll(const Context& context, const arrow::RecordBatch& batch) {
  for (int column : FileColumns(*batch.schema())) {
    ARROW_RETURN_NOT_OK(CheckColumn(context, batch.schema()->field(column)->name(),
                                    static_cast<const arrow::StructArray&>(*batch.column(column))));
  }
  return Status::OK();
}

Status FileReferenceChecker::CheckColumn(const Context& context, const std::string& name,
                                         const arrow::StructArray& column) {
  if (column.null_count() == column.length()) return Status::OK();
  if (!provenance_proved_) {
    return Error(ErrorCode::kPermissionDenied,
                 "FILE values are taken only from an upload or from a FILE column that the same "
                 "statement reads: column '{}'",
                 name);
  }
  for (int64_t row = 0; row < column.length(); ++row) {
    if (column.IsNull(row)) continue;
    Result<objects::DataLocation> location = objects::ReadDataLocation(column, row);
    if (!location.ok()) {
      return WithContext(location.status(), fmt::format("FILE column '{}'", name));
    }
    ARROW_ASSIGN_OR_RAISE(bool added, AddReference(context, *location));
    if (!added) continue;
    ARROW_RETURN_NOT_OK(WithContext(stage_->CheckExists(context, *location),
                                    fmt::format("FILE column '{}'", name)));
  }
  return Status::OK();
}

Result<bool> FileReferenceChecker::AddReference(const Context& context,
                                                const objects::DataLocation& location) {
  // Lengths before texts, so that no two values have one encoding.
  const std::string encoded =
      fmt::format("{}:{}:{}:{}:{}{}{}", location.uri.size(), location.content_type.size(),
                  location.sha256.size(), location.size_bytes, location.uri, location.content_type,
                  location.sha256);
  std::array<uint8_t, 32> sha256;
  if (EVP_Digest(encoded.data(), encoded.size(), sha256.data(), nullptr, EVP_sha256(), nullptr) !=
      1) {
    return MakeError(ErrorCode::kInternal, "SHA-256 failed");
  }
  Digest digest;
  std::copy_n(sha256.begin(), digest.size(), digest.begin());
  if (checked_.contains(digest)) return false;

  if (checked_.size() >= max_references_) {
    return Error(ErrorCode::kInvalidArgument,
                 "too many different FILE values in one write, at most {} are allowed: split it",
                 max_references_);
  }
  if (checked_.size() % kReferencesPerReservation == 0) {
    const auto bytes =
        static_cast<int64_t>(checked_.size() + kReferencesPerReservation) * kBytesPerReference;
    if (checked_.empty()) {
      ARROW_ASSIGN_OR_RAISE(memory_, context.memory->Reserve(bytes, "FILE references of a write"));
    } else {
      ARROW_RETURN_NOT_OK(memory_.Resize(bytes));
    }
  }
  checked_.insert(digest);
  return true;
}

}  // namespace lake::commit
