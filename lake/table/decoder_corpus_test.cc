// Replays the corpus of the fuzz targets of this module (tests/corpus/).

#include "lake/base/testing/corpus.h"
#include "lake/table/testing/table_inputs_internal.h"

namespace lake::table {
namespace {

struct Target {
  const char* name;
  void (*decode)(std::string_view);
};

void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

class TableCorpusTest : public testing::TestWithParam<Target> {};

TEST_P(TableCorpusTest, Replays) { ReplayCorpus(GetParam().name, GetParam().decode); }

constexpr Target kTargets[] = {
    {"manifest_fuzzer", DecodeManifestInput},
    {"ref_fuzzer", DecodeRefInput},
    {"row_ids_fuzzer", DecodeRowIdsInput},
    {"deletion_fuzzer", DecodeDeletionInput},
    {"transaction_fuzzer", DecodeTransactionInput},
    {"index_section_fuzzer", DecodeIndexSectionInput},
    {"table_key_fuzzer", DecodeTableKeyInput},
    {"dataset_fuzzer", DecodeDatasetInput},
};

INSTANTIATE_TEST_SUITE_P(All, TableCorpusTest, testing::ValuesIn(kTargets),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lake::table
