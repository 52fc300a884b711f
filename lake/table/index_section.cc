#include <algorithm>

#include "lake/format/parse_message_internal.h"
#include "lake/table/deletion_vector.h"
#include "lake/table/index_section_internal.h"

namespace lake::table {

namespace {

/// The last part of the type of an index's details, such as "BTreeIndexDetails"; empty if it has
/// none.
std::string DetailsType(const pb::IndexMetadata& index) {
  pb::IndexDetails details;
  if (!index.has_index_details() ||
      !format::ParseMessage(index.index_details(), "index details", &details).ok()) {
    return {};
  }
  const std::string& url = details.type_url();
  return url.substr(url.find_last_of("./") + 1);
}

/// True if, in a table with stable row ids, the index holds those and not addresses: what is known
/// of upstream's types and versions. Others are taken for addresses, which costs speed only.
bool HoldsRowIds(const pb::IndexMetadata& index) {
  struct KnownType {
    std::string_view type;
    int32_t last_version;
  };
  constexpr KnownType kTypes[] = {
      {"BTreeIndexDetails", 0},  {"BitmapIndexDetails", 0}, {"LabelListIndexDetails", 1},
      {"NGramIndexDetails", 0},  {"RTreeIndexDetails", 0},  {"InvertedIndexDetails", 2},
      {"VectorIndexDetails", 2},
  };
  const std::string type = DetailsType(index);
  return std::any_of(std::begin(kTypes), std::end(kTypes), [&](const KnownType& known) {
    return known.type == type && index.index_version() <= known.last_version;
  });
}

bool OnAny(const pb::IndexMetadata& index, const std::set<int32_t>& fields) {
  return std::any_of(index.fields().begin(), index.fields().end(),
                     [&](int32_t field) { return fields.contains(field); });
}

Result<DeletionVector> Bitmap(const pb::IndexMetadata& index) {
  return DeletionVector::FromBitmap(index.fragment_bitmap(), 1ull << 32,
                                    "fragment bitmap of index " + index.name());
}

DeletionVector SetOf(std::vector<uint64_t> ids) {
  std::sort(ids.begin(), ids.end());
  std::vector<uint32_t> rows(ids.begin(), ids.end());
  return DeletionVector::FromSortedRows(rows);
}

bool Contains(const DeletionVector& all, const DeletionVector& part) {
  return DeletionVector::Difference(part, all).empty();
}

std::vector<uint64_t> IdsOf(const std::vector<Fragment>& fragments) {
  std::vector<uint64_t> ids;
  for (const Fragment& fragment : fragments) ids.push_back(fragment.id);
  return ids;
}

std::string Bytes(const Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()};
}

}  // namespace

Status IndexSection::Load() {
  if (section_) return Status::OK();
  section_.emplace();
  if (bytes_ && !format::ParseMessage(*bytes_, "index section", &*section_).ok()) {
    section_.reset();
    return Error(ErrorCode::kCorrupt, "index section of the newest version is no valid protobuf");
  }
  return Status::OK();
}

Result<std::optional<std::string>> IndexSection::Finish() const {
  if (!changed_) return bytes_;
  if (section_->indices().empty()) return std::optional<std::string>();
  std::string bytes;
  if (!section_->SerializeToString(&bytes)) {
    return Error(ErrorCode::kUnsupported, "index section is larger than 2 GiB");
  }
  return std::optional<std::string>(std::move(bytes));
}

void IndexSection::Clear() {
  bytes_.reset();
  section_.emplace();
  changed_ = true;
}

Status IndexSection::KeepFields(const std::set<int32_t>& fields) {
  if (!bytes_) return Status::OK();
  ARROW_RETURN_NOT_OK(Load());
  auto* indices = section_->mutable_indices();
  auto gone = std::remove_if(indices->begin(), indices->end(), [&](const auto& index) {
    return std::any_of(index.fields().begin(), index.fields().end(),
                       [&](int32_t field) { return !fields.contains(field); });
  });
  if (gone == indices->end()) return Status::OK();
  indices->erase(gone, indices->end());
  changed_ = true;
  return Status::OK();
}

Status IndexSection::Uncover(const std::vector<uint64_t>& fragments,
                             const std::set<int32_t>& fields) {
  if (!bytes_ || fragments.empty()) return Status::OK();
  ARROW_RETURN_NOT_OK(Load());
  const DeletionVector changed = SetOf(fragments);
  for (pb::IndexMetadata& index : *section_->mutable_indices()) {
    if (!OnAny(index, fields) || !index.has_fragment_bitmap()) continue;
    ARROW_ASSIGN_OR_RAISE(DeletionVector bitmap, Bitmap(index));
    index.set_fragment_bitmap(DeletionVector::Difference(bitmap, changed).ToBitmap());
    changed_ = true;
  }
  return Status::OK();
}

Status IndexSection::CoverMoved(const std::vector<uint64_t>& from, const std::vector<uint64_t>& to,
                                const std::set<int32_t>& changed) {
  if (!bytes_ || to.empty()) return Status::OK();
  ARROW_RETURN_NOT_OK(Load());
  const DeletionVector old_fragments = SetOf(from);
  const DeletionVector new_fragments = SetOf(to);
  for (pb::IndexMetadata& index : *section_->mutable_indices()) {
    if (index.fields().empty() || OnAny(index, changed) || !HoldsRowIds(index)) continue;
    if (!index.has_fragment_bitmap()) continue;
    ARROW_ASSIGN_OR_RAISE(DeletionVector bitmap, Bitmap(index));
    if (!Contains(bitmap, old_fragments)) continue;
    index.set_fragment_bitmap(DeletionVector::Union(bitmap, new_fragments).ToBitmap());
    changed_ = true;
  }
  return Status::OK();
}

Status IndexSection::Rewrite(const RewriteOperation& operation, bool stable_row_ids) {
  if (!bytes_) return Status::OK();
  ARROW_RETURN_NOT_OK(Load());
  for (pb::IndexMetadata& index : *section_->mutable_indices()) {
    if (!index.has_fragment_bitmap() || index.fields().empty()) continue;
    auto rewritten = std::find_if(
        operation.rewritten_indices.begin(), operation.rewritten_indices.end(),
        [&](const RewrittenIndex& other) { return Bytes(other.old_id) == index.uuid().uuid(); });
    const bool brought_along = rewritten != operation.rewritten_indices.end();
    if (!brought_along && !(stable_row_ids && HoldsRowIds(index))) continue;
    ARROW_ASSIGN_OR_RAISE(DeletionVector bitmap, Bitmap(index));
    for (const RewriteGroup& group : operation.groups) {
      const DeletionVector old_fragments = SetOf(IdsOf(group.old_fragments));
      if (!Contains(bitmap, old_fragments)) continue;
      bitmap = DeletionVector::Union(DeletionVector::Difference(bitmap, old_fragments),
                                     SetOf(IdsOf(group.new_fragments)));
    }
    index.set_fragment_bitmap(bitmap.ToBitmap());
    changed_ = true;
    if (!brought_along) continue;
    index.mutable_uuid()->set_uuid(Bytes(rewritten->new_id));
    index.set_index_version(static_cast<int32_t>(rewritten->new_version));
    if (!rewritten->new_details.empty()) index.set_index_details(rewritten->new_details);
    index.clear_files();
    for (const auto& [path, size] : rewritten->files) {
      pb::IndexFile* file = index.add_files();
      file->set_path(path);
      file->set_size(size);
    }
  }
  return Status::OK();
}

Status IndexSection::Replace(const CreateIndexOperation& operation) {
  ARROW_RETURN_NOT_OK(Load());
  auto parse = [](const std::string& bytes, pb::IndexMetadata* index) -> Status {
    if (format::ParseMessage(bytes, "index", index).ok()) return Status::OK();
    return Error(ErrorCode::kInvalidArgument, "index entry of a transaction is no valid message");
  };
  auto* indices = section_->mutable_indices();
  for (const std::string& bytes : operation.removed) {
    pb::IndexMetadata removed;
    ARROW_RETURN_NOT_OK(parse(bytes, &removed));
    indices->erase(std::remove_if(indices->begin(), indices->end(),
                                  [&](const auto& index) {
                                    return index.uuid().uuid() == removed.uuid().uuid();
                                  }),
                   indices->end());
  }
  for (const std::string& bytes : operation.added) {
    ARROW_RETURN_NOT_OK(parse(bytes, section_->add_indices()));
  }
  changed_ = true;
  return Status::OK();
}

Status IndexSection::DropEmptyVectorIndices(const std::set<uint64_t>& fragments) {
  if (!bytes_) return Status::OK();
  ARROW_RETURN_NOT_OK(Load());
  const DeletionVector existing = SetOf({fragments.begin(), fragments.end()});
  auto* indices = section_->mutable_indices();
  for (int i = indices->size() - 1; i >= 0; --i) {
    const pb::IndexMetadata& index = (*indices)[i];
    if (DetailsType(index) != "VectorIndexDetails" || !index.has_fragment_bitmap()) continue;
    ARROW_ASSIGN_OR_RAISE(DeletionVector bitmap, Bitmap(index));
    if (!DeletionVector::Intersection(bitmap, existing).empty()) continue;
    indices->DeleteSubrange(i, 1);
    changed_ = true;
  }
  return Status::OK();
}

Status IndexSection::SetBase(uint32_t base_id) {
  if (!bytes_) return Status::OK();
  ARROW_RETURN_NOT_OK(Load());
  for (pb::IndexMetadata& index : *section_->mutable_indices()) {
    if (!index.has_base_id()) index.set_base_id(base_id);
  }
  changed_ = true;
  return Status::OK();
}

}  // namespace lake::table
