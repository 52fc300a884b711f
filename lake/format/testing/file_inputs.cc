#include "lake/format/testing/file_inputs.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <arrow/array/array_base.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <boost/json.hpp>
#include <google/protobuf/util/message_differencer.h>

#include "lake/format/inspect.h"
#include "lake/format/leaf_encoding.h"
#include "lake/format/page_copy.h"
#include "lake/format/parse_message_internal.h"
#include "lake/format/schema_internal.h"
#include "lake/format/testing/fixtures.h"

namespace lake::format {
namespace {

constexpr int64_t kMemoryCap = 256 << 20;
constexpr uint64_t kMaxRows = 2000;

void Require(bool holds, const std::string& what) {
  if (holds) return;
  fmt::print(stderr, "decoder input: {}\n", what);
  std::abort();
}

// An error of a decoder says that the input is bad or not read, or too much; never that we are
// wrong.
void CheckError(const Status& status) {
  Require(status.ok() || CodeOf(status) != ErrorCode::kInternal, status.ToString());
}

// The name of a type that was read from a name is one, of the same type.
void CheckTypeName(const std::string& name) {
  const auto type = TypeOfLogicalType(name, "c");
  if (!type.ok()) return CheckError(type.status());
  const auto written = LogicalType(**type, "c");
  if (!written.ok()) return CheckError(written.status());
  const auto again = TypeOfLogicalType(*written, "c");
  Require(again.ok(), again.status().ToString());
  // The order of a dictionary has no name.
  const bool has_order = (*type)->id() == arrow::Type::DICTIONARY;
  Require(has_order || (*again)->Equals(**type), *written);
}

void CheckVersion(const std::string& text) {
  const auto version = FileVersion::Parse(text);
  if (!version.ok()) return CheckError(version.status());
  CheckError(CheckReadable(*version, "f"));
  const auto again = FileVersion::Parse(version->ToString());
  Require(again.ok() && *again == *version, "a version does not round-trip");
}

void CheckSchema(const Schema& schema) {
  for (const Field& field : schema.fields) {
    CheckTypeName(field.logical_type);
    for (const FileVersion& version : {kFileVersion21, kFileVersion22}) {
      CheckError(LeafEncoding::From(schema.metadata, field.metadata, "c", version).status());
    }
    Schema::LeafIds(field);
    Schema::ColumnIds(field, kFileVersion20);
    CheckError(CheckWritable(Schema{{field}, {}}, kFileVersion22));
  }
  const auto arrow_schema = ToArrow(schema);
  if (!arrow_schema.ok()) return CheckError(arrow_schema.status());
  const auto written = SchemaFromArrow(**arrow_schema, 0);
  if (!written.ok()) return CheckError(written.status());
  Require(written->fields.size() == schema.fields.size(), "a field is lost on the way to Arrow");
}

}  // namespace

void DecodeSchemaInput(std::string_view bytes) {
  CheckTypeName(std::string(bytes));
  CheckVersion(std::string(bytes));
  pb::Schema message;
  if (!ParseMessage(bytes, "schema", &message).ok()) return;
  const auto schema = SchemaFromMessage(message, "fuzzed");
  if (!schema.ok()) return CheckError(schema.status());
  CheckSchema(*schema);
  pb::Schema once;
  SchemaToMessage(*schema, &once);
  const auto again = SchemaFromMessage(once, "encoded");
  Require(again.ok(), again.status().ToString());
  pb::Schema twice;
  SchemaToMessage(*again, &twice);
  Require(google::protobuf::util::MessageDifferencer::Equals(once, twice),
          "a schema does not round-trip");
}

void DecodeInspectInput(std::string_view bytes) {
  const auto store = StoreWith("f", std::string(bytes));
  const auto described = InspectFile(Context(), store.get(), "f");
  if (!described.ok()) return CheckError(described.status());
  Require(!ToText(*described).empty(), "nothing is told");
  Require(!boost::json::serialize(ToJson(*described)).empty(), "nothing is told");
}

void DecodePageCopyInput(std::string_view bytes) {
  const auto pool = MakeCappedPool(kMemoryCap);
  Context context;
  context.memory_pool = pool.get();
  const auto store = StoreWith("f", std::string(bytes));
  const auto reader = FileReader::Open(context, store, "f", bytes.size());
  if (!reader.ok()) return CheckError(reader.status());
  PageCopySource source{.store = store, .key = "f", .size_bytes = std::nullopt, .columns = {}};
  for (const Field& field : (*reader)->schema().fields) {
    for (const int32_t id : Schema::LeafIds(field)) {
      (void)id;
      source.columns.push_back(static_cast<uint32_t>(source.columns.size()));
    }
  }
  const auto copied =
      CopyPages(context, {source}, (*reader)->schema(), (*reader)->version(), store, "copy");
  if (!copied.ok()) return CheckError(copied.status());
  if (!*copied) return;
  const auto copy = FileReader::Open(context, store, "copy", (*copied)->size_bytes);
  if (!copy.ok()) return CheckError(copy.status());
  Require((*copy)->num_rows() == (*reader)->num_rows(), "a copy has other rows");
  const auto columns = (*reader)->AllColumns();
  const auto copied_columns = (*copy)->AllColumns();
  if (!columns.ok() || !copied_columns.ok()) return;
  Require(columns->size() == copied_columns->size(), "a copy has other columns");
  const RowSelection rows(0, std::min((*reader)->num_rows(), kMaxRows));
  for (size_t i = 0; i < columns->size(); ++i) {
    const auto before = (*reader)->Read(context, std::span(&(*columns)[i], 1), rows);
    const auto after = (*copy)->Read(context, std::span(&(*copied_columns)[i], 1), rows);
    if (!before.ok()) CheckError(before.status());
    if (!after.ok()) CheckError(after.status());
    Require(before.ok() == after.ok(), "a copied column reads otherwise");
    if (before.ok()) {
      Require((*before)->column(0)->ApproxEquals(*(*after)->column(0),
                                                 arrow::EqualOptions::Defaults().nans_equal(true)),
              "a copied column has other values");
    }
  }
}

}  // namespace lake::format
