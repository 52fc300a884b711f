#include "lake/format/list_items_internal.h"

#include "lake/format/block_decoder_internal.h"

namespace lake::format {

uint64_t ListItems::validity_width() const {
  uint64_t width = 0;
  for (const Level& level : levels) width += level.validity_width();
  return width;
}

Result<ListItems> ListItems::From(const pb::CompressiveEncoding& encoding, const LeafType& type,
                                  std::string_view where) {
  ListItems items;
  const pb::CompressiveEncoding* values = &encoding;
  uint64_t count = 1;
  for (const uint32_t list_size : type.list_sizes) {
    count *= list_size;
    if (items.all_null) {
      // Lists that are all null have no items to speak of.
      items.levels.push_back({count, false});
      continue;
    }
    if (!values->has_fixed_size_list()) {
      return Error(ErrorCode::kUnsupported, "{} encoding {} of lists is not read", where,
                   EncodingName(*values));
    }
    const pb::FixedSizeList& list = values->fixed_size_list();
    if (list.items_per_value() != list_size) {
      return Error(ErrorCode::kCorrupt, "lists have {} items, not {}", list.items_per_value(),
                   list_size);
    }
    items.levels.push_back({count, list.has_validity()});
    values = &list.values();
    items.all_null =
        list.has_validity() && values->has_constant() && !values->constant().has_value();
  }
  if (!items.all_null) {
    ARROW_RETURN_NOT_OK(
        ExpectFlat(*values, type.item_bits, items.levels.empty() ? "values" : "list items"));
  }
  return items;
}

}  // namespace lake::format
