#pragma once

#include <string>

#include "lake/base/error.h"
#include "lake/storage/object_store.h"

namespace lake::storage {

/// A file by the folder that it is in and its name.
struct FileName {
  int folder = -1;
  std::string name;
};

/// The system calls that give a file its name, as they are in the kernel (0, or -1 and errno).
/// Tests put others in their place to play file systems that lack them.
struct PublishCalls {
  int (*link)(const FileName& from, const FileName& to);
  int (*rename_no_replace)(const FileName& from, const FileName& to);
  int (*rename)(const FileName& from, const FileName& to);
};
const PublishCalls& SystemPublishCalls();

/// Gives the file `from` the name `to` instead, atomically. With kIfAbsent never over an existing
/// file: link(2), else renameat2(RENAME_NOREPLACE), else kUnsupported; kPreconditionFailed if the
/// name is taken. `key` is for error texts.
Status PublishFile(const PublishCalls& calls, const FileName& from, const FileName& to,
                   PutCondition condition, const std::string& key);

}  // namespace lake::storage
