#include "lake/service/payload_hash.h"

#include <fmt/format.h>

namespace lake::service {

PayloadHash::PayloadHash(std::string_view kind) { hash_.Update(kind); }

void PayloadHash::Add(std::string_view part) {
  hash_.Update(fmt::format("{}:", part.size()));
  hash_.Update(part);
}

}  // namespace lake::service
