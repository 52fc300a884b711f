// How `lake inspect` shows a file: as text and as JSON.

#include <iterator>
#include <map>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/utf8.h"
#include "lake/format/blob.h"
#include "lake/format/inspect.h"

namespace lake::format {
namespace {

namespace json = boost::json;
using Output = std::back_insert_iterator<std::string>;

std::string_view Plural(uint64_t count) { return count == 1 ? "" : "s"; }

void FieldToText(const Field& field, int depth, Output out) {
  fmt::format_to(out, "{:{}}{}  {}: {}{}{}\n", "", 2 * depth, field.id, field.name,
                 field.logical_type, field.nullable ? "" : ", not null", BlobRemark(field));
  for (const Field& child : field.children) FieldToText(child, depth + 1, out);
}

void PageToText(const PageDescription& page, size_t number, Output out) {
  fmt::format_to(out, "    page {}: rows {} to {}, {}: {}", number, page.first_row,
                 page.first_row + page.num_rows, page.layout, page.encoding);
  if (page.num_chunks != 0) {
    fmt::format_to(out, ", {} chunk{}", page.num_chunks, Plural(page.num_chunks));
  }
  if (!page.dictionary.empty()) {
    fmt::format_to(out, ", dictionary of {}: {}", page.num_dictionary_items, page.dictionary);
  }
  if (!page.repetition.empty()) fmt::format_to(out, ", repetition {}", page.repetition);
  if (!page.definition.empty()) fmt::format_to(out, ", definition {}", page.definition);
  if (!page.layers.empty()) fmt::format_to(out, ", {}", fmt::join(page.layers, " in "));
  fmt::format_to(out, "\n");
  for (const BufferDescription& buffer : page.buffers) {
    fmt::format_to(out, "      {}: {} bytes at {}\n", buffer.role, buffer.range.length,
                   buffer.range.offset);
  }
}

json::object MetadataToJson(const std::map<std::string, std::string>& metadata) {
  json::object object;
  for (const auto& [key, value] : metadata) {
    if (IsValidUtf8(value)) {
      object[key] = value;
      continue;
    }
    std::string hex = "hex:";
    for (const char byte : value) {
      fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<uint8_t>(byte));
    }
    object[key] = hex;
  }
  return object;
}

json::object FieldToJson(const Field& field) {
  json::array children;
  for (const Field& child : field.children) children.push_back(FieldToJson(child));
  return {{"id", field.id},
          {"name", field.name},
          {"type", field.logical_type},
          {"nullable", field.nullable},
          {"metadata", MetadataToJson(field.metadata)},
          {"children", std::move(children)}};
}

json::object PageToJson(const PageDescription& page) {
  json::array buffers;
  for (const BufferDescription& buffer : page.buffers) {
    buffers.push_back(
        {{"role", buffer.role}, {"offset", buffer.range.offset}, {"size", buffer.range.length}});
  }
  json::array layers;
  for (const std::string& layer : page.layers) layers.push_back(json::value(layer));
  json::object object{{"first_row", page.first_row}, {"num_rows", page.num_rows},
                      {"layout", page.layout},       {"encoding", page.encoding},
                      {"layers", std::move(layers)}, {"buffers", std::move(buffers)}};
  if (page.num_chunks != 0) object["num_chunks"] = page.num_chunks;
  if (!page.dictionary.empty()) {
    object["dictionary"] = page.dictionary;
    object["num_dictionary_items"] = page.num_dictionary_items;
  }
  if (!page.repetition.empty()) object["repetition"] = page.repetition;
  if (!page.definition.empty()) object["definition"] = page.definition;
  return object;
}

json::object ColumnToJson(const ColumnDescription& column) {
  json::array pages;
  for (const PageDescription& page : column.pages) pages.push_back(PageToJson(page));
  json::object object{{"field", column.field},           {"field_id", column.field_id},
                      {"type", column.logical_type},     {"nullable", column.nullable},
                      {"num_bytes", column.num_bytes()}, {"pages", std::move(pages)}};
  if (!column.problem.empty()) object["problem"] = column.problem;
  return object;
}

}  // namespace

std::string ToText(const FileDescription& file) {
  std::string text;
  const Output out = std::back_inserter(text);
  fmt::format_to(out, "{}: Lance file of version {}\n  {} row{}, {} column{}, {} bytes\n", file.key,
                 file.version.ToString(), file.num_rows, Plural(file.num_rows), file.columns.size(),
                 Plural(file.columns.size()), file.file_size);
  fmt::format_to(out, "  read by {}\n", FloorOf(file).ToString());
  fmt::format_to(out, "fields\n");
  for (const Field& field : file.schema.fields) FieldToText(field, 1, out);
  fmt::format_to(out, "columns\n");
  for (size_t i = 0; i < file.columns.size(); ++i) {
    const ColumnDescription& column = file.columns[i];
    fmt::format_to(out, "  {}  {}: {}, {} page{}, {} bytes\n", i,
                   column.field.empty() ? "(no field)" : column.field, column.logical_type,
                   column.pages.size(), Plural(column.pages.size()), column.num_bytes());
    if (!column.problem.empty()) fmt::format_to(out, "    {}\n", column.problem);
    for (size_t page = 0; page < column.pages.size(); ++page) {
      PageToText(column.pages[page], page, out);
    }
  }
  fmt::format_to(out, "global buffers\n");
  for (size_t i = 0; i < file.global_buffers.size(); ++i) {
    fmt::format_to(out, "  {}{}: {} bytes at {}\n", i, i == 0 ? "  descriptor" : "",
                   file.global_buffers[i].length, file.global_buffers[i].offset);
  }
  return text;
}

json::object ToJson(const ReadingFloor& floor) {
  json::array reasons;
  for (const std::string& reason : floor.reasons()) reasons.push_back(json::value(reason));
  const auto release = floor.release();
  return {{"lance", release ? json::value(release->ToString()) : json::value(nullptr)},
          {"reasons", std::move(reasons)}};
}

json::object ToJson(const FileDescription& file) {
  json::array fields;
  for (const Field& field : file.schema.fields) fields.push_back(FieldToJson(field));
  json::array columns;
  for (const ColumnDescription& column : file.columns) columns.push_back(ColumnToJson(column));
  json::array global_buffers;
  for (const ByteRange& range : file.global_buffers) {
    global_buffers.push_back({{"offset", range.offset}, {"size", range.length}});
  }
  return {{"kind", "file"},
          {"path", file.key},
          {"file_version", file.version.ToString()},
          {"file_size", file.file_size},
          {"num_rows", file.num_rows},
          {"reading_floor", ToJson(FloorOf(file))},
          {"fields", std::move(fields)},
          {"metadata", MetadataToJson(file.schema.metadata)},
          {"columns", std::move(columns)},
          {"global_buffers", std::move(global_buffers)}};
}

}  // namespace lake::format
