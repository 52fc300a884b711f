#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <arrow/type_fwd.h>

#include "lake/base/error.h"
#include "lake/format/array_encodings.pb.h"
#include "lake/format/metadata_cache.h"
#include "lake/format/page_decoder_internal.h"
#include "lake/format/row_selection.h"
#include "lake/format/v20_column_internal.h"

namespace lake::format {

/// Decoded dictionaries, kept between reads, by page.
using V20DictionaryCache = FileCache<arrow::ArrayData>;

/// What the decoders of one page of a 2.0 file share. A plain value; what it points to outlives the
/// decoders.
struct V20PageContext {
  const V20Column* column = nullptr;
  const V20Page* page = nullptr;
  arrow::MemoryPool* pool = nullptr;
  V20DictionaryCache* dictionaries = nullptr;
  uint64_t dictionary_key = 0;
  /// True for the items of a dictionary: they must not be a dictionary again.
  bool in_dictionary = false;

  /// The buffer that `buffer` means; kCorrupt if there is none.
  Result<ByteRange> Buffer(const pb::ArrayBuffer& buffer) const;
};

/// Decodes wanted values of one page, or of one part of its tree of encodings, within one call of
/// FileReader::Read. Steps: PlanFirst, fetch, PlanSecond, fetch, Decode. Every method gives
/// kCorrupt or kUnsupported with the reason; the caller adds file, column and page. Used by one
/// thread.
class V20ArrayDecoder {
 public:
  virtual ~V20ArrayDecoder() = default;

  /// Asks for what locates `values`, or for the values themselves where their place is known.
  virtual Status PlanFirst(const RowSelection& values, RangeReads* reads) = 0;
  /// Asks for the rest.
  virtual Status PlanSecond(const RangeReads& first, RangeReads* reads) = 0;
  /// The wanted values as an array of the decoder's type.
  virtual Result<std::shared_ptr<arrow::ArrayData>> Decode(const RangeReads& first,
                                                           const RangeReads& second) = 0;
};

/// Makes the decoder of `encoding`, whose values become an array of `type`. kUnsupported, by name,
/// for an encoding that does not make such values; never a cast.
Result<std::unique_ptr<V20ArrayDecoder>> MakeV20Decoder(
    const V20PageContext& context, const pb::ArrayEncoding& encoding,
    const std::shared_ptr<arrow::DataType>& type);

// One for each kind of encoding; used by MakeV20Decoder.
Result<std::unique_ptr<V20ArrayDecoder>> MakeV20BinaryDecoder(
    const V20PageContext& context, const pb::ArrayEncoding& encoding,
    const std::shared_ptr<arrow::DataType>& type);
Result<std::unique_ptr<V20ArrayDecoder>> MakeV20DictionaryDecoder(
    const V20PageContext& context, const pb::ArrayDictionary& encoding,
    const std::shared_ptr<arrow::DataType>& type);
Result<std::unique_ptr<V20ArrayDecoder>> MakeV20PackedDecoder(
    const V20PageContext& context, const pb::ArrayPackedStruct& encoding,
    const std::shared_ptr<arrow::DataType>& type);

/// The name of an encoding for texts. Static storage.
std::string_view V20EncodingName(const pb::ArrayEncoding& encoding);

/// `encoding` without the wrappings that say that nothing is null.
const pb::ArrayEncoding& WithoutNoNulls(const pb::ArrayEncoding& encoding);

}  // namespace lake::format
