#pragma once

#include <string_view>

#include <google/protobuf/message_lite.h>

#include "lake/base/error.h"

namespace lake::format {

/// Parses all of `bytes`, which came from storage. kCorrupt, naming `what`, if they are not such a
/// message. Prints nothing, unlike protobuf itself.
Status ParseMessage(std::string_view bytes, std::string_view what,
                    google::protobuf::MessageLite* message);

}  // namespace lake::format
