// Writes the first inputs of the fuzz targets: lake_make_corpus FOLDER
//
// FOLDER/<target>/ gets the fixtures of tests/fixtures/files/, taken apart into what each target is
// fed with. The corpus in this folder was made so; inputs that once crashed a target are added by
// hand.

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/api.h>
#include <fmt/core.h>

#include "lake/format/column_metadata_internal.h"
#include "lake/format/container.h"
#include "lake/format/file_reader.h"
#include "lake/format/jsonb.h"
#include "lake/format/testing/decoder_inputs.h"
#include "lake/format/testing/fixtures.h"
#include "lake/format/testing/v20_inputs.h"

namespace lake::format {
namespace {

// Larger inputs make a fuzzer slow and teach it nothing.
constexpr size_t kMaxInput = 16000;

class CorpusWriter {
 public:
  explicit CorpusWriter(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void Add(const std::string& target, const std::string& name, const std::string& bytes) const {
    if (bytes.size() > kMaxInput) return;
    std::filesystem::create_directories(folder_ / target);
    std::ofstream(folder_ / target / name, std::ios::binary) << bytes;
  }

 private:
  const std::filesystem::path folder_;
};

const pb::CompressiveEncoding* ValuesOf(const pb::PageLayout& layout) {
  return layout.has_mini_block() ? &layout.mini_block().value_compression()
                                 : &layout.full_zip().value_compression();
}

void AddPage(const CorpusWriter& corpus, const std::string& name, const std::string& type,
             uint8_t nesting, const PageMetadata& page, std::string_view file) {
  const auto types = PageInputTypes();
  uint8_t number = 0;
  while (number < types.size() && types[number] != type) ++number;
  if (number == types.size()) return;
  std::string buffers;
  for (const ByteRange& buffer : page.buffers) buffers += file.substr(buffer.offset, buffer.length);
  const char* const target = page.layout.has_mini_block() || page.layout.has_blob()
                                 ? "mini_block_fuzzer"
                             : page.layout.has_full_zip() ? "full_zip_fuzzer"
                                                          : "constant_page_fuzzer";
  corpus.Add(target, name, EncodePageInput(number, nesting, page, buffers));
  if (page.layout.has_constant() || page.layout.has_blob()) return;
  if (const auto* values = ValuesOf(page.layout); values->has_fsst()) {
    std::string input;
    AppendLittle<uint16_t>(static_cast<uint16_t>(values->fsst().symbol_table().size()), &input);
    corpus.Add("fsst_fuzzer", name,
               input + values->fsst().symbol_table() + buffers.substr(buffers.size() / 2, 200));
  }
  if (nesting > 1) return;
  if (page.layout.has_mini_block() && page.layout.mini_block().has_dictionary() &&
      !type.starts_with("dict:bool")) {
    const auto& layout = page.layout.mini_block();
    const bool strings = type.find("string") != type.npos || type.find("binary") != type.npos;
    const uint8_t bits = strings                                               ? 0
                         : type.find("int64") != type.npos || type == "double" ? 64
                                                                               : 128;
    corpus.Add("block_fuzzer", name,
               EncodeBlockInput(bits, static_cast<uint32_t>(layout.num_dictionary_items()),
                                layout.dictionary(),
                                file.substr(page.buffers[2].offset, page.buffers[2].length)));
  }
  if (page.layout.has_mini_block() && page.layout.mini_block().has_def_compression()) {
    // The levels of the first chunk.
    const auto& layout = page.layout.mini_block();
    const std::string_view chunk = file.substr(page.buffers[1].offset, page.buffers[1].length);
    const size_t header = 4 + layout.num_buffers() * (layout.has_large_chunk() ? 4 : 2);
    corpus.Add("block_fuzzer", name + "-levels",
               EncodeBlockInput(
                   16, LoadLittle<uint16_t>(chunk.data()), layout.def_compression(),
                   chunk.substr((header + 7) / 8 * 8, LoadLittle<uint16_t>(chunk.data() + 2))));
  }
}

constexpr uint8_t kOtherNesting = 255;

struct Leaf {
  const Field* field;
  // Into PageInputNestings.
  uint8_t nesting;
};

// `around` goes from the outside in.
void AppendLeaves(const Field& field, std::vector<NestingLayer::Kind> around,
                  std::vector<Leaf>* leaves) {
  if (!field.is_leaf()) {
    around.push_back(field.logical_type == "struct" || field.logical_type.starts_with("fixed_")
                         ? NestingLayer::Kind::kItem
                         : NestingLayer::Kind::kList);
    for (const Field& child : field.children) AppendLeaves(child, around, leaves);
    return;
  }
  Leaf leaf{&field, kOtherNesting};
  const auto nestings = PageInputNestings();
  for (size_t i = 0; i < nestings.size(); ++i) {
    const auto& layers = nestings[i].layers;
    bool equal = layers.size() == around.size();
    for (size_t j = 0; equal && j < layers.size(); ++j) {
      equal = layers[j].kind == around[around.size() - 1 - j];
    }
    if (equal) leaf.nesting = static_cast<uint8_t>(i);
  }
  leaves->push_back(leaf);
}

// The type of equal layout that page inputs have.
std::string InputType(const Field& field) {
  const std::string& type = field.logical_type;
  if (field.is_blob_v1()) return "blob";
  if (field.is_packed()) return "packed";
  if (type == "uint8") return "int8";
  if (type == "uint16") return "int16";
  if (type == "uint32" || type == "float") return "int32";
  if (type == "date64:ms") return "int64";
  if (type.starts_with("decimal:128")) return "decimal:128:38:0";
  if (type.starts_with("decimal:256")) return "decimal:256:76:0";
  return type;
}

// Files of version 2.0 are taken apart by pages.
void AddV20Fixture(const CorpusWriter& corpus, const Fixture& fixture,
                   const std::vector<ByteRange>& table) {
  const std::string_view file = fixture.bytes;
  corpus.Add("v20_file_fuzzer", fixture.name, fixture.bytes);
  const auto types = V20PageInputTypes();
  for (size_t column = 0; column < table.size(); ++column) {
    const auto metadata =
        V20Column::DecodeFrom(file.substr(table[column].offset, table[column].length), file.size())
            .ValueOrDie();
    if (metadata.pages.empty() || column % 3 != 0) continue;
    const V20Page& page = metadata.pages[0];
    std::string buffers;
    for (const ByteRange& buffer : page.buffers)
      buffers += file.substr(buffer.offset, buffer.length);
    for (uint8_t type = 0; type < types.size(); ++type) {
      const bool is_list = std::string_view(types[type]) == "list";
      if (page.encoding.has_list() != is_list) continue;
      const bool is_struct = std::string_view(types[type]) == "struct";
      if (page.encoding.has_packed_struct() != is_struct) continue;
      corpus.Add("v20_page_fuzzer", fmt::format("{}-{}-{}", fixture.name, column, type),
                 EncodeV20PageInput(type, page, buffers));
    }
  }
}

void AddFixture(const CorpusWriter& corpus, const Fixture& fixture) {
  const std::string& bytes = fixture.bytes;
  corpus.Add("container_fuzzer", fixture.name, bytes);
  const auto opened = OpenBytes(bytes);
  if (!opened.ok()) return;
  const auto& reader = *opened;
  const std::string_view file = bytes;
  const FileFooter footer =
      FileFooter::DecodeFrom(file.substr(file.size() - kFooterSize), file.size(), "").ValueOrDie();
  const auto table =
      DecodeOffsetTable(file.substr(footer.column_table_start, footer.column_table().length),
                        file.size(), "", "")
          .ValueOrDie();
  if (reader->version() == kFileVersion20) return AddV20Fixture(corpus, fixture, table);
  std::vector<Leaf> leaves;
  for (const Field& field : reader->schema().fields) AppendLeaves(field, {}, &leaves);
  for (size_t column = 0; column < leaves.size() && column < table.size(); ++column) {
    const std::string_view block = file.substr(table[column].offset, table[column].length);
    const auto metadata = ColumnMetadata::DecodeFrom(block, file.size(), reader->num_rows());
    if (!metadata.ok()) continue;
    std::string input;
    AppendLittle<uint32_t>(static_cast<uint32_t>(file.size()), &input);
    AppendLittle<uint32_t>(static_cast<uint32_t>(reader->num_rows()), &input);
    const std::string name = fmt::format("{}-{}", fixture.name, column);
    corpus.Add("column_metadata_fuzzer", name, input + std::string(block));
    if (leaves[column].nesting == kOtherNesting) continue;
    for (const PageMetadata& page : metadata->pages) {
      AddPage(corpus, name, InputType(*leaves[column].field), leaves[column].nesting, page, file);
    }
  }
}

}  // namespace
}  // namespace lake::format

// Values of all kinds, as upstream stored them.
void AddJson(const lake::format::CorpusWriter& corpus) {
  int number = 0;
  for (const char* text :
       {"[1,-129,1.5,null,true,false,\"a\\n\"]", "{\"b\":{\"c\":[]},\"a\":0}", "7"}) {
    std::string jsonb;
    if (lake::format::AppendJsonb(text, &jsonb).ok()) {
      corpus.Add("jsonb_fuzzer", fmt::format("value-{}", number++), jsonb);
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: lake_make_corpus FOLDER\n");
    return 2;
  }
  const lake::format::CorpusWriter corpus(argv[1]);
  for (const auto& fixture : lake::format::Fixtures()) lake::format::AddFixture(corpus, fixture);
  AddJson(corpus);
  return 0;
}
