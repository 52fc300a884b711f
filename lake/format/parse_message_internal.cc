#include "lake/format/parse_message_internal.h"

#include <limits>

#include <google/protobuf/stubs/logging.h>

namespace lake::format {

Status ParseMessage(std::string_view bytes, std::string_view what,
                    google::protobuf::MessageLite* message) {
  // Otherwise protobuf writes a line to standard error for a string that is not UTF-8.
  static google::protobuf::LogHandler* const previous = google::protobuf::SetLogHandler(nullptr);
  (void)previous;
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error(ErrorCode::kCorrupt, "{} is not a protobuf message", what);
  }
  return Status::OK();
}

}  // namespace lake::format
