#include "lake/format/testing/decoder_inputs.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include <arrow/array/array_base.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/util.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/format/block_decoder_internal.h"
#include "lake/format/column_tree_internal.h"
#include "lake/format/fsst.h"
#include "lake/format/jsonb.h"
#include "lake/format/page_decoder_internal.h"
#include "lake/format/schema.h"
#include "lake/format/testing/fixtures.h"

namespace lake::format {
namespace {

constexpr int64_t kMemoryCap = 256 << 20;
constexpr uint64_t kMaxRows = 3000;
constexpr const char* kTypes[] = {"bool",
                                  "int8",
                                  "int16",
                                  "int32",
                                  "int64",
                                  "double",
                                  "string",
                                  "binary",
                                  "large_string",
                                  "large_binary",
                                  "decimal:128:38:0",
                                  "fixed_size_binary:3",
                                  "fixed_size_binary:300",
                                  "fixed_size_list:float:4",
                                  "fixed_size_list:int64:33",
                                  "fixed_size_list:float:64",
                                  "halffloat",
                                  "decimal:256:76:0",
                                  "null",
                                  "fixed_size_list:bool:12",
                                  "fixed_size_list:fixed_size_list:int8:2:3",
                                  "dict:string:int8:false",
                                  "dict:int64:int32:false",
                                  "dict:bool:uint16:false",
                                  "packed fixed",
                                  "packed",
                                  "blob"};

Nesting Around(std::initializer_list<NestingLayer::Kind> kinds) {
  Nesting nesting;
  for (const NestingLayer::Kind kind : kinds) nesting.layers.push_back({kind, false, true});
  return nesting;
}

// The leaf type of kTypes[number].
LeafType TypeOf(uint8_t number) {
  const std::string name = kTypes[number];
  const auto field = [](std::shared_ptr<arrow::DataType> type) { return arrow::field("f", type); };
  if (name == "packed") {
    return LeafType::Packed(arrow::struct_({field(arrow::int32()), field(arrow::utf8()),
                                            field(arrow::fixed_size_list(arrow::int16(), 2)),
                                            field(arrow::large_binary())}))
        .ValueOrDie();
  }
  if (name == "packed fixed" || name == "blob") {
    LeafType type =
        LeafType::Packed(arrow::struct_({field(arrow::uint64()), field(arrow::uint64())}))
            .ValueOrDie();
    if (name == "blob") type.kind = LeafType::Kind::kBlob;
    return type;
  }
  Field wanted;
  wanted.name = "c";
  wanted.logical_type = name;
  return LeafType::From(ToArrow(wanted).ValueOrDie()->type()).ValueOrDie();
}

[[noreturn]] void Fail(const std::string& text) {
  fmt::print(stderr, "decoder input: {}\n", text);
  std::abort();
}

// An error of a decoder says that the input is bad or not read, or too much; never that we are
// wrong.
void CheckError(const Status& status) {
  if (CodeOf(status) == ErrorCode::kInternal) Fail(status.ToString());
}

// Structure and text must be right whatever the bytes; the range of a decimal, date or time is a
// matter of the value, which a reader hands on as it is.
void CheckArray(const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
    case arrow::Type::DATE64:
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
      if (const Status valid = array.Validate(); !valid.ok()) Fail(valid.ToString());
      return;
    case arrow::Type::STRUCT:
    case arrow::Type::FIXED_SIZE_LIST:
      if (const Status valid = array.Validate(); !valid.ok()) Fail(valid.ToString());
      for (const auto& child : array.data()->child_data) CheckArray(*arrow::MakeArray(child));
      return;
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::MAP: {
      // The offsets in full, then what they point to.
      if (const Status valid = array.Validate(); !valid.ok()) Fail(valid.ToString());
      const auto& child = array.data()->child_data[0];
      const auto shallow = array.data()->Copy();
      shallow->type = array.type_id() == arrow::Type::LARGE_LIST ? arrow::large_list(arrow::null())
                                                                 : arrow::list(arrow::null());
      shallow->child_data = {
          arrow::MakeArrayOfNull(arrow::null(), child->length).ValueOrDie()->data()};
      if (const Status valid = arrow::MakeArray(shallow)->ValidateFull(); !valid.ok()) {
        Fail(valid.ToString());
      }
      CheckArray(*arrow::MakeArray(child));
      return;
    }
    default:
      if (const Status valid = array.ValidateFull(); !valid.ok()) Fail(valid.ToString());
  }
}

// Reads little-endian numbers from the front of a string.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Number() {
    T value{};
    const size_t size = std::min(bytes_.size(), sizeof(T));
    std::copy_n(bytes_.data(), size, reinterpret_cast<char*>(&value));
    bytes_.remove_prefix(size);
    return value;
  }

  std::string_view Bytes(size_t size) {
    const std::string_view front = bytes_.substr(0, size);
    bytes_.remove_prefix(front.size());
    return front;
  }

  std::string_view Rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

// Every row, the first row, and some rows apart from each other.
std::vector<RowSelection> Selections(uint64_t rows) {
  std::vector<RowSelection> selections = {RowSelection(0, std::min(rows, kMaxRows))};
  if (rows == 0) return selections;
  selections.push_back(RowSelection(rows - 1, 1));
  RowSelection apart;
  for (uint64_t row = rows / 3; row < std::min(rows, rows / 3 + kMaxRows); row += 7)
    apart.Append(row, 2 < rows - row ? 2 : 1);
  selections.push_back(apart);
  return selections;
}

Status DecodePage(const std::shared_ptr<const ColumnMetadata>& column, const LeafType& type,
                  const Nesting& nesting, const RowSelection& rows, storage::ObjectStore* store,
                  arrow::MemoryPool* pool, std::shared_ptr<const PageState>* state) {
  Context context;
  context.memory_pool = pool;
  PageTask task;
  task.column = column;
  task.page = &column->pages[0];
  task.type = type;
  task.rows = rows;
  task.pool = pool;
  ARROW_ASSIGN_OR_RAISE(auto decoder, MakePageDecoder(std::move(task), nesting));
  RangeReads state_reads;
  ARROW_RETURN_NOT_OK(decoder->PlanState(*state, &state_reads));
  ARROW_RETURN_NOT_OK(state_reads.Fetch(context, store, "page"));
  RangeReads data_reads;
  ARROW_RETURN_NOT_OK(decoder->PlanData(state_reads, &data_reads));
  *state = decoder->state();
  ARROW_RETURN_NOT_OK(data_reads.Fetch(context, store, "page"));
  ARROW_ASSIGN_OR_RAISE(LeafBuilder builder,
                        LeafBuilder::Make(type, nesting, rows.num_rows(), pool));
  DecodeScratch scratch;
  ARROW_RETURN_NOT_OK(decoder->Decode(state_reads, data_reads, &scratch, &builder));
  ARROW_ASSIGN_OR_RAISE(const DecodedLeaf leaf, DecodedLeaf::From(&builder));
  CheckArray(*arrow::MakeArray(leaf.values));
  size_t lists = 0;
  for (size_t i = 0; i < nesting.layers.size(); ++i) {
    if (nesting.layers[i].kind != NestingLayer::Kind::kList) continue;
    const auto* const offsets = leaf.layers[i].offsets->data_as<int32_t>();
    const uint64_t count = leaf.slots[lists + 1];
    for (uint64_t slot = 0; slot < count; ++slot) {
      if (offsets[slot] > offsets[slot + 1]) Fail("offsets do not ascend");
    }
    if (static_cast<uint64_t>(offsets[count]) != leaf.slots[lists]) Fail("offsets end elsewhere");
    ++lists;
  }
  return Status::OK();
}

// Footer and tables encode to the bytes that they were decoded from.
void CheckContainer(std::string_view bytes) {
  const auto wrong_size =
      FileReader::Open(Context(), StoreWith("f", std::string(bytes)), "f", bytes.size() + 1);
  if (wrong_size.ok()) Fail("a file of another size was opened");
  if (bytes.size() < kFooterSize) return;
  const std::string_view end = bytes.substr(bytes.size() - kFooterSize);
  const auto footer = FileFooter::DecodeFrom(end, bytes.size(), "f");
  if (!footer.ok()) return CheckError(footer.status());
  std::string encoded;
  footer->EncodeTo(&encoded);
  if (encoded != end) Fail("a footer does not round-trip");
  const ByteRange range = footer->column_table();
  const std::string_view table = bytes.substr(range.offset, range.length);
  const auto entries = DecodeOffsetTable(table, bytes.size(), "table", "f");
  if (!entries.ok()) return CheckError(entries.status());
  encoded.clear();
  EncodeOffsetTable(*entries, &encoded);
  if (encoded != table) Fail("a table does not round-trip");
}

}  // namespace

std::span<const char* const> PageInputTypes() { return kTypes; }

void DecodeFileInput(std::string_view bytes) {
  CheckContainer(bytes);
  const auto pool = MakeCappedPool(kMemoryCap);
  Context context;
  context.memory_pool = pool.get();
  const auto reader = OpenBytes(std::string(bytes), context);
  if (!reader.ok()) return CheckError(reader.status());
  const auto columns = (*reader)->AllColumns();
  if (!columns.ok()) return CheckError(columns.status());
  // Requests that cannot be met, and a column that is not there.
  std::vector<ColumnRequest> odd(1);
  odd[0].field.name = "odd";
  odd[0].field.logical_type = "string";
  for (const int column : {-1, 0, (*reader)->num_columns()}) {
    odd[0].columns = {column};
    const uint64_t rows = std::min((*reader)->num_rows(), kMaxRows);
    if (const auto batch = (*reader)->Read(context, odd, RowSelection(0, rows)); !batch.ok()) {
      CheckError(batch.status());
    }
  }
  if ((*reader)->Read(context, odd, RowSelection((*reader)->num_rows(), 1)).ok()) {
    Fail("a row behind the last one was read");
  }
  if ((*reader)->file_size() != bytes.size() || (*reader)->MemoryUse() > kMemoryCap ||
      (*reader)->schema().fields.size() != columns->size() ||
      !CheckReadable((*reader)->version(), "f").ok()) {
    Fail("a reader says what is not so");
  }
  const ByteRange ranges[] = {{0, bytes.size() / 2}, {bytes.size() - 1, 2}};
  if (const auto first = (*reader)->ReadRanges(context, std::span(ranges, 1)); !first.ok()) {
    CheckError(first.status());
  }
  if ((*reader)->ReadRanges(context, ranges).ok()) Fail("bytes behind the end were read");
  if (const auto estimate = (*reader)->EstimateBytes(context, *columns, kMaxRows); !estimate.ok()) {
    CheckError(estimate.status());
  }
  for (const ColumnRequest& column : *columns) {
    for (const RowSelection& selection : Selections((*reader)->num_rows())) {
      const auto fetched = (*reader)->Fetch(context, std::span(&column, 1), selection);
      if (!fetched.ok()) {
        CheckError(fetched.status());
        continue;
      }
      const auto batch = (*fetched)->Decode();
      if (batch.ok()) {
        CheckArray(*(*batch)->column(0));
      } else {
        CheckError(batch.status());
      }
    }
  }
}

void DecodeColumnMetadataInput(std::string_view bytes) {
  Input input(bytes);
  const uint64_t limit = input.Number<uint32_t>();
  const uint64_t rows = input.Number<uint32_t>();
  const auto column = ColumnMetadata::DecodeFrom(input.Rest(), limit, rows);
  if (!column.ok()) return CheckError(column.status());
  for (const PageMetadata& page : column->pages) {
    for (const ByteRange& buffer : page.buffers) {
      if (buffer.end() > limit) Fail("a buffer passes the limit");
    }
  }
  std::string encoded;
  if (!column->EncodeTo(&encoded).ok() || !ColumnMetadata::DecodeFrom(encoded, limit, rows).ok()) {
    Fail("column metadata does not round-trip");
  }
}

std::span<const Nesting> PageInputNestings() {
  using enum NestingLayer::Kind;
  static const std::vector<Nesting>* const nestings =
      new std::vector<Nesting>{Around({}),
                               Around({kItem}),
                               Around({kList}),
                               Around({kItem, kList}),
                               Around({kList, kItem}),
                               Around({kList, kList}),
                               Around({kItem, kList, kItem, kList})};
  return *nestings;
}

std::string EncodePageInput(uint8_t type, uint8_t nesting, const PageMetadata& page,
                            std::string_view buffers) {
  std::string out;
  AppendLittle<uint8_t>(type, &out);
  AppendLittle<uint8_t>(nesting, &out);
  AppendLittle<uint8_t>(static_cast<uint8_t>(page.buffers.size()), &out);
  AppendLittle<uint32_t>(static_cast<uint32_t>(page.num_rows), &out);
  for (const ByteRange& buffer : page.buffers)
    AppendLittle<uint32_t>(static_cast<uint32_t>(buffer.length), &out);
  const std::string layout = page.layout.SerializeAsString();
  AppendLittle<uint16_t>(static_cast<uint16_t>(layout.size()), &out);
  return out + layout + std::string(buffers);
}

void DecodePageInput(std::string_view bytes) {
  Input input(bytes);
  const uint8_t type_number = input.Number<uint8_t>() % std::size(kTypes);
  const auto nestings = PageInputNestings();
  const Nesting& nesting = nestings[input.Number<uint8_t>() % nestings.size()];
  auto column = std::make_shared<ColumnMetadata>();
  PageMetadata& page = column->pages.emplace_back();
  const size_t num_buffers = input.Number<uint8_t>() % 6;
  page.num_rows = input.Number<uint32_t>();
  if (page.num_rows == 0) return;
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < num_buffers; ++i) sizes.push_back(input.Number<uint32_t>());
  const std::string_view layout = input.Bytes(input.Number<uint16_t>());
  if (!page.layout.ParseFromArray(layout.data(), static_cast<int>(layout.size()))) return;
  const std::string_view buffers = input.Rest();
  uint64_t at = 0;
  for (uint64_t size : sizes) {
    size = std::min(size, buffers.size() - at);
    page.buffers.push_back({at, size});
    at += size;
  }
  const LeafType type = TypeOf(type_number);
  const auto store = StoreWith("page", std::string(buffers));
  const auto pool = MakeCappedPool(kMemoryCap);
  std::shared_ptr<const PageState> state;
  for (const RowSelection& rows : Selections(page.num_rows)) {
    const Status status = DecodePage(column, type, nesting, rows, store.get(), pool.get(), &state);
    if (!status.ok()) CheckError(status);
  }
}

std::string EncodeBlockInput(uint8_t bits, uint32_t total, const pb::CompressiveEncoding& encoding,
                             std::string_view bytes) {
  std::string out;
  AppendLittle<uint8_t>(bits, &out);
  AppendLittle<uint32_t>(total, &out);
  const std::string message = encoding.SerializeAsString();
  AppendLittle<uint16_t>(static_cast<uint16_t>(message.size()), &out);
  return out + message + std::string(bytes);
}

void DecodeBlockInput(std::string_view bytes) {
  Input input(bytes);
  const uint32_t bits = input.Number<uint8_t>();
  const uint64_t total = input.Number<uint32_t>() % (1 << 20);
  const std::string_view message = input.Bytes(input.Number<uint16_t>());
  pb::CompressiveEncoding encoding;
  if (!encoding.ParseFromArray(message.data(), static_cast<int>(message.size()))) return;
  // A copy of its own, so that a read behind its end is seen.
  const std::vector<char> block(input.Rest().begin(), input.Rest().end());
  const std::string_view view(block.data(), block.size());
  const auto pool = MakeCappedPool(kMemoryCap);
  if (bits == 0) {
    const auto strings = DecodeVariableBlock(encoding, view, total, pool.get());
    if (!strings.ok()) return CheckError(strings.status());
    size_t size = 0;
    for (uint64_t i = 0; i < total; ++i) size += strings->Value(i).size();
    if (size > static_cast<size_t>(strings->bytes->size())) Fail("strings overlap");
    return;
  }
  if (bits % 8 != 0 || total > MaxBlockValues(encoding, view.size(), bits)) return;
  for (const auto& [from, count] :
       {std::pair{uint64_t{0}, total}, {total / 2, total / 3}, {total - total / 4, total / 4}}) {
    std::vector<uint8_t> out(count * bits / 8);
    const Status status =
        DecodeFixedBlock(encoding, view, total, from, count, bits, pool.get(), out.data());
    if (!status.ok()) CheckError(status);
  }
}

void DecodeFsstInput(std::string_view bytes) {
  Input input(bytes);
  const auto decoder = FsstDecoder::DecodeFrom(input.Bytes(input.Number<uint16_t>()));
  if (!decoder.ok()) return CheckError(decoder.status());
  if (!decoder->enabled()) return;
  const std::vector<char> codes(input.Rest().begin(), input.Rest().end());
  std::vector<uint8_t> out(FsstDecoder::MaxDecodedSize(codes.size()) + FsstDecoder::kSlack);
  const uint8_t* const end = decoder->Decode({codes.data(), codes.size()}, out.data());
  if (end != nullptr && end > out.data() + out.size() - FsstDecoder::kSlack)
    Fail("FSST passes its bound");
  std::vector<uint8_t> many(out.size());
  std::vector<uint32_t> ends(codes.size() + 1);
  const uint8_t* const many_end =
      decoder->DecodeMany({codes.data(), codes.size()}, many.data(), ends.data());
  if ((end == nullptr) != (many_end == nullptr)) Fail("FSST of many values takes other codes");
  if (end == nullptr) return;
  if (ends.back() != end - out.data() || many_end != many.data() + ends.back() ||
      !std::equal(out.data(), const_cast<uint8_t*>(end), many.data())) {
    Fail("FSST of many values is another text");
  }
}

void DecodeJsonbInput(std::string_view bytes) {
  // A copy of its own, so that a read behind its end is seen.
  const std::vector<char> copy(bytes.begin(), bytes.end());
  // The same bytes as a text that someone stores.
  std::string stored;
  std::string shown;
  if (const Status encoded = AppendJsonb({copy.data(), copy.size()}, &stored); !encoded.ok()) {
    CheckError(encoded);
  } else if (!AppendJsonText(stored, &shown).ok()) {
    Fail("JSONB of our own is not read");
  }
  std::string text;
  const Status decoded = AppendJsonText({copy.data(), copy.size()}, &text);
  if (!decoded.ok()) return CheckError(decoded);
  // The text is JSON, unless a key stands in it twice.
  std::string jsonb;
  if (const Status encoded = AppendJsonb(text, &jsonb); !encoded.ok()) {
    if (ErrorText(encoded).find("twice") == std::string::npos) Fail(encoded.ToString());
    return;
  }
  std::string again;
  if (!AppendJsonText(jsonb, &again).ok()) Fail("JSONB of our own is not read");
}

}  // namespace lake::format
