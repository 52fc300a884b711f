#pragma once

#include <memory>

#include "lake/storage/object_store.h"

namespace lake::storage {

/// A store in memory, for tests and for small scratch work. Nothing survives the process.
std::shared_ptr<ObjectStore> MakeMemoryStore();

}  // namespace lake::storage
