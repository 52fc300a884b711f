#include "lake/service/ingest.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lake/base/posix_error.h"
#include "lake/base/uuid.h"
#include "lake/objects/file_source.h"
#include "lake/objects/sha256.h"
#include "lake/service/column_mapping.h"
#include "lake/service/folder_walk.h"
#include "lake/service/row_source.h"

namespace lake::service {
namespace {

// A source as it was when its digest was taken.
struct Source {
  std::string path;
  std::string name;  // for texts
  struct stat state = {};
};

bool SameState(const struct stat& a, const struct stat& b) {
  auto same = [](const timespec& x, const timespec& y) {
    return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec;
  };
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         same(a.st_mtim, b.st_mtim) && same(a.st_ctim, b.st_ctim);
}

Result<Source> FindSource(const std::string& path) {
  Source source{.path = path, .name = DisplayName(path)};
  if (::stat(path.c_str(), &source.state) != 0) {
    return PosixError(errno, "cannot open the source", source.name);
  }
  if (!S_ISREG(source.state.st_mode)) {
    return Error(ErrorCode::kInvalidArgument, "only regular files can be ingested: '{}'",
                 source.name);
  }
  return source;
}

Status CheckUnchanged(const Source& source) {
  struct stat now;
  if (::stat(source.path.c_str(), &now) == 0 && SameState(now, source.state)) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "the source changed while it was read; nothing was written, ingest it again when "
               "nothing writes to it: '{}'",
               source.name);
}

class Ingestion {
 public:
  Ingestion(const Context& context, commit::Lakehouse* lakehouse,
            const catalog::Principal& principal, const IngestRequest& request)
      : context_(context), lakehouse_(lakehouse), principal_(principal), request_(request) {}

  Result<IngestResult> Run();

 private:
  Status FindSources();
  // Over the table's name and the bytes of all sources, in order: what makes two requests the same.
  Result<std::string> Digest();
  Result<std::unique_ptr<commit::TableWrite>> OpenWrite();
  // Opens each source and checks its columns, so that nothing is written for a request that cannot
  // succeed.
  Status CheckSources(const std::shared_ptr<arrow::Schema>& schema);
  Status Copy(const Source& source, commit::TableWrite* write);
  void Advance(uint64_t bytes_of_current);

  const Context& context_;
  commit::Lakehouse* const lakehouse_;
  const catalog::Principal& principal_;
  const IngestRequest& request_;
  std::vector<Source> sources_;
  commit::OperationKey operation_;
  IngestProgress progress_;
  uint64_t bytes_of_finished_ = 0;
};

Status Ingestion::FindSources() {
  if (request_.file_version && !request_.create) {
    return Error(ErrorCode::kInvalidArgument,
                 "a file version is for a table that is made; one that is there has its own: {}",
                 request_.table.ToString());
  }
  if (request_.paths.empty()) {
    return Error(ErrorCode::kInvalidArgument, "no file to ingest was named");
  }
  for (const std::string& path : request_.paths) {
    ARROW_ASSIGN_OR_RAISE(Source source, FindSource(path));
    progress_.bytes_total += static_cast<uint64_t>(source.state.st_size);
    sources_.push_back(std::move(source));
  }
  progress_.files_total = sources_.size();
  return Status::OK();
}

Result<std::string> Ingestion::Digest() {
  objects::Sha256 all;
  all.Update(fmt::format("lake ingest 1\n{}\n{}\n{}\n", request_.table.name_space,
                         request_.table.name, sources_.size()));
  if (request_.file_version) {
    all.Update(fmt::format("file version {}\n", request_.file_version->ToString()));
  }
  for (const Source& source : sources_) {
    ARROW_ASSIGN_OR_RAISE(std::string digest, objects::HashFile(context_, source.path));
    all.Update(digest + "\n");
  }
  return all.Finish();
}

Result<std::unique_ptr<commit::TableWrite>> Ingestion::OpenWrite() {
  commit::WriteOptions options;
  options.operation = operation_;
  // A quarter of the budget: the writer's pages stand beside the source's blocks and their
  // conversion.
  options.max_buffered_bytes =
      std::min(request_.max_buffered_bytes, static_cast<uint64_t>(context_.memory->limit() / 4));
  options.file_version = request_.file_version;
  if (request_.create) {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowSource> first,
                          OpenRowSource(context_, sources_.front().path, nullptr));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Schema> schema,
                          SchemaForSource(*first->schema(), sources_.front().name,
                                          request_.file_version.value_or(format::kFileVersion22)));
    ARROW_RETURN_NOT_OK(CheckSources(schema));
    return lakehouse_->Create(context_, principal_, request_.table, *schema, {}, options);
  }
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<const commit::OpenTable> table,
      lakehouse_->OpenByName(context_, principal_, request_.table, catalog::NameMatch::kExact));
  ARROW_RETURN_NOT_OK(CheckSources(table->dataset->arrow_schema()));
  return lakehouse_->Append(context_, principal_, std::move(table), options);
}

Status Ingestion::CheckSources(const std::shared_ptr<arrow::Schema>& schema) {
  for (const Source& source : sources_) {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowSource> rows,
                          OpenRowSource(context_, source.path, schema.get()));
    ARROW_RETURN_NOT_OK(ColumnMapping::Make(*rows->schema(), schema, source.name).status());
  }
  return Status::OK();
}

Status Ingestion::Copy(const Source& source, commit::TableWrite* write) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowSource> rows,
                        OpenRowSource(context_, source.path, write->schema().get()));
  ARROW_ASSIGN_OR_RAISE(ColumnMapping mapping,
                        ColumnMapping::Make(*rows->schema(), write->schema(), source.name));
  uint64_t row = rows->first_row_number();
  while (true) {
    ARROW_RETURN_NOT_OK(context_.Check());
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, rows->Next());
    if (batch == nullptr) break;
    if (batch->num_rows() == 0) continue;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> converted,
                          mapping.Convert(context_, *batch, row));
    ARROW_RETURN_NOT_OK(write->Write(*converted));
    row += static_cast<uint64_t>(batch->num_rows());
    progress_.rows += static_cast<uint64_t>(batch->num_rows());
    Advance(rows->bytes_read());
  }
  ARROW_RETURN_NOT_OK(CheckUnchanged(source));
  bytes_of_finished_ += static_cast<uint64_t>(source.state.st_size);
  ++progress_.files_done;
  Advance(0);
  return Status::OK();
}

void Ingestion::Advance(uint64_t bytes_of_current) {
  progress_.bytes_done = bytes_of_finished_ + bytes_of_current;
  if (request_.progress) request_.progress(progress_);
}

Result<IngestResult> Ingestion::Run() {
  ARROW_RETURN_NOT_OK(FindSources());
  IngestResult result;
  result.operation_id =
      request_.operation_id.empty() ? Uuid::NewV7(context_).ToString() : request_.operation_id;
  ARROW_ASSIGN_OR_RAISE(std::string digest, Digest());
  operation_ = {.operation_id = result.operation_id, .payload_digest = std::move(digest)};
  if (!request_.operation_id.empty()) {
    auto replayed = lakehouse_->Replay(context_, principal_, operation_);
    if (replayed.ok()) {
      result.outcome = *replayed;
      return result;
    }
    if (CodeOf(replayed.status()) != ErrorCode::kNotFound) return replayed.status();
  }
  Advance(0);
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<commit::TableWrite> write, OpenWrite());
  for (const Source& source : sources_) {
    Status copied = Copy(source, write.get());
    if (!copied.ok()) {
      ARROW_UNUSED(write->Abort(context_));  // the error of the source is the one to tell
      return copied;
    }
  }
  auto outcome = write->Commit(context_);
  if (!outcome.ok()) {
    if (!IsCommitStateUnknown(outcome.status())) return outcome.status();
    return WithContext(outcome.status(), "run it again with --operation-id " + result.operation_id);
  }
  result.outcome = *outcome;
  return result;
}

}  // namespace

Result<IngestResult> Ingest(const Context& context, commit::Lakehouse* lakehouse,
                            const catalog::Principal& principal, const IngestRequest& request) {
  return Ingestion(context, lakehouse, principal, request).Run();
}

}  // namespace lake::service
