#include "lake/cli/json_text.h"

#include <cstddef>

namespace lake::cli {
namespace {

void Append(const boost::json::value& value, size_t depth, std::string* out) {
  auto new_line = [out](size_t levels) {
    out->push_back('\n');
    out->append(2 * levels, ' ');
  };
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    out->push_back('{');
    bool first = true;
    for (const auto& [key, member] : *object) {
      if (!first) out->push_back(',');
      first = false;
      new_line(depth + 1);
      out->append(boost::json::serialize(boost::json::string(key)));
      out->append(": ");
      Append(member, depth + 1, out);
    }
    new_line(depth);
    out->push_back('}');
  } else if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
    out->push_back('[');
    for (size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out->push_back(',');
      new_line(depth + 1);
      Append((*array)[i], depth + 1, out);
    }
    new_line(depth);
    out->push_back(']');
  } else {
    out->append(boost::json::serialize(value));
  }
}

}  // namespace

std::string PrettyJson(const boost::json::value& value) {
  std::string out;
  Append(value, 0, &out);
  out.push_back('\n');
  return out;
}

}  // namespace lake::cli
