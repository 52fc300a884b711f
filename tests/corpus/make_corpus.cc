// Writes the first inputs of the fuzz targets: lake_make_corpus FOLDER
//
// FOLDER/<target>/ gets the fixtures of tests/fixtures/, taken apart into what each target is fed
// with. Runs in the root of the source tree. The corpus in this folder was made so; inputs that
// once crashed a target are added by hand.

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <fmt/core.h>

#include "lake/format/column_metadata_internal.h"
#include "lake/format/container.h"
#include "lake/format/file_reader.h"
#include "lake/format/jsonb.h"
#include "lake/format/schema_internal.h"
#include "lake/format/testing/decoder_inputs.h"
#include "lake/format/testing/fixtures.h"
#include "lake/format/testing/v20_inputs.h"
#include "lake/table/deletion_vector.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/row_id_sequence.h"
#include "lake/table/testing/fake_table_internal.h"
#include "lake/table/testing/table_inputs_internal.h"
#include "lake/table/transaction_internal.h"

#include "written_files.h"

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
  const char* const target = page.layout.has_blob()         ? "blob_page_fuzzer"
                             : page.layout.has_mini_block() ? "mini_block_fuzzer"
                             : page.layout.has_full_zip()   ? "full_zip_fuzzer"
                                                            : "constant_page_fuzzer";
  corpus.Add(target, name, EncodePageInput(number, nesting, page, buffers));
  if (page.layout.has_blob() && nesting == 0) {
    // The same in a list, which is refused.
    PageMetadata in_list = page;
    in_list.layout.mutable_blob()->add_layers(pb::ALL_VALID_LIST);
    corpus.Add(target, name + "-list", EncodePageInput(number, 2, in_list, buffers));
  }
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

// What takes a whole file needs only some of them.
void AddFile(const CorpusWriter& corpus, const Fixture& fixture, size_t number) {
  if (fixture.bytes.size() > kMaxInput / 2) return;
  if (number % 3 == 0) corpus.Add("inspect_fuzzer", fixture.name, fixture.bytes);
  if (number % 5 == 0) corpus.Add("page_copy_fuzzer", fixture.name, fixture.bytes);
}

void AddFixture(const CorpusWriter& corpus, const Fixture& fixture) {
  const std::string& bytes = fixture.bytes;
  corpus.Add("container_fuzzer", fixture.name, bytes);
  const auto opened = OpenBytes(bytes);
  if (!opened.ok()) return;
  const auto& reader = *opened;
  pb::Schema schema;
  SchemaToMessage(reader->schema(), &schema);
  corpus.Add("schema_fuzzer", fixture.name, schema.SerializeAsString());
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

namespace {

using lake::format::CorpusWriter;
namespace fs = std::filesystem;

// Values of all kinds, as upstream stored them.
void AddJson(const CorpusWriter& corpus) {
  int number = 0;
  for (const char* text :
       {"[1,-129,1.5,null,true,false,\"a\\n\"]", "{\"b\":{\"c\":[]},\"a\":0}", "7"}) {
    std::string jsonb;
    if (lake::format::AppendJsonb(text, &jsonb).ok()) {
      corpus.Add("jsonb_fuzzer", fmt::format("value-{}", number++), jsonb);
    }
  }
}

std::string FileBytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Names of types and schemas that no fixture has.
void AddTypes(const CorpusWriter& corpus) {
  int number = 0;
  for (const char* name :
       {"timestamp:us:-", "timestamp:ns:Europe/Berlin", "fixed_size_list:lance.bfloat16:4",
        "dict:string:int8:false", "dict:int64:uint16:true", "fixed_size_binary:16",
        "decimal:256:60:4", "duration:ns", "time:ns", "date64:ms", "list", "large_list.struct",
        "fixed_size_list:fixed_size_list:int8:2:3", "map", "struct", "halffloat", "2.2"}) {
    corpus.Add("schema_fuzzer", fmt::format("name-{}", number++), name);
  }
  number = 0;
  for (const lake::format::Schema& schema : lake::format::RareSchemas()) {
    lake::format::pb::Schema message;
    lake::format::SchemaToMessage(schema, &message);
    corpus.Add("schema_fuzzer", fmt::format("rare-{}", number++), message.SerializeAsString());
  }
}

// What upstream's tables hold beside their data.
void AddTable(const CorpusWriter& corpus, const fs::path& folder) {
  const std::string name = folder.parent_path().filename();
  std::string keys;
  // The last transaction, and the last one that made an index.
  std::string transaction;
  std::string index;
  int number = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string key = fs::relative(entry.path(), folder);
    const std::string bytes = FileBytes(entry.path());
    keys += key + "\n";
    if (key.ends_with(".txn")) {
      const std::string mine = std::exchange(transaction, bytes);
      for (const std::string& other : {mine, index}) {
        if (other.empty() || other.size() > UINT16_MAX) continue;
        corpus.Add("transaction_fuzzer", fmt::format("{}-{}", name, number++),
                   lake::table::EncodeTransactionInput(other, bytes));
      }
      const auto message = lake::table::ParseTransaction(bytes);
      if (message && message->has_create_index()) index = bytes;
    } else if (key.ends_with(".manifest")) {
      const auto manifest = lake::table::ManifestFile::Decode(bytes, key);
      if (!manifest.ok() || !(*manifest)->index_section().ok()) continue;
      corpus.Add("table_key_fuzzer", fmt::format("{}-{}", name, number++), bytes);
      if (const auto& section = *(*manifest)->index_section()) {
        corpus.Add("index_section_fuzzer", fmt::format("{}-{}", name, number++), *section);
      }
    }
  }
  corpus.Add("table_key_fuzzer", name, keys);
}

// Versions over the files that a dataset input finds, each with something else to it.
void AddDatasets(const CorpusWriter& corpus) {
  namespace table = lake::table;
  const table::FakeSurroundings surroundings;
  const lake::Context& context = surroundings.context();
  const auto& files = table::DatasetInputFiles();
  const std::string first =
      table::BuildManifest(table::MakeCreate(context, table::SmallSchema()), nullptr, "", 1)
          .ValueOrDie();
  table::pb::Manifest message = table::ManifestFile::Decode(first, "").ValueOrDie()->message();
  message.set_version(2);
  message.set_max_fragment_id(1);
  uint64_t id = 0;
  for (const char* key : {"a.lance", "b.lance"}) {
    table::pb::DataFragment* fragment = message.add_fragments();
    fragment->set_id(id++);
    fragment->set_physical_rows(10);
    table::pb::DataFile* file = fragment->add_files();
    file->set_path(key);
    file->set_file_major_version(2);
    file->set_file_minor_version(2);
    file->set_file_size_bytes(files.at(std::string("data/") + key).size());
    for (int32_t field : {0, 1}) {
      file->add_fields(field);
      file->add_column_indices(field);
    }
  }
  auto add = [&](const char* name, const std::optional<std::string>& section = {}) {
    corpus.Add("dataset_fuzzer", name, table::EncodeManifest(message, section, "").ValueOrDie());
  };
  add("plain");
  table::pb::IndexSection section;
  table::pb::IndexMetadata* index = section.add_indices();
  index->set_name("i");
  index->mutable_uuid()->set_uuid(std::string(16, 'u'));
  index->add_fields(0);
  index->set_fragment_bitmap(
      table::DeletionVector::FromSortedRows(std::vector<uint32_t>{0, 1}).ToBitmap());
  add("index", section.SerializeAsString());
  for (const bool is_bitmap : {true, false}) {
    auto* deleted = message.mutable_fragments(is_bitmap ? 0 : 1)->mutable_deletion_file();
    deleted->set_file_type(is_bitmap ? table::pb::DeletionFile::BITMAP
                                     : table::pb::DeletionFile::ARROW_ARRAY);
    deleted->set_read_version(1);
    deleted->set_id(is_bitmap ? 5 : 6);
    deleted->set_num_deleted_rows(2);
  }
  message.set_reader_feature_flags(1);
  message.set_writer_feature_flags(1);
  add("deletions");
  message.set_reader_feature_flags(3);
  message.set_writer_feature_flags(3);
  message.set_next_row_id(20);
  for (table::pb::DataFragment& fragment : *message.mutable_fragments()) {
    table::RowIdSequence ids;
    ids.Append(fragment.id() * 10, 10);
    fragment.set_inline_row_ids(ids.Encode());
  }
  add("row-ids");
  (*message.mutable_config())["a"] = "b";
  table::pb::Manifest::BasePath* base = message.add_base_paths();
  base->set_id(3);
  base->set_path("/elsewhere");
  base->set_is_dataset_root(true);
  message.mutable_fragments(1)->mutable_files(0)->set_base_id(3);
  add("bases", section.SerializeAsString());
}

void AddSmallTexts(const CorpusWriter& corpus) {
  corpus.Add("folder_identity_fuzzer", "small",
             "{\"format_version\":1,\"deployment_id\":\"01890a5d-ac96-774b-bcce-b302099a8057\","
             "\"stage_uri\":\"file:///lake/managed-objects\",\"more\":[1]}");
  const std::string row =
      "7\n01890a5d-ac96-774b-bcce-b302099a8057\nmain\nt\n{}\n{}\n{}\n0\ntables/main/t/"
      "x.lance\n3\n{}\n"
      "{}\n1\n2\n3\n4\n5\ndropped";
  const char* const uuid = "01890a5d-ac96-774b-bcce-b302099a8058";
  corpus.Add("metastore_row_fuzzer", "live",
             fmt::format(fmt::runtime(row), "table", "lance", "live", uuid, "{\"a\":\"b\"}"));
  corpus.Add("metastore_row_fuzzer", "creating",
             fmt::format(fmt::runtime(row), "view", "other", "creating", "", "{}"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: lake_make_corpus FOLDER\n");
    return 2;
  }
  const lake::format::CorpusWriter corpus(argv[1]);
  size_t number = 0;
  for (const auto& fixture : lake::format::Fixtures()) {
    lake::format::AddFixture(corpus, fixture);
    lake::format::AddFile(corpus, fixture, number++);
  }
  for (const auto& file : lake::format::WrittenFiles()) AddFixture(corpus, file);
  AddJson(corpus);
  AddTypes(corpus);
  for (const auto& table : fs::directory_iterator("tests/fixtures/tables")) {
    AddTable(corpus, table.path() / "dataset");
  }
  AddDatasets(corpus);
  AddSmallTexts(corpus);
  return 0;
}
