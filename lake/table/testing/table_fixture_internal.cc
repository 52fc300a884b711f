#include "lake/table/testing/table_fixture_internal.h"

#include <algorithm>
#include <numeric>

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/type.h>
#include <fmt/core.h>
#include <roaring/roaring.h>

namespace lake::table {

std::shared_ptr<arrow::RecordBatch> Rows(int64_t first, int64_t count) {
  arrow::Int64Builder ids;
  arrow::StringBuilder names;
  for (int64_t id = first; id < first + count; ++id) {
    EXPECT_TRUE(ids.Append(id).ok());
    EXPECT_TRUE((id % 7 == 0 ? names.AppendNull() : names.Append(fmt::format("n{}", id))).ok());
  }
  return arrow::RecordBatch::Make(format::ToArrow(SmallSchema()).ValueOrDie(), count,
                                  {ids.Finish().ValueOrDie(), names.Finish().ValueOrDie()});
}

std::vector<int64_t> Ids(const arrow::RecordBatch& batch, const std::string& name) {
  auto column = std::static_pointer_cast<arrow::Int64Array>(batch.GetColumnByName(name));
  return {column->raw_values(), column->raw_values() + column->length()};
}

std::vector<int64_t> Range(int64_t first, int64_t last) {
  std::vector<int64_t> ids(last - first);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

void TableFixture::Create(int64_t rows, uint64_t per_fragment) {
  auto writer =
      AppendWriter::Open(context(), store_, SmallSchema(), {.max_rows_per_file = per_fragment})
          .ValueOrDie();
  // Batches that do not end where fragments end.
  for (int64_t first = 0; first < rows; first += 333) {
    ASSERT_TRUE(writer->Write(*Rows(first, std::min<int64_t>(333, rows - first))).ok());
  }
  Transaction create = MakeCreate(context(), SmallSchema(), writer->Finish().ValueOrDie());
  ASSERT_TRUE(Commit(context(), store_, create, {}).ok());
}

void TableFixture::Delete(uint64_t fragment, const std::vector<uint32_t>& rows, uint64_t told) {
  roaring_bitmap_t* bitmap = roaring_bitmap_of_ptr(rows.size(), rows.data());
  std::string bytes(roaring_bitmap_portable_size_in_bytes(bitmap), '\0');
  roaring_bitmap_portable_serialize(bitmap, bytes.data());
  roaring_bitmap_free(bitmap);
  ASSERT_TRUE(store_
                  ->Put(context(), fmt::format("_deletions/{}-1-5.bin", fragment), bytes,
                        storage::PutCondition::kNone)
                  .ok());
  ASSERT_TRUE(PutForeignVersion(
                  context(), store_.get(),
                  [&](pb::Manifest* manifest, pb::Transaction* transaction) {
                    transaction->mutable_delete_();
                    auto* file = manifest->mutable_fragments(fragment)->mutable_deletion_file();
                    file->set_file_type(pb::DeletionFile::BITMAP);
                    file->set_read_version(1);
                    file->set_id(5);
                    file->set_num_deleted_rows(told == UINT64_MAX ? rows.size() : told);
                    manifest->set_reader_feature_flags(1);
                    manifest->set_writer_feature_flags(1);
                  })
                  .ok());
}

std::shared_ptr<Dataset> TableFixture::Open(const OpenOptions& options) {
  return Dataset::Open(context(), store_, options).ValueOrDie();
}

std::vector<std::shared_ptr<arrow::RecordBatch>> TableFixture::ScanAll(const ScanOptions& options) {
  auto scanner = Open()->Scan(context(), options).ValueOrDie();
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (size_t i = 0; i < scanner->num_morsels(); ++i) {
    auto batch = scanner->Read(context(), i).ValueOrDie();
    if (batch == nullptr) continue;
    EXPECT_TRUE(batch->ValidateFull().ok());
    EXPECT_TRUE(batch->schema()->Equals(*scanner->schema()));
    EXPECT_LE(batch->num_rows(), static_cast<int64_t>(scanner->morsel_rows(i)));
    batches.push_back(batch);
  }
  return batches;
}

std::vector<int64_t> TableFixture::ScanIds(const ScanOptions& options) {
  std::vector<int64_t> ids;
  for (const auto& batch : ScanAll(options)) {
    std::vector<int64_t> some = Ids(*batch);
    ids.insert(ids.end(), some.begin(), some.end());
  }
  return ids;
}

void TableFixture::Foreign(const ForeignEdit& edit) {
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), edit).ok());
}

}  // namespace lake::table
