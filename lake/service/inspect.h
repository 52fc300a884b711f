#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "lake/base/context.h"

namespace lake::service {

/// What `lake inspect` tells about a path, as text of several lines and as JSON.
struct InspectReport {
  std::string text;
  boost::json::object json;
};

/// Explains a Lance data file, a manifest file (`*.manifest`) or a dataset's folder. Reads metadata
/// only and needs no data folder. kNotFound; kInvalidArgument for a folder that is no dataset;
/// kCorrupt as the readers give it.
Result<InspectReport> InspectPath(const Context& context, const std::string& path);

}  // namespace lake::service
