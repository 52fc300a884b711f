#include "lake/format/describe_page_internal.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lake::format {
namespace {

using Encoding = pb::CompressiveEncoding;

std::string DescribeEncoding(const Encoding& encoding);
void DescribeLayout(const pb::PageLayout& layout, PageDescription* page);

std::string SchemeName(const pb::BufferCompression& compression) {
  switch (compression.scheme()) {
    case pb::BufferCompression::LZ4:
      return "lz4";
    case pb::BufferCompression::ZSTD:
      return "zstd";
    default:
      return "unknown compression";
  }
}

std::string DescribePacked(const pb::PackedStruct& packed) {
  return fmt::format("packed_struct({}; {})", fmt::join(packed.bits_per_value(), " + "),
                     DescribeEncoding(packed.values()));
}

std::string DescribePacked(const pb::VariablePackedStruct& packed) {
  std::string fields;
  for (const auto& field : packed.fields()) {
    if (!fields.empty()) fields += ", ";
    fields += DescribeEncoding(field.value());
  }
  return "variable_packed_struct(" + fields + ")";
}

std::string DescribeEncoding(const Encoding& encoding) {
  switch (encoding.compression_case()) {
    case Encoding::kFlat:
      return fmt::format("flat({})", encoding.flat().bits_per_value());
    case Encoding::kVariable:
      return fmt::format("variable({})", DescribeEncoding(encoding.variable().offsets()));
    case Encoding::kConstant:
      return "constant";
    case Encoding::kOutOfLineBitpacking: {
      const pb::OutOfLineBitpacking& packed = encoding.out_of_line_bitpacking();
      return fmt::format("out_of_line_bitpacking({} -> {})", packed.uncompressed_bits_per_value(),
                         packed.values().flat().bits_per_value());
    }
    case Encoding::kInlineBitpacking:
      return fmt::format("inline_bitpacking({})",
                         encoding.inline_bitpacking().uncompressed_bits_per_value());
    case Encoding::kFsst:
      return fmt::format("fsst({})", DescribeEncoding(encoding.fsst().values()));
    case Encoding::kDictionary:
      return fmt::format("dictionary({}, {})", DescribeEncoding(encoding.dictionary().indices()),
                         DescribeEncoding(encoding.dictionary().items()));
    case Encoding::kRle:
      return fmt::format("rle({}, {})", DescribeEncoding(encoding.rle().values()),
                         DescribeEncoding(encoding.rle().run_lengths()));
    case Encoding::kByteStreamSplit:
      return fmt::format("byte_stream_split({})",
                         DescribeEncoding(encoding.byte_stream_split().values()));
    case Encoding::kGeneral:
      return fmt::format("{}({})", SchemeName(encoding.general().compression()),
                         DescribeEncoding(encoding.general().values()));
    case Encoding::kFixedSizeList: {
      const pb::FixedSizeList& list = encoding.fixed_size_list();
      return fmt::format("fixed_size_list({} x {}{})", list.items_per_value(),
                         DescribeEncoding(list.values()),
                         list.has_validity() ? ", nullable items" : "");
    }
    case Encoding::kPackedStruct:
      return DescribePacked(encoding.packed_struct());
    case Encoding::kVariablePackedStruct:
      return DescribePacked(encoding.variable_packed_struct());
    case Encoding::kRange:
      return fmt::format("range({} + i * {})", encoding.range().start(), encoding.range().step());
    case Encoding::kDelta:
      return fmt::format("delta({})", DescribeEncoding(encoding.delta().deltas()));
    case Encoding::COMPRESSION_NOT_SET:
      break;
  }
  return "unknown encoding";
}

std::string LayerName(int layer) {
  switch (layer) {
    case pb::ALL_VALID_ITEM:
      return "item";
    case pb::ALL_VALID_LIST:
      return "list";
    case pb::NULLABLE_ITEM:
      return "nullable item";
    case pb::NULLABLE_LIST:
      return "nullable list";
    case pb::EMPTYABLE_LIST:
      return "list with empty ones";
    case pb::NULL_AND_EMPTY_LIST:
      return "nullable list with empty ones";
    default:
      return "unknown layer";
  }
}

template <typename Layout>
void DescribeLayers(const Layout& layout, PageDescription* page) {
  for (const int layer : layout.layers()) page->layers.push_back(LayerName(layer));
}

std::string LayerName(const pb::SparseLayout::Layer& layer) {
  switch (layer.kind_case()) {
    case pb::SparseLayout::Layer::kValidity:
      return "sparse validity";
    case pb::SparseLayout::Layer::kList:
      return "sparse list";
    case pb::SparseLayout::Layer::kFixedSizeList:
      return "sparse fixed-size list";
    case pb::SparseLayout::Layer::KIND_NOT_SET:
      break;
  }
  return "unknown layer";
}

// Roles of the buffers by their place; a buffer behind the last role is named by its number.
void NameBuffers(const std::vector<std::string>& roles, PageDescription* page) {
  for (size_t i = 0; i < page->buffers.size(); ++i) {
    page->buffers[i].role = i < roles.size() ? roles[i] : fmt::format("buffer {}", i);
  }
}

void DescribeMiniBlock(const pb::MiniBlockLayout& layout, PageDescription* page) {
  page->layout = "mini-block";
  page->encoding = DescribeEncoding(layout.value_compression());
  if (layout.has_rep_compression()) page->repetition = DescribeEncoding(layout.rep_compression());
  if (layout.has_def_compression()) page->definition = DescribeEncoding(layout.def_compression());
  DescribeLayers(layout, page);
  std::vector<std::string> roles{"chunk words", "chunks"};
  if (layout.has_dictionary()) {
    page->dictionary = DescribeEncoding(layout.dictionary());
    page->num_dictionary_items = layout.num_dictionary_items();
    roles.emplace_back("dictionary");
  }
  if (layout.repetition_index_depth() != 0) roles.emplace_back("repetition index");
  NameBuffers(roles, page);
  if (!page->buffers.empty()) {
    page->num_chunks = page->buffers[0].range.length / (layout.has_large_chunk() ? 4 : 2);
  }
}

void DescribeConstant(const pb::ConstantLayout& layout, PageDescription* page) {
  page->layout = "constant";
  const bool has_scalar = page->buffers.size() % 2 == 1;
  if (layout.has_inline_value()) {
    page->encoding = fmt::format("inline value of {} bytes", layout.inline_value().size());
  } else {
    page->encoding = has_scalar ? "scalar" : "no value";
  }
  if (layout.has_rep_compression()) page->repetition = DescribeEncoding(layout.rep_compression());
  if (layout.has_def_compression()) page->definition = DescribeEncoding(layout.def_compression());
  DescribeLayers(layout, page);
  NameBuffers(has_scalar
                  ? std::vector<std::string>{"scalar", "repetition levels", "definition levels"}
                  : std::vector<std::string>{"repetition levels", "definition levels"},
              page);
}

void DescribeFullZip(const pb::FullZipLayout& layout, PageDescription* page) {
  page->layout = "full-zip";
  page->encoding = DescribeEncoding(layout.value_compression());
  if (layout.bits_rep() != 0) page->repetition = fmt::format("{} bits", layout.bits_rep());
  if (layout.bits_def() != 0) page->definition = fmt::format("{} bits", layout.bits_def());
  DescribeLayers(layout, page);
  NameBuffers({"values", "row positions"}, page);
}

// The page inside holds where the blobs lie.
void DescribeBlob(const pb::BlobLayout& layout, PageDescription* page) {
  DescribeLayout(layout.inner_layout(), page);
  page->layout = "blob: " + page->layout;
  page->layers.clear();
  DescribeLayers(layout, page);
}

void DescribeSparse(const pb::SparseLayout& layout, PageDescription* page) {
  page->layout = "sparse";
  page->encoding =
      layout.has_value_compression() ? DescribeEncoding(layout.value_compression()) : "no value";
  for (const auto& layer : layout.structural_layers()) page->layers.push_back(LayerName(layer));
  std::reverse(page->layers.begin(), page->layers.end());
  NameBuffers({}, page);
}

void DescribeLayout(const pb::PageLayout& layout, PageDescription* page) {
  switch (layout.layout_case()) {
    case pb::PageLayout::kMiniBlock:
      return DescribeMiniBlock(layout.mini_block(), page);
    case pb::PageLayout::kConstant:
      return DescribeConstant(layout.constant(), page);
    case pb::PageLayout::kFullZip:
      return DescribeFullZip(layout.full_zip(), page);
    case pb::PageLayout::kBlob:
      if (layout.blob().inner_layout().has_blob()) break;
      return DescribeBlob(layout.blob(), page);
    case pb::PageLayout::kSparse:
      return DescribeSparse(layout.sparse(), page);
    case pb::PageLayout::LAYOUT_NOT_SET:
      break;
  }
  page->layout = "unknown";
  NameBuffers({}, page);
}

}  // namespace

PageDescription DescribePage(const PageMetadata& page) {
  PageDescription result;
  result.first_row = page.first_row;
  result.num_rows = page.num_rows;
  for (const ByteRange& range : page.buffers) result.buffers.push_back({"", range});
  DescribeLayout(page.layout, &result);
  return result;
}

}  // namespace lake::format
