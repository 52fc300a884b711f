#include "lake/format/testing/v20_inputs.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <fmt/core.h>

#include "lake/format/schema.h"
#include "lake/format/testing/decoder_inputs.h"
#include "lake/format/testing/fixtures.h"
#include "lake/format/v20_array_internal.h"
#include "lake/format/v20_ends_internal.h"

namespace lake::format {
namespace {

constexpr int64_t kMemoryCap = 256 << 20;
constexpr uint64_t kMaxValues = 3000;
// The last but one is a packed struct, the last a list: these have no name of their own.
constexpr const char* kTypes[] = {"bool",
                                  "int8",
                                  "int16",
                                  "int32",
                                  "int64",
                                  "string",
                                  "binary",
                                  "large_string",
                                  "fixed_size_binary:3",
                                  "fixed_size_list:float:4",
                                  "fixed_size_list:bool:12",
                                  "dict:string:int8:false",
                                  "dict:int64:int16:false",
                                  "null",
                                  "struct",
                                  "list"};

[[noreturn]] void Fail(const std::string& text) {
  fmt::print(stderr, "2.0 page input: {}\n", text);
  std::abort();
}

std::shared_ptr<arrow::DataType> TypeOf(std::string_view name) {
  if (name == "struct") {
    return arrow::struct_(
        {arrow::field("position", arrow::uint64()), arrow::field("size", arrow::uint64())});
  }
  Field field;
  field.name = "c";
  field.logical_type = name;
  return ToArrow(field).ValueOrDie()->type();
}

struct Page {
  V20Column column;
  std::shared_ptr<storage::ObjectStore> store;
  std::unique_ptr<arrow::MemoryPool> pool = MakeCappedPool(kMemoryCap);
  V20DictionaryCache dictionaries;

  V20PageContext Context() {
    return {&column, &column.pages[0], pool.get(), &dictionaries, 0, false};
  }
};

Status DecodeList(Page* page, const RowSelection& rows) {
  const pb::ArrayList& list = page->column.pages[0].encoding.list();
  ARROW_ASSIGN_OR_RAISE(
      auto ends, V20Ends::Make(page->Context(), list.offsets(), list.null_offset_adjustment()));
  RangeReads reads;
  ARROW_RETURN_NOT_OK(ends.Plan(rows, &reads));
  ARROW_RETURN_NOT_OK(reads.Fetch(Context(), page->store.get(), "page"));
  ARROW_ASSIGN_OR_RAISE(auto offsets, V20Offsets::Make(32, rows.num_rows(), page->pool.get()));
  RowSelection source;
  ARROW_RETURN_NOT_OK(ends.Decode(reads, list.num_items(), 5, &offsets, &source));
  if (source.num_rows() != offsets.total()) Fail("offsets and their items differ");
  if (!source.empty() && source.ranges().back().end() > list.num_items() + 5) {
    Fail("items behind the last one");
  }
  return Status::OK();
}

Status DecodeValues(Page* page, const std::shared_ptr<arrow::DataType>& type,
                    const RowSelection& rows) {
  ARROW_ASSIGN_OR_RAISE(auto decoder,
                        MakeV20Decoder(page->Context(), page->column.pages[0].encoding, type));
  RangeReads first;
  ARROW_RETURN_NOT_OK(decoder->PlanFirst(rows, &first));
  ARROW_RETURN_NOT_OK(first.Fetch(Context(), page->store.get(), "page"));
  RangeReads second;
  ARROW_RETURN_NOT_OK(decoder->PlanSecond(first, &second));
  ARROW_RETURN_NOT_OK(second.Fetch(Context(), page->store.get(), "page"));
  ARROW_ASSIGN_OR_RAISE(const auto data, decoder->Decode(first, second));
  const auto array = arrow::MakeArray(data);
  if (array->length() != static_cast<int64_t>(rows.num_rows())) Fail("another number of values");
  if (const Status valid = array->ValidateFull(); !valid.ok()) Fail(valid.ToString());
  return Status::OK();
}

template <typename T>
T Take(std::string_view* bytes) {
  T value{};
  const size_t size = std::min(bytes->size(), sizeof(T));
  std::copy_n(bytes->data(), size, reinterpret_cast<char*>(&value));
  bytes->remove_prefix(size);
  return value;
}

}  // namespace

std::span<const char* const> V20PageInputTypes() { return kTypes; }

std::string EncodeV20PageInput(uint8_t type, const V20Page& page, std::string_view buffers) {
  std::string out;
  AppendLittle<uint8_t>(type, &out);
  AppendLittle<uint8_t>(static_cast<uint8_t>(page.buffers.size()), &out);
  AppendLittle<uint32_t>(static_cast<uint32_t>(page.num_values), &out);
  for (const ByteRange& buffer : page.buffers)
    AppendLittle<uint32_t>(static_cast<uint32_t>(buffer.length), &out);
  const std::string encoding = page.encoding.SerializeAsString();
  AppendLittle<uint16_t>(static_cast<uint16_t>(encoding.size()), &out);
  return out + encoding + std::string(buffers);
}

void DecodeV20PageInput(std::string_view bytes) {
  const std::string_view type = kTypes[Take<uint8_t>(&bytes) % std::size(kTypes)];
  Page page;
  V20Page& metadata = page.column.pages.emplace_back();
  std::vector<uint64_t> sizes(Take<uint8_t>(&bytes) % 6);
  metadata.num_values = Take<uint32_t>(&bytes);
  if (metadata.num_values == 0) return;
  for (uint64_t& size : sizes) size = Take<uint32_t>(&bytes);
  const uint16_t encoding_size = Take<uint16_t>(&bytes);
  const std::string_view encoding = bytes.substr(0, encoding_size);
  bytes.remove_prefix(encoding.size());
  if (!metadata.encoding.ParseFromArray(encoding.data(), static_cast<int>(encoding.size()))) {
    return;
  }
  uint64_t at = 0;
  for (uint64_t size : sizes) {
    size = std::min(size, bytes.size() - at);
    metadata.buffers.push_back({at, size});
    at += size;
  }
  page.store = StoreWith("page", std::string(bytes));
  const uint64_t rows = metadata.num_values;
  RowSelection apart;
  for (uint64_t row = rows / 3; row < std::min(rows, rows / 3 + kMaxValues); row += 7)
    apart.Append(row, 2 < rows - row ? 2 : 1);
  for (const RowSelection& selection :
       {RowSelection(0, std::min(rows, kMaxValues)), RowSelection(rows - 1, 1), apart}) {
    const Status status = type == "list" ? DecodeList(&page, selection)
                                         : DecodeValues(&page, TypeOf(type), selection);
    if (!status.ok() && CodeOf(status) == ErrorCode::kInternal) Fail(status.ToString());
  }
}

}  // namespace lake::format
