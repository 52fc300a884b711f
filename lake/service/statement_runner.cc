#include "lake/service/statement_runner.h"

#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include "lake/base/uuid.h"
#include "lake/objects/file_source.h"
#include "lake/objects/sha256.h"
#include "lake/service/file_parameter.h"
#include "lake/service/payload_hash.h"

namespace lake::service {
namespace {

/// A parameter after validation: text, or a file that is not uploaded yet.
struct CheckedParameter {
  std::string text;
  std::optional<FileParameter> file;
  /// Digest of the file's bytes, once known.
  std::string sha256;
};

Result<std::vector<CheckedParameter>> CheckParameters(
    const std::vector<std::string>& given, const std::vector<query::ParameterInfo>& wanted) {
  if (given.size() != wanted.size()) {
    return Error(ErrorCode::kInvalidArgument, "the statement has {} parameter{}, {} given",
                 wanted.size(), wanted.size() == 1 ? "" : "s", given.size());
  }
  std::vector<CheckedParameter> checked(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    if (wanted[i].is_file) {
      auto file = ParseFileParameter(given[i]);
      if (!file.ok()) return WithContext(file.status(), fmt::format("parameter {}", i + 1));
      checked[i].file = *std::move(file);
    } else {
      checked[i].text = given[i];
    }
  }
  return checked;
}

/// What makes two runs of a statement the same: text, values, and the content and type of files,
/// not where they lie.
std::string PayloadDigest(const std::string& statement,
                          const std::vector<CheckedParameter>& parameters) {
  PayloadHash hash("lake.sql.v1");
  hash.Add(statement);
  for (const CheckedParameter& parameter : parameters) {
    if (parameter.file.has_value()) {
      hash.Add("file");
      hash.Add(parameter.file->content_type);
      hash.Add(parameter.sha256);
    } else {
      hash.Add("text");
      hash.Add(parameter.text);
    }
  }
  return hash.Finish();
}

/// Uploads the files and returns the values of all parameters.
Result<std::vector<query::Parameter>> UploadParameters(const Context& context, Workspace* workspace,
                                                       std::vector<CheckedParameter>* parameters,
                                                       SqlObserver* observer) {
  uint64_t total = 0;
  for (const CheckedParameter& parameter : *parameters) {
    if (parameter.file.has_value()) total += parameter.file->size_bytes;
  }
  uint64_t done = 0;
  std::vector<query::Parameter> values;
  for (CheckedParameter& parameter : *parameters) {
    if (!parameter.file.has_value()) {
      values.emplace_back(parameter.text);
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<objects::Stage> stage, workspace->Stage(context));
    objects::UploadOptions options;
    options.content_type = parameter.file->content_type;
    options.progress = [&](uint64_t bytes) {
      done += bytes;
      observer->Uploading(done, total);
    };
    ARROW_ASSIGN_OR_RAISE(objects::DataLocation location,
                          stage->UploadFile(context, parameter.file->path, options));
    if (!parameter.sha256.empty() && parameter.sha256 != location.sha256) {
      return Error(ErrorCode::kInvalidArgument, "file changed while it was read: {}",
                   parameter.file->path);
    }
    parameter.sha256 = location.sha256;
    values.emplace_back(std::move(location));
  }
  return values;
}

Status NameOperation(Status status, const std::string& operation_id) {
  if (!IsCommitStateUnknown(status)) return status;
  return status.WithMessage(
      fmt::format("{}; run it again with operation id {}", status.message(), operation_id));
}

Status StreamRows(query::ResultStream* stream, SqlObserver* observer) {
  ARROW_RETURN_NOT_OK(observer->BeginRows(stream->schema()));
  while (true) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, stream->Next());
    if (batch == nullptr) break;
    observer->Progress(stream->progress());
    ARROW_RETURN_NOT_OK(observer->Rows(*batch));
  }
  return observer->EndRows();
}

/// A writing statement hands out its result after its commit; draining it is what runs it.
Result<int64_t> Drain(query::ResultStream* stream, SqlObserver* observer) {
  while (true) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, stream->Next());
    if (batch == nullptr) return stream->rows_changed();
    observer->Progress(stream->progress());
  }
}

class StatementRun {
 public:
  StatementRun(const Context& context, Workspace* workspace, query::Session* session,
               const SqlRequest& request, SqlObserver* observer)
      : context_(context),
        workspace_(workspace),
        session_(session),
        request_(request),
        observer_(observer) {}

  Status Run(const std::string& sql) {
    Result<std::unique_ptr<query::Statement>> prepared = session_->Prepare(context_, sql);
    if (!prepared.ok()) return ReplayUnprepared(sql, prepared.status());
    const std::unique_ptr<query::Statement> statement = *std::move(prepared);
    ARROW_ASSIGN_OR_RAISE(parameters_,
                          CheckParameters(request_.parameters, statement->parameters()));
    if (request_.operation_id.has_value()) {
      ARROW_ASSIGN_OR_RAISE(bool replayed, Replay(sql));
      if (replayed) return Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(std::vector<query::Parameter> values,
                          UploadParameters(context_, workspace_, &parameters_, observer_));
    commit::OperationKey operation{
        .operation_id = request_.operation_id.value_or(Uuid::NewV7(context_).ToString()),
        .payload_digest = PayloadDigest(sql, parameters_),
        .required = request_.operation_id.has_value()};
    session_->SetOperation(operation);
    return NameOperation(Execute(statement.get(), values), operation.operation_id);
  }

 private:
  /// True if the operation had committed before, which is reported as done.
  Result<bool> Replay(const std::string& sql) {
    for (CheckedParameter& parameter : parameters_) {
      if (!parameter.file.has_value()) continue;
      ARROW_ASSIGN_OR_RAISE(parameter.sha256, objects::HashFile(context_, parameter.file->path));
    }
    auto outcome =
        workspace_->lakehouse().Replay(context_, workspace_->principal(),
                                       {.operation_id = *request_.operation_id,
                                        .payload_digest = PayloadDigest(sql, parameters_)});
    if (!outcome.ok()) {
      if (CodeOf(outcome.status()) == ErrorCode::kNotFound) return false;
      return outcome.status();
    }
    ARROW_RETURN_NOT_OK(
        observer_->Done(static_cast<int64_t>(outcome->num_rows), /*replayed=*/true));
    return true;
  }

  /// What the statement names may be gone since it ran: its outcome is known all the same. Else
  /// `error`.
  Status ReplayUnprepared(const std::string& sql, const Status& error) {
    if (!request_.operation_id.has_value()) return error;
    // Which parameters are files is told by a prepared statement only; here by how they look.
    for (const std::string& given : request_.parameters) {
      CheckedParameter& parameter = parameters_.emplace_back();
      Result<FileParameter> file = ParseFileParameter(given);
      if (file.ok()) {
        parameter.file = *std::move(file);
      } else {
        parameter.text = given;
      }
    }
    const Result<bool> replayed = Replay(sql);
    if (replayed.ok()) return *replayed ? Status::OK() : error;
    return IsCommitStateUnknown(replayed.status()) ? replayed.status() : error;
  }

  Status Execute(query::Statement* statement, const std::vector<query::Parameter>& values) {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<query::ResultStream> stream,
                          statement->Execute(context_, values));
    if (statement->returns_rows()) return StreamRows(stream.get(), observer_);
    ARROW_ASSIGN_OR_RAISE(int64_t rows_changed, Drain(stream.get(), observer_));
    return observer_->Done(rows_changed, /*replayed=*/false);
  }

  const Context& context_;
  Workspace* const workspace_;
  query::Session* const session_;
  const SqlRequest& request_;
  SqlObserver* const observer_;
  std::vector<CheckedParameter> parameters_;
};

}  // namespace

Status RunSql(const Context& context, Workspace* workspace, query::Session* session,
              const SqlRequest& request, SqlObserver* observer) {
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> statements, session->Split(request.text));
  if (statements.size() != 1 && (!request.parameters.empty() || request.operation_id.has_value())) {
    return Error(ErrorCode::kInvalidArgument,
                 "parameters and an operation id need exactly one statement, {} given",
                 statements.size());
  }
  if (request.operation_id.has_value()) {
    ARROW_ASSIGN_OR_RAISE(Uuid id, Uuid::Parse(*request.operation_id));
    if (id.version() != 7) {
      return Error(ErrorCode::kInvalidArgument, "an operation id must be a UUID of version 7: {}",
                   *request.operation_id);
    }
  }
  for (const std::string& sql : statements) {
    ARROW_RETURN_NOT_OK(StatementRun(context, workspace, session, request, observer).Run(sql));
  }
  return Status::OK();
}

}  // namespace lake::service
