#pragma once

#include <google/protobuf/map.h>
#include <google/protobuf/repeated_field.h>

#include "lake/base/error.h"
#include "lake/format/file.pb.h"
#include "lake/format/schema.h"

namespace lake::format {

using FieldMessages = google::protobuf::RepeatedPtrField<pb::Field>;
using MetadataMessage = google::protobuf::Map<std::string, std::string>;

/// Appends the fields of `schema` to `messages`: a flat list in pre-order, the tree told by
/// parent_id, as files and manifests carry it.
void FieldsToMessages(const Schema& schema, FieldMessages* messages);

/// Rebuilds the tree. Any logical type passes: ToArrow decides what is read. A field whose id is
/// negative and that has no parent belongs to the last field before it that has an id (upstream
/// writes the parts of a blob so). kCorrupt, naming `source` and field, for a parent that does not
/// come before its child, an id used twice, a name used twice under one parent, or nesting deeper
/// than 64.
Result<std::vector<Field>> FieldsFromMessages(const FieldMessages& messages,
                                              const std::string& source);

/// The schema of a file's descriptor or of a manifest, metadata included.
void SchemaToMessage(const Schema& schema, pb::Schema* message);
Result<Schema> SchemaFromMessage(const pb::Schema& message, const std::string& source);

void MetadataToMessage(const std::map<std::string, std::string>& metadata,
                       MetadataMessage* message);
std::map<std::string, std::string> MetadataFromMessage(const MetadataMessage& message);

}  // namespace lake::format
