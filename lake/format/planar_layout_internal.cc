#include "lake/format/planar_layout_internal.h"

namespace lake::format {
namespace {

pb::MiniBlockLayout FromChunked(const pb::PlanarLayout::Chunked& chunked) {
  pb::MiniBlockLayout layout;
  *layout.mutable_value_compression() = chunked.value_compression();
  const auto& levels = chunked.levels();
  if (levels.has_rep_compression()) *layout.mutable_rep_compression() = levels.rep_compression();
  if (levels.has_def_compression()) *layout.mutable_def_compression() = levels.def_compression();
  layout.set_repetition_index_depth(levels.repetition_index_depth());
  if (chunked.has_dictionary()) *layout.mutable_dictionary() = chunked.dictionary();
  layout.set_num_dictionary_items(chunked.num_dictionary_items());
  layout.set_num_buffers(chunked.num_buffers());
  layout.set_num_items(chunked.num_items());
  layout.set_has_large_chunk(true);
  return layout;
}

pb::FullZipLayout FromZipped(const pb::PlanarLayout::Zipped& zipped) {
  pb::FullZipLayout layout;
  *layout.mutable_value_compression() = zipped.value_compression();
  layout.set_bits_rep(zipped.levels().bits_rep());
  layout.set_bits_def(zipped.levels().bits_def());
  if (zipped.has_bits_per_value()) layout.set_bits_per_value(zipped.bits_per_value());
  if (zipped.has_bits_per_offset()) layout.set_bits_per_offset(zipped.bits_per_offset());
  layout.set_num_items(zipped.num_items());
  layout.set_num_visible_items(zipped.num_visible_items());
  return layout;
}

const pb::CompressiveEncoding* ValuesOf(const pb::PlanarLayout::Values& values) {
  if (values.has_chunked()) return &values.chunked().value_compression();
  return values.has_zipped() ? &values.zipped().value_compression() : nullptr;
}

}  // namespace

Result<pb::PageLayout> FromPlanar(const pb::PlanarLayout& planar) {
  pb::PageLayout page;
  const auto& values = planar.values();
  if (planar.structure().has_sparse()) {
    pb::SparseLayout& sparse = *page.mutable_sparse();
    *sparse.mutable_structural_layers() = planar.structure().sparse().layers();
    if (const auto* encoding = ValuesOf(values)) *sparse.mutable_value_compression() = *encoding;
    return page;
  }
  if (!planar.structure().has_dense()) {
    return Error(ErrorCode::kUnsupported, "planar page layout of an unknown structure is not read");
  }
  const auto& layers = planar.structure().dense().layers();
  if (values.has_chunked()) {
    *page.mutable_mini_block() = FromChunked(values.chunked());
    *page.mutable_mini_block()->mutable_layers() = layers;
  } else if (values.has_zipped()) {
    *page.mutable_full_zip() = FromZipped(values.zipped());
    *page.mutable_full_zip()->mutable_layers() = layers;
  } else if (values.has_constant() && values.constant().has_value()) {
    page.mutable_constant()->set_inline_value(values.constant().value());
    *page.mutable_constant()->mutable_layers() = layers;
  } else {
    return Error(ErrorCode::kUnsupported, "planar page layout without values is not read");
  }
  return page;
}

}  // namespace lake::format
