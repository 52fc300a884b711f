#pragma once

namespace lake {

/// The version of this program, such as "0.1.0": the content of the file VERSION.
const char* LakeVersion();

}  // namespace lake
