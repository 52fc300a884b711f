#include "lake/base/version.h"

namespace lake {

const char* LakeVersion() { return LAKE_VERSION; }

}  // namespace lake
