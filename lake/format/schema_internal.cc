#include "lake/format/schema_internal.h"

#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace lake::format {
namespace {

// Field.encoding is a leftover of the first file format; some old readers still look at it.
int EncodingNumber(std::string_view logical_type) {
  constexpr int kNone = 0;
  constexpr int kPlain = 1;
  constexpr int kVarBinary = 2;
  constexpr int kDictionary = 3;
  if (logical_type == "struct" || logical_type == "null") return kNone;
  if (logical_type.starts_with("dict:")) return kDictionary;
  for (const std::string_view name : {"string", "large_string", "binary", "large_binary", "json"}) {
    if (logical_type == name) return kVarBinary;
  }
  return kPlain;
}

// `last_id` is the last id that was appended: a field without one that names no parent is read as
// a part of that field.
void AppendField(const Field& field, int32_t parent_id, int32_t* last_id, FieldMessages* messages) {
  pb::Field* message = messages->Add();
  message->set_name(field.name);
  message->set_id(field.id);
  message->set_parent_id(field.id < 0 && parent_id == *last_id ? -1 : parent_id);
  if (field.id >= 0) *last_id = field.id;
  message->set_logical_type(field.logical_type);
  message->set_nullable(field.nullable);
  message->set_encoding(EncodingNumber(field.logical_type));
  if (field.logical_type.starts_with("dict:")) message->mutable_dictionary();
  message->set_unenforced_primary_key(field.unenforced_primary_key);
  if (const auto extension = field.metadata.find(kExtensionNameKey);
      extension != field.metadata.end()) {
    message->set_extension_name(extension->second);
  }
  MetadataToMessage(field.metadata, message->mutable_metadata());
  for (const Field& child : field.children) AppendField(child, field.id, last_id, messages);
}

// One message with the indices of its children, before the tree is put together.
struct Node {
  std::vector<int> children;
  int depth = 1;
};

Field BuildField(const FieldMessages& messages, const std::vector<Node>& nodes, int index) {
  const pb::Field& message = messages[index];
  Field field;
  field.id = message.id();
  field.name = message.name();
  field.logical_type = message.logical_type();
  field.nullable = message.nullable();
  field.metadata = MetadataFromMessage(message.metadata());
  field.unenforced_primary_key = message.unenforced_primary_key();
  field.children.reserve(nodes[index].children.size());
  for (const int child : nodes[index].children) {
    field.children.push_back(BuildField(messages, nodes, child));
  }
  return field;
}

Status CheckNames(const FieldMessages& messages, const std::vector<int>& siblings,
                  const std::string& source) {
  std::set<std::string_view> names;
  for (const int index : siblings) {
    if (!names.insert(messages[index].name()).second) {
      return Error(ErrorCode::kCorrupt, "schema has two fields of the same name: field '{}', {}",
                   messages[index].name(), source);
    }
  }
  return Status::OK();
}

}  // namespace

void MetadataToMessage(const std::map<std::string, std::string>& metadata,
                       MetadataMessage* message) {
  for (const auto& [key, value] : metadata) (*message)[key] = value;
}

std::map<std::string, std::string> MetadataFromMessage(const MetadataMessage& message) {
  return {message.begin(), message.end()};
}

void FieldsToMessages(const Schema& schema, FieldMessages* messages) {
  int32_t last_id = -1;
  for (const Field& field : schema.fields) AppendField(field, -1, &last_id, messages);
}

Result<std::vector<Field>> FieldsFromMessages(const FieldMessages& messages,
                                              const std::string& source) {
  std::vector<Node> nodes(messages.size());
  std::vector<int> roots;
  std::unordered_map<int32_t, int> index_of_id;
  int last_with_id = -1;
  for (int i = 0; i < messages.size(); ++i) {
    const pb::Field& message = messages[i];
    int parent = -1;
    if (message.id() < 0 && message.parent_id() < 0) {
      parent = last_with_id;
    } else if (message.parent_id() >= 0) {
      const auto found = index_of_id.find(message.parent_id());
      if (found == index_of_id.end()) {
        return Error(ErrorCode::kCorrupt,
                     "schema field names a parent that does not stand before it: field '{}', "
                     "parent id {}, {}",
                     message.name(), message.parent_id(), source);
      }
      parent = found->second;
    }
    if (message.id() >= 0) {
      if (!index_of_id.emplace(message.id(), i).second) {
        return Error(ErrorCode::kCorrupt,
                     "schema has two fields of the same id: field '{}', id {}, {}", message.name(),
                     message.id(), source);
      }
      last_with_id = i;
    }
    if (parent < 0) {
      roots.push_back(i);
      continue;
    }
    nodes[parent].children.push_back(i);
    nodes[i].depth = nodes[parent].depth + 1;
    if (nodes[i].depth > kMaxTypeDepth) {
      return Error(ErrorCode::kCorrupt, "schema is nested too deep: field '{}', limit {}, {}",
                   message.name(), kMaxTypeDepth, source);
    }
  }
  ARROW_RETURN_NOT_OK(CheckNames(messages, roots, source));
  for (const Node& node : nodes) ARROW_RETURN_NOT_OK(CheckNames(messages, node.children, source));

  std::vector<Field> fields;
  fields.reserve(roots.size());
  for (const int root : roots) fields.push_back(BuildField(messages, nodes, root));
  return fields;
}

void SchemaToMessage(const Schema& schema, pb::Schema* message) {
  FieldsToMessages(schema, message->mutable_fields());
  MetadataToMessage(schema.metadata, message->mutable_metadata());
}

Result<Schema> SchemaFromMessage(const pb::Schema& message, const std::string& source) {
  Schema schema;
  ARROW_ASSIGN_OR_RAISE(schema.fields, FieldsFromMessages(message.fields(), source));
  schema.metadata = MetadataFromMessage(message.metadata());
  return schema;
}

}  // namespace lake::format
