#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lake/base/error.h"

namespace lake::service {

/// Content types by the ending of a file's name, as in Debian's package `media-types`. Immutable.
class ContentTypeTable {
 public:
  /// Reads the format of /etc/mime.types: a type, then the endings that mean it, '#' for comments.
  /// Where an ending stands at several types the first wins; lines of another form are passed over.
  static ContentTypeTable Parse(std::string_view text);

  /// The table of this machine: `mime.types` beside the program (`../share/lake/`, what `make dist`
  /// packages), else /etc/mime.types, else an empty one. Read once.
  static const ContentTypeTable& Default();

  /// The type for the last ending of `name` (a name or a path), any case;
  /// "application/octet-stream" for a name without ending, one that the table does not know, or a
  /// leading dot alone.
  std::string Guess(std::string_view name) const;

  size_t size() const { return types_.size(); }

 private:
  std::map<std::string, std::string, std::less<>> types_;  // by ending, lower case
};

/// ContentTypeTable::Default().Guess(name).
std::string GuessContentType(std::string_view name);

/// The part before the '/': "video" of "video/mp4".
std::string_view KindOfContentType(std::string_view content_type);

}  // namespace lake::service
