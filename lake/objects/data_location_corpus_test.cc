#include "lake/base/testing/corpus.h"
#include "lake/objects/testing/location_input.h"

namespace lake::objects {
namespace {

TEST(DataLocationCorpusTest, Replays) { ReplayCorpus("data_location_fuzzer", DecodeLocationInput); }

}  // namespace
}  // namespace lake::objects
