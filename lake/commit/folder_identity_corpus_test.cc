#include "lake/base/testing/corpus.h"
#include "lake/commit/testing/identity_input.h"

namespace lake::commit {
namespace {

TEST(FolderIdentityCorpusTest, Replays) {
  ReplayCorpus("folder_identity_fuzzer", DecodeIdentityInput);
}

}  // namespace
}  // namespace lake::commit
