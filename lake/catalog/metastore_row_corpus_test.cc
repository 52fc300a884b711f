#include "lake/base/testing/corpus.h"
#include "lake/catalog/testing/row_inputs_internal.h"

namespace lake::catalog::sqlite {
namespace {

TEST(MetastoreRowCorpusTest, Replays) { ReplayCorpus("metastore_row_fuzzer", DecodeRowInput); }

}  // namespace
}  // namespace lake::catalog::sqlite
