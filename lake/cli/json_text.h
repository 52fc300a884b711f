#pragma once

#include <string>

#include <boost/json.hpp>

namespace lake::cli {

/// `value` as indented JSON with a line end: what every `--json` prints.
std::string PrettyJson(const boost::json::value& value);

}  // namespace lake::cli
