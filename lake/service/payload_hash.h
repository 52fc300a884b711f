#pragma once

#include <string>
#include <string_view>

#include "lake/objects/sha256.h"

namespace lake::service {

/// The digest of all that an operation was asked for (commit::OperationKey): parts in order, each
/// with its length, so that no two lists of parts have the same. Not thread-safe.
class PayloadHash {
 public:
  /// `kind` tells operations of one kind from others, such as "lake.sql.v1".
  explicit PayloadHash(std::string_view kind);

  void Add(std::string_view part);
  /// SHA-256 in hexadecimal digits. Nothing may be added afterwards.
  std::string Finish() { return hash_.Finish(); }

 private:
  objects::Sha256 hash_;
};

}  // namespace lake::service
