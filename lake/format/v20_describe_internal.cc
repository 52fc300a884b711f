#include "lake/format/v20_describe_internal.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "lake/format/v20_array_internal.h"

namespace lake::format {
namespace {

using Encoding = pb::ArrayEncoding;

// Describes a tree of encodings, and names the buffers of the page on the way.
class Describer {
 public:
  explicit Describer(PageDescription* page) : page_(page) {}

  std::string Describe(const Encoding& encoding, const std::string& role) {
    switch (encoding.array_encoding_case()) {
      case Encoding::kFlat: {
        const pb::ArrayFlat& flat = encoding.flat();
        Name(flat.buffer(), role);
        const std::string text = fmt::format("flat({})", flat.bits_per_value());
        if (flat.compression().scheme().empty()) return text;
        return fmt::format("{}({})", flat.compression().scheme().substr(0, 40), text);
      }
      case Encoding::kNullable:
        return DescribeNullable(encoding.nullable(), role);
      case Encoding::kFixedSizeList:
        return fmt::format("fixed_size_list({} x {})", encoding.fixed_size_list().dimension(),
                           Describe(encoding.fixed_size_list().items(), role));
      case Encoding::kList:
        return fmt::format("list({}; {} items)", Describe(encoding.list().offsets(), "ends"),
                           encoding.list().num_items());
      case Encoding::kBinary:
        return fmt::format("binary({}, {})", Describe(encoding.binary().indices(), "ends"),
                           Describe(encoding.binary().bytes(), role));
      case Encoding::kDictionary:
        page_->num_dictionary_items = encoding.dictionary().num_dictionary_items();
        page_->dictionary = Describe(encoding.dictionary().items(), "dictionary");
        return fmt::format("dictionary({})", Describe(encoding.dictionary().indices(), "indices"));
      case Encoding::kFsst:
        return fmt::format("fsst({})", Describe(encoding.fsst().binary(), role));
      case Encoding::kPackedStruct:
        return DescribePacked(encoding.packed_struct(), role);
      case Encoding::kBitpacked:
        Name(encoding.bitpacked().buffer(), role);
        return fmt::format("bitpacked({} -> {}{})",
                           encoding.bitpacked().uncompressed_bits_per_value(),
                           encoding.bitpacked().compressed_bits_per_value(),
                           encoding.bitpacked().signed_() ? ", signed" : "");
      case Encoding::kBitpackedForNonNeg:
        Name(encoding.bitpacked_for_non_neg().buffer(), role);
        return fmt::format("bitpacked_for_non_neg({} -> {})",
                           encoding.bitpacked_for_non_neg().uncompressed_bits_per_value(),
                           encoding.bitpacked_for_non_neg().compressed_bits_per_value());
      case Encoding::kFixedSizeBinary:
        return fmt::format("fixed_size_binary({} x {})", encoding.fixed_size_binary().byte_width(),
                           Describe(encoding.fixed_size_binary().bytes(), role));
      case Encoding::kStruct:
      case Encoding::kConstant:
      case Encoding::ARRAY_ENCODING_NOT_SET:
        break;
    }
    return std::string(V20EncodingName(encoding));
  }

 private:
  std::string DescribeNullable(const pb::ArrayNullable& nullable, const std::string& role) {
    switch (nullable.nullability_case()) {
      case pb::ArrayNullable::kNoNulls:
        return Describe(nullable.no_nulls().values(), role);
      case pb::ArrayNullable::kSomeNulls:
        return fmt::format("nullable({}, {})",
                           Describe(nullable.some_nulls().validity(), "validity"),
                           Describe(nullable.some_nulls().values(), role));
      case pb::ArrayNullable::kAllNulls:
        return "all null";
      case pb::ArrayNullable::NULLABILITY_NOT_SET:
        break;
    }
    return "unknown encoding";
  }

  // The buffers that the fields name are not used: one holds all.
  std::string DescribePacked(const pb::ArrayPackedStruct& packed, const std::string& role) {
    PageDescription ignored;
    std::string fields;
    for (const Encoding& inner : packed.inner()) {
      if (!fields.empty()) fields += ", ";
      fields += Describer(&ignored).Describe(inner, "");
    }
    Name(packed.buffer(), role);
    return "packed_struct(" + fields + ")";
  }

  void Name(const pb::ArrayBuffer& buffer, const std::string& role) {
    if (buffer.buffer_type() != pb::ArrayBuffer::PAGE) return;
    if (buffer.buffer_index() < page_->buffers.size()) {
      page_->buffers[buffer.buffer_index()].role = role;
    }
  }

  PageDescription* const page_;
};

}  // namespace

PageDescription DescribeV20Page(const V20Page& page) {
  PageDescription result;
  result.first_row = page.first_value;
  result.num_rows = page.num_values;
  result.layout = "array";
  for (size_t i = 0; i < page.buffers.size(); ++i) {
    result.buffers.push_back({fmt::format("buffer {}", i), page.buffers[i]});
  }
  result.encoding = Describer(&result).Describe(page.encoding, "values");
  return result;
}

}  // namespace lake::format
