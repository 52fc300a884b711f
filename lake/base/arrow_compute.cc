#include "lake/base/arrow_compute.h"

#include <arrow/compute/initialize.h>

namespace lake {

Status InitializeArrowCompute() {
  static const Status initialized = arrow::compute::Initialize();
  return initialized;
}

}  // namespace lake
