#include "written_files.h"

#include <memory>
#include <string>
#include <utility>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "lake/format/file_writer.h"
#include "lake/storage/memory_store.h"

namespace lake::format {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

std::shared_ptr<arrow::Field> With(const std::shared_ptr<arrow::Field>& field,
                                   const Options& options) {
  std::vector<std::string> keys, values;
  for (const auto& [key, value] : options) {
    keys.push_back("lance-encoding:" + key);
    values.push_back(value);
  }
  return field->WithMetadata(arrow::key_value_metadata(keys, values));
}

std::shared_ptr<arrow::Array> FromJson(const std::shared_ptr<arrow::DataType>& type,
                                       const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

Fixture Write(const std::string& name, const std::shared_ptr<arrow::Field>& field,
              const std::string& json) {
  const auto schema = arrow::schema({field});
  const auto store = storage::MakeMemoryStore();
  auto writer = FileWriter::Open(Context(), store, "f", SchemaFromArrow(*schema).ValueOrDie());
  const auto column = FromJson(field->type(), json);
  const auto rows = arrow::RecordBatch::Make(schema, column->length(), {column});
  if (Status status = (*writer)->Write(*rows); !status.ok()) status.Abort(name);
  const WrittenFile written = (*writer)->Finish().ValueOrDie();
  Fixture fixture;
  fixture.name = name;
  fixture.bytes = store->Get(Context(), "f", {0, written.size_bytes}).ValueOrDie()->ToString();
  return fixture;
}

std::string Joined(const std::string& part, int count) {
  std::string list = "[" + part;
  for (int i = 1; i < count; ++i) list += "," + part;
  return list + "]";
}

}  // namespace

std::vector<Fixture> WrittenFiles() {
  const auto packed = With(
      arrow::field(
          "p", arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("s", arrow::utf8()),
                               arrow::field("v", arrow::fixed_size_list(arrow::int16(), 2)),
                               arrow::field("b", arrow::large_binary())})),
      {{"packed", "true"}});
  const std::string row = R"({"a":7,"s":"front left","v":[1,null],"b":"xy"})";
  const std::string lists = R"([["front left","rear"],[],null,["",null,"front left camera"]])";
  const std::string words = Joined(R"(["front left camera of robot seven","rear camera"])", 40);
  const auto texts = arrow::field("c", arrow::list(arrow::utf8()));
  const auto bytes = arrow::field("c", arrow::list(arrow::large_binary()));
  const auto numbers = arrow::field("c", arrow::list(arrow::int32()));
  const std::pair<std::string, std::string> full_zip = {"structural-encoding", "fullzip"};
  return {
      Write("packed", packed, "[" + row + ",null," + row + "]"),
      Write("packed-valid", packed, "[" + row + "," + row + "]"),
      Write("packed-list", arrow::field("c", arrow::list(packed)),
            "[[" + row + ",null],[],null,[" + row + "]]"),
      Write("list-text", With(texts, {full_zip}), lists),
      Write("list-plain", With(texts, {full_zip, {"compression", "none"}}), lists),
      Write("list-zstd", With(texts, {full_zip, {"compression", "zstd"}}), words),
      Write("list-fsst", With(texts, {full_zip, {"compression", "fsst"}}), words),
      Write("list-bytes", With(bytes, {full_zip}), lists),
      Write("list-numbers", With(numbers, {full_zip}), "[[1,2],[],null,[null,3]]"),
      Write("text", With(arrow::field("c", arrow::utf8()), {full_zip}), R"(["a",null,"bc"])"),
      Write("large-text", With(arrow::field("c", arrow::large_utf8()), {full_zip}),
            R"(["a",null,"bc"])"),
  };
}

std::vector<Schema> RareSchemas() {
  const auto extension = [](const std::string& name, std::shared_ptr<arrow::DataType> type) {
    return arrow::field("c", std::move(type))
        ->WithMetadata(arrow::key_value_metadata({"ARROW:extension:name"}, {name}));
  };
  const auto blob = arrow::struct_(
      {arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8())});
  const std::vector<std::shared_ptr<arrow::Field>> fields = {
      arrow::field("c", arrow::dictionary(arrow::int8(), arrow::utf8())),
      arrow::field("c", arrow::map(arrow::utf8(), arrow::int32())),
      arrow::field("c", arrow::large_list(arrow::struct_({arrow::field("x", arrow::null())}))),
      arrow::field("c",
                   arrow::fixed_size_list(arrow::struct_({arrow::field("x", arrow::int8())}), 3)),
      arrow::field("c", arrow::timestamp(arrow::TimeUnit::NANO, "Europe/Berlin")),
      arrow::field("c", arrow::utf8_view()),
      extension("arrow.json", arrow::utf8()),
      extension("arrow.uuid", arrow::fixed_size_binary(16)),
      extension("lance.blob.v2", blob),
      With(arrow::field("c", arrow::large_binary()), {{"blob", "true"}}),
      arrow::field(
          "c", arrow::fixed_size_list(extension("lance.bfloat16", arrow::fixed_size_binary(2)), 4)),
  };
  std::vector<Schema> schemas;
  for (const auto& field : fields) {
    if (auto schema = SchemaFromArrow(*arrow::schema({field})); schema.ok()) {
      schemas.push_back(*std::move(schema));
    } else {
      schema.status().Abort(field->ToString());
    }
  }
  return schemas;
}

}  // namespace lake::format
