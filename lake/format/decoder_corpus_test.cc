// Replays the corpus of the fuzz targets (tests/corpus/), so that every build runs through what
// they found.

#include "lake/base/testing/corpus.h"
#include "lake/format/testing/decoder_inputs.h"
#include "lake/format/testing/file_inputs.h"
#include "lake/format/testing/v20_inputs.h"

namespace lake::format {
namespace {

struct Target {
  const char* name;
  void (*decode)(std::string_view);
};

void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

class DecoderCorpusTest : public testing::TestWithParam<Target> {};

TEST_P(DecoderCorpusTest, Replays) { ReplayCorpus(GetParam().name, GetParam().decode); }

constexpr Target kTargets[] = {{"container_fuzzer", DecodeFileInput},
                               {"column_metadata_fuzzer", DecodeColumnMetadataInput},
                               {"mini_block_fuzzer", DecodePageInput},
                               {"full_zip_fuzzer", DecodePageInput},
                               {"constant_page_fuzzer", DecodePageInput},
                               {"blob_page_fuzzer", DecodePageInput},
                               {"schema_fuzzer", DecodeSchemaInput},
                               {"inspect_fuzzer", DecodeInspectInput},
                               {"page_copy_fuzzer", DecodePageCopyInput},
                               {"block_fuzzer", DecodeBlockInput},
                               {"fsst_fuzzer", DecodeFsstInput},
                               {"jsonb_fuzzer", DecodeJsonbInput},
                               {"v20_page_fuzzer", DecodeV20PageInput},
                               {"v20_file_fuzzer", DecodeFileInput}};

INSTANTIATE_TEST_SUITE_P(All, DecoderCorpusTest, testing::ValuesIn(kTargets),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lake::format
