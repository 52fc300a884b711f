#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lake/base/context.h"
#include "lake/base/unique_fd.h"
#include "lake/storage/publish_file.h"

namespace lake::storage {

/// The bytes of an object that has no name yet. Destruction removes them if they were not
/// published. Not thread-safe.
class TemporaryObject {
 public:
  /// Makes an empty one for `key` below `root`, and the folders of the key. The bytes lie in the
  /// folder `temp_dir`, or beside the target if that is negative; `temp_dir` outlives the object.
  static Result<std::unique_ptr<TemporaryObject>> Make(const Context& context, int root,
                                                       int temp_dir, const std::string& key);
  ~TemporaryObject();

  const std::string& key() const { return key_; }

  /// Adds `bytes` at the end.
  Status Append(std::string_view bytes);

  int descriptor() const { return fd_.get(); }

  /// True once all bytes were made durable; LocalSync says when.
  bool synced() const { return synced_; }
  void MarkSynced() { synced_ = true; }

  /// Gives the object its name: see StagedObject::Publish.
  Status Publish(PutCondition condition);

 private:
  explicit TemporaryObject(std::string key) : key_(std::move(key)) {}

  const std::string key_;
  UniqueFd target_folder_;
  UniqueFd fd_;
  FileName temporary_;
  bool published_ = false;
  bool synced_ = false;
};

/// Writes all of `bytes` to `fd`; `key` is for the error text.
Status WriteFully(int fd, std::string_view bytes, const std::string& key);

}  // namespace lake::storage
