#pragma once

#include <memory>
#include <string>

#include "lake/objects/posix_calls.h"
#include "lake/objects/stage.h"
#include "lake/objects/unpublished_object.h"

namespace lake::objects {

/// The local stage of one tenant: `<root>/tenants/<tenant>/<uuidv7>`. The tenant's folder is held
/// open, and every object is reached from it by its one name, so that nothing that happens to the
/// path above can lead elsewhere.
class LocalStage : public Stage {
 public:
  /// As OpenLocalStage; `calls` outlives the stage.
  static Result<std::shared_ptr<LocalStage>> Open(const Context& context, LocalStageOptions options,
                                                  PosixCalls* calls = PosixCalls::Real());

  const std::string& uri() const override { return uri_; }
  const std::string& tenant() const override { return options_.tenant; }

  Result<DataLocation> Upload(const Context& context, ByteReader* source,
                              const UploadOptions& options) override;
  Result<DataLocation> UploadFile(const Context& context, const std::string& path,
                                  const UploadOptions& options) override;
  Status CancelUpload(const Context& context, const std::string& upload_id) override;
  Result<std::unique_ptr<ByteReader>> Open(const Context& context,
                                           const DataLocation& location) override;
  Result<std::unique_ptr<ByteReader>> OpenRange(const Context& context,
                                                const DataLocation& location, uint64_t start,
                                                uint64_t end) override;
  Result<std::string> PresignRead(const Context& context, const DataLocation& location) override;
  Status CheckContained(const DataLocation& location) const override;
  Status CheckExists(const Context& context, const DataLocation& location) override;

 private:
  LocalStage(LocalStageOptions options, PosixCalls* calls);

  // The object's name in the tenant's folder. No I/O.
  Result<std::string> NameOf(const DataLocation& location) const;
  Result<UniqueFd> OpenObject(const std::string& name, const DataLocation& location) const;

  const LocalStageOptions options_;
  const std::string uri_;
  PosixCalls* const calls_;
  OpenFolder tenant_folder_;
  OpenFolder temp_folder_;
};

}  // namespace lake::objects
