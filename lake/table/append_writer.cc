#include "lake/table/append_writer.h"

#include <algorithm>

#include <arrow/record_batch.h>

#include "lake/base/uuid.h"
#include "lake/format/file_writer.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/transaction.h"

namespace lake::table {

namespace {

// The first bytes of a file's UUID stand in its name bit by bit, as upstream names files, so that
// object stores that partition by prefix spread them.
constexpr size_t kSpreadBytes = 3;

class AppendWriterImpl final : public AppendWriter {
 public:
  AppendWriterImpl(const Context& context, std::shared_ptr<storage::ObjectStore> store,
                   format::Schema schema, AppendWriterOptions options)
      : context_(context),
        store_(std::move(store)),
        schema_(std::move(schema)),
        has_blobs_(std::any_of(schema_.fields.begin(), schema_.fields.end(), format::HoldsBlobs)),
        options_(std::move(options)) {}

  ~AppendWriterImpl() override {
    if (finished_) return;
    blobs_.reset();
    writer_.reset();
    // Nobody is left to hear of an error; what stays behind is a leftover that no version names.
    (void)RemoveUncommitted(context_, store_.get(), published_keys_);
  }

  using AppendWriter::Write;
  Status Write(const arrow::RecordBatch& batch, const BlobOrigin& origin) override;
  uint64_t num_rows() const override { return num_rows_; }
  Result<std::vector<Fragment>> Finish() override;
  const std::vector<std::string>& new_objects() const override { return published_keys_; }

 private:
  Status OpenFile();
  Status CloseFile();
  /// Rows that fit the open file.
  Status WriteRows(const arrow::RecordBatch& rows, const BlobOrigin& origin);

  const Context context_;
  const std::shared_ptr<storage::ObjectStore> store_;
  const format::Schema schema_;
  const bool has_blobs_;
  const AppendWriterOptions options_;
  /// The file that is being written, if one is.
  std::unique_ptr<format::FileWriter> writer_;
  /// The last one that was ended, until the next is opened: then the next one's pages take the
  /// memory of its pages, which otherwise goes back to the system in between.
  std::unique_ptr<format::FileWriter> ended_writer_;
  std::unique_ptr<BlobWriter> blobs_;
  std::string name_;
  std::vector<Fragment> fragments_;
  /// Files that are visible, or may be after an error.
  std::vector<std::string> published_keys_;
  uint64_t num_rows_ = 0;
  bool finished_ = false;
};

Status AppendWriterImpl::OpenFile() {
  name_ = NewDataFileName(context_);
  ARROW_ASSIGN_OR_RAISE(writer_,
                        format::FileWriter::Open(context_, store_, "data/" + name_, schema_,
                                                 {.max_buffered_bytes = options_.max_buffered_bytes,
                                                  .version = options_.file_version}));
  ended_writer_.reset();
  if (has_blobs_) {
    ARROW_ASSIGN_OR_RAISE(
        blobs_, BlobWriter::Open(context_, store_, &schema_, name_, &options_.blobs, writer_.get(),
                                 &published_keys_));
  }
  return Status::OK();
}

Status AppendWriterImpl::CloseFile() {
  if (blobs_ != nullptr) ARROW_RETURN_NOT_OK(blobs_->Finish());
  blobs_.reset();
  published_keys_.push_back("data/" + name_);
  ARROW_ASSIGN_OR_RAISE(format::WrittenFile written, writer_->Finish());
  ended_writer_ = std::move(writer_);
  Fragment& fragment = fragments_.emplace_back();
  fragment.physical_rows = written.num_rows;
  fragment.files.push_back({.path = name_,
                            .field_ids = std::move(written.field_ids),
                            .column_indices = std::move(written.column_indices),
                            .version = written.version,
                            .size_bytes = written.size_bytes,
                            .base_id = std::nullopt,
                            .unknown_fields = {}});
  return Status::OK();
}

Status AppendWriterImpl::WriteRows(const arrow::RecordBatch& rows, const BlobOrigin& origin) {
  if (blobs_ == nullptr) return writer_->Write(rows);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> stored, blobs_->Store(rows, origin));
  return writer_->Write(*stored);
}

Status AppendWriterImpl::Write(const arrow::RecordBatch& batch, const BlobOrigin& origin) {
  if (finished_) return Error(ErrorCode::kInvalidArgument, "rows are written behind the end");
  int64_t offset = 0;
  while (offset < batch.num_rows()) {
    if (writer_ == nullptr) ARROW_RETURN_NOT_OK(OpenFile());
    const int64_t room = static_cast<int64_t>(options_.max_rows_per_file - writer_->num_rows());
    const int64_t count = std::min(room, batch.num_rows() - offset);
    BlobOrigin part = origin;
    if (part.dataset != nullptr) part.addresses = origin.addresses.subspan(offset, count);
    ARROW_RETURN_NOT_OK(WriteRows(*batch.Slice(offset, count), part));
    offset += count;
    num_rows_ += count;
    if (writer_->num_rows() >= options_.max_rows_per_file ||
        writer_->estimated_size() >= options_.max_bytes_per_file) {
      ARROW_RETURN_NOT_OK(CloseFile());
    }
  }
  return Status::OK();
}

Result<std::vector<Fragment>> AppendWriterImpl::Finish() {
  if (finished_) return Error(ErrorCode::kInvalidArgument, "writer was finished before");
  if (writer_ != nullptr) ARROW_RETURN_NOT_OK(CloseFile());
  ended_writer_.reset();
  finished_ = true;
  return std::move(fragments_);
}

}  // namespace

std::string NewDataFileName(const Context& context) {
  const Uuid uuid = Uuid::NewV4(context);
  std::string name;
  for (size_t i = 0; i < uuid.bytes.size(); ++i) {
    name += i < kSpreadBytes ? fmt::format("{:08b}", uuid.bytes[i])
                             : fmt::format("{:02x}", uuid.bytes[i]);
  }
  return name + ".lance";
}

Result<std::unique_ptr<AppendWriter>> AppendWriter::Open(
    const Context& context, std::shared_ptr<storage::ObjectStore> store, format::Schema schema,
    AppendWriterOptions options) {
  if (options.max_rows_per_file == 0 || options.max_rows_per_file > (1ull << 31)) {
    return Error(ErrorCode::kInvalidArgument, "rows per file must be 1 to 2^31: {}",
                 options.max_rows_per_file);
  }
  return std::make_unique<AppendWriterImpl>(context, std::move(store), std::move(schema),
                                            std::move(options));
}

}  // namespace lake::table
