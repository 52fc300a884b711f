#include "lake/table/commit.h"

#include <algorithm>
#include <limits>
#include <set>

#include <arrow/buffer.h>

#include "lake/base/crash_point.h"
#include "lake/base/retry_pause.h"
#include "lake/table/commit_queue_internal.h"
#include "lake/table/conflict_internal.h"
#include "lake/table/foreign_sync.h"
#include "lake/table/manifest_build_internal.h"
#include "lake/table/rebase_internal.h"
#include "lake/table/table_cache.h"
#include "lake/table/transaction_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {

namespace {

constexpr char kHintKey[] = "_versions/latest_version_hint.json";
// How long an unclear put is sent again, where the caller sets no nearer deadline.
constexpr int64_t kResolveNanos = 30'000'000'000;
constexpr int kMaxReadBacks = 3;

/// One commit: DESIGN "Commit", steps 1 to 7, attempt by attempt.
class Committer {
 public:
  Committer(const Context& context, std::shared_ptr<storage::ObjectStore> store,
            const Transaction& transaction, const CommitOptions& options)
      : context_(context),
        store_(std::move(store)),
        transaction_(transaction),
        options_(options),
        creates_(transaction.read_version == 0),
        first_version_(FirstVersion(transaction.operation)),
        message_(TransactionToMessage(transaction, transaction.operation)),
        uuid_(transaction.uuid.ToString()),
        transaction_key_(TransactionKey(TransactionFileName(transaction.read_version, uuid_))),
        operation_id_(Property(message_, kOperationIdProperty)),
        searched_through_(options.replay_base
                              ? std::min(*options.replay_base, transaction.read_version)
                              : transaction.read_version),
        put_may_exist_(options.replay_base.has_value()) {}

  Result<CommitResult> Run();

 private:
  Status CheckTransaction() const;
  Result<CommitResult> RunAttempts();
  /// One attempt; nothing if another commit won.
  Result<std::optional<CommitResult>> Attempt();

  /// Step 1 and the first half of step 2: reads the transactions behind searched_through_.
  Result<std::optional<CommitResult>> Search(const VersionList& versions);
  Result<std::optional<CommitResult>> Examine(const VersionList& versions, uint64_t version);
  /// `status` as the outcome of a failed search.
  Status SearchFailed(const Status& status) const;

  /// Step 2: may the transaction go on top of `newest`, and how?
  Status CheckConflicts(const VersionList& versions, const Manifest& newest);
  Status Rebase(const VersionList& versions, const Manifest& newest);
  Status CheckSchema(const Manifest& newest) const;
  /// The version that the transaction read.
  Status LoadRead(const VersionList& versions, const Manifest& newest);
  Result<std::string> Build(const VersionList& versions);
  /// Step 3.
  Status CheckAuthority();
  /// The first round of syncs.
  Status Prepare(const VersionList& versions, storage::StagedObject* staged);
  /// Steps 4 and 5: true if the version is mine, false if another commit has its number.
  Result<bool> Publish(storage::StagedObject* staged, const std::string& bytes, uint64_t version);
  enum class ReadBack { kMine, kAnothers, kAbsent, kUnreadable };
  ReadBack ReadItBack(const std::string& key, const std::string& bytes, Status* reason);
  /// Keeps the manifest of `size` bytes that was put for whoever reads it next.
  void Remember(const std::string& key, size_t size, std::shared_ptr<const Manifest> manifest);
  /// Steps 6 and 7.
  Result<CommitResult> Acknowledge(uint64_t version, ManifestNaming naming,
                                   std::shared_ptr<const Manifest> manifest, bool replayed);

  /// Step 7; true unless the last hint is young enough.
  bool AdvanceHint(const Context& context, uint64_t version);

  Status Unknown(uint64_t version, const Status& reason) const;
  /// The context for what must be settled even if the caller gave up.
  Context Settling() const;
  void RemoveFiles();

  const Context& context_;
  const std::shared_ptr<storage::ObjectStore> store_;
  const Transaction& transaction_;
  const CommitOptions& options_;
  /// Makes the first version of a table.
  const bool creates_;
  const uint64_t first_version_;
  const pb::Transaction message_;
  const std::string uuid_;
  const std::string transaction_key_;
  /// Empty if the operation has none.
  const std::string operation_id_;
  /// The operation as this attempt puts it, and the transaction that says so.
  RebasedOperation rebased_;
  std::string transaction_bytes_;
  /// The bytes that the `.txn` file holds.
  std::string written_transaction_;
  /// Objects of attempts that were lost.
  std::vector<std::string> superseded_objects_;

  /// No version up to this one holds the operation or conflicts with it.
  uint64_t searched_through_;
  /// The first version that conflicts, and the first that could not be judged.
  Status conflict_;
  Status unreadable_;
  bool columns_added_ = false;
  bool columns_projected_ = false;
  /// A put of this operation may have been sent whose fate is not known.
  bool put_may_exist_;
  /// The version that was found is another transaction of the same operation.
  bool found_other_transaction_ = false;
  std::set<std::string> synced_;
  /// The version on top of which the next put goes; null for a create.
  std::shared_ptr<const Manifest> newest_;
  std::shared_ptr<const Manifest> read_;
  std::unique_ptr<CommitTurn> turn_;
  int lost_attempts_ = 0;
};

Result<CommitResult> Committer::Run() {
  Result<CommitResult> result = RunAttempts();
  turn_.reset();
  const bool unknown = !result.ok() && IsCommitStateUnknown(result.status());
  if (!unknown && (!result.ok() || found_other_transaction_)) RemoveFiles();
  // Attempts that another commit beat for good, and what the rebase put in place of the
  // transaction's own: nothing names these.
  if (!unknown) (void)RemoveUncommitted(context_, store_.get(), superseded_objects_);
  if (result.ok() && !result->replayed) {
    (void)RemoveUncommitted(context_, store_.get(), rebased_.replaced_objects);
  }
  return result;
}

Status Committer::CheckTransaction() const {
  const bool may_create = std::holds_alternative<OverwriteOperation>(transaction_.operation) ||
                          std::holds_alternative<CloneOperation>(transaction_.operation);
  const bool must_create = std::holds_alternative<CloneOperation>(transaction_.operation);
  if (creates_ ? !may_create : must_create) {
    return Error(ErrorCode::kInvalidArgument,
                 "transaction has a read version that does not fit: {}", transaction_.read_version);
  }
  const auto* append = std::get_if<AppendOperation>(&transaction_.operation);
  if (append != nullptr && append->fragments.empty()) {
    return Error(ErrorCode::kInvalidArgument, "an append without rows makes no version");
  }
  return Status::OK();
}

Result<CommitResult> Committer::RunAttempts() {
  ARROW_RETURN_NOT_OK(CheckTransaction());
  Result<std::unique_ptr<CommitTurn>> turn = CommitTurn::Take(context_, store_->identity());
  if (!turn.ok()) return put_may_exist_ ? Unknown(0, turn.status()) : turn.status();
  turn_ = *std::move(turn);
  for (;;) {
    Status running = context_.Check();
    if (!running.ok()) return put_may_exist_ ? Unknown(0, running) : running;
    ARROW_ASSIGN_OR_RAISE(std::optional<CommitResult> result, Attempt());
    if (result) return *std::move(result);
    if (++lost_attempts_ >= options_.max_attempts) {
      return RetryableError(ErrorCode::kConflict, "commit lost against others {} times: {}",
                            lost_attempts_, store_->description());
    }
    PauseBeforeRetry(context_, lost_attempts_);
  }
}

Result<std::optional<CommitResult>> Committer::Attempt() {
  Result<VersionList> listed = ListVersions(context_, store_.get());
  if (!listed.ok()) return SearchFailed(listed.status());
  const VersionList& versions = *listed;
  ARROW_ASSIGN_OR_RAISE(std::optional<CommitResult> found, Search(versions));
  if (found) return found;

  uint64_t version = first_version_;
  newest_ = nullptr;
  if (creates_) {
    if (!versions.empty()) {
      return Error(ErrorCode::kAlreadyExists, "folder holds a table already: {}",
                   store_->description());
    }
    rebased_.operation = transaction_.operation;
    ARROW_RETURN_NOT_OK(CheckAuthority());
  } else {
    if (versions.newest() == kLastVersion) {
      return Error(ErrorCode::kUnsupported, "table has used up its version numbers: {}: {}",
                   store_->description(), kLastVersion);
    }
    version = versions.newest() + 1;
    Result<std::shared_ptr<const Manifest>> newest =
        ReadManifestCached(context_, store_.get(), versions.newest(), versions.naming);
    if (!newest.ok()) {
      // Listed, and gone by now: a clean-up took it after a newer one came.
      if (CodeOf(newest.status()) == ErrorCode::kNotFound) return std::nullopt;
      return newest.status();
    }
    newest_ = *std::move(newest);
    ARROW_RETURN_NOT_OK(CheckConflicts(versions, *newest_));
    ARROW_RETURN_NOT_OK(CheckAuthority());
  }
  ARROW_ASSIGN_OR_RAISE(std::string bytes, Build(versions));
  const std::string key = ManifestKey(version, versions.naming);
  // What is put must be what can be read.
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const Manifest> manifest,
                        Manifest::Decode(arrow::Buffer(bytes), key));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<storage::StagedObject> staged,
                        store_->Stage(context_, key, bytes));
  ARROW_RETURN_NOT_OK(Prepare(versions, staged.get()));
  CrashPoint("manifest_staged");
  ARROW_ASSIGN_OR_RAISE(bool mine, Publish(staged.get(), bytes, version));
  if (!mine) return std::nullopt;
  CrashPoint("manifest_visible");
  Remember(key, bytes.size(), manifest);
  // The next commit may go on top of this one: it is made durable by syncs of the same folder, so
  // that no later version outlives it.
  turn_.reset();
  ARROW_ASSIGN_OR_RAISE(CommitResult result, Acknowledge(version, versions.naming,
                                                         std::move(manifest), /*replayed=*/false));
  return result;
}

Result<std::optional<CommitResult>> Committer::Search(const VersionList& versions) {
  unreadable_ = Status::OK();
  if (!versions.empty() && versions.newest() < transaction_.read_version) {
    return SearchFailed(Error(ErrorCode::kConflict,
                              "newest version is older than the one that was read: {}: {}, not {}",
                              store_->description(), versions.newest(), transaction_.read_version));
  }
  if (versions.empty()) {
    if (creates_) {
      put_may_exist_ = false;
      return std::nullopt;
    }
    return SearchFailed(
        Error(ErrorCode::kNotFound, "folder holds no Lance table: {}", store_->description()));
  }
  // A create can only have made the first version: later ones need not be read.
  if (creates_ && !versions.Contains(first_version_) && !put_may_exist_) return std::nullopt;
  const uint64_t last = creates_ ? first_version_ : versions.newest();
  const uint64_t first = creates_ ? first_version_ : searched_through_ + 1;
  // By what was listed, not by number: a foreign one may be as high as it likes.
  auto next = std::lower_bound(versions.versions.begin(), versions.versions.end(), first);
  for (uint64_t expected = first; expected <= last; ++next) {
    const uint64_t version = next == versions.versions.end() ? last + 1 : *next;
    if (version != expected && unreadable_.ok()) {
      unreadable_ = Error(ErrorCode::kNotFound, "version was removed: {}: version {}",
                          store_->description(), expected);
    }
    if (version > last) break;
    ARROW_ASSIGN_OR_RAISE(std::optional<CommitResult> found, Examine(versions, version));
    if (found) return found;
    if (unreadable_.ok()) searched_through_ = version;
    expected = version + 1;
  }
  if (!unreadable_.ok()) return SearchFailed(unreadable_);
  put_may_exist_ = false;
  ARROW_RETURN_NOT_OK(conflict_);
  return std::nullopt;
}

Result<std::optional<CommitResult>> Committer::Examine(const VersionList& versions,
                                                       uint64_t version) {
  Result<std::shared_ptr<const Manifest>> manifest =
      ReadManifestCached(context_, store_.get(), version, versions.naming);
  Result<pb::Transaction> theirs = manifest.ok()
                                       ? ReadTransaction(context_, store_.get(), FileOf(**manifest))
                                       : Result<pb::Transaction>(manifest.status());
  if (!theirs.ok()) {
    // A later version may still hold the operation.
    if (unreadable_.ok()) unreadable_ = theirs.status();
    return std::nullopt;
  }

  const bool same_transaction = theirs->uuid() == uuid_;
  const bool same_operation =
      !operation_id_.empty() && Property(*theirs, kOperationIdProperty) == operation_id_;
  if (same_operation &&
      Property(*theirs, kPayloadDigestProperty) != Property(message_, kPayloadDigestProperty)) {
    return Error(ErrorCode::kInvalidArgument,
                 "operation id was used before with other input: {}: version {} of {}",
                 operation_id_, version, store_->description());
  }
  if (same_transaction || same_operation) {
    found_other_transaction_ = !same_transaction;
    ARROW_ASSIGN_OR_RAISE(
        CommitResult result,
        Acknowledge(version, versions.naming, *std::move(manifest), /*replayed=*/true));
    return result;
  }
  // Versions up to the read version are known to the writer: only the search goes through them.
  if (creates_ || version <= transaction_.read_version) return std::nullopt;
  const auto* update = std::get_if<UpdateOperation>(&transaction_.operation);
  const Verdict verdict = Judge(message_, update != nullptr && update->inserted_by_key, *theirs);
  columns_added_ |= verdict == Verdict::kColumnsAdded;
  columns_projected_ |= verdict == Verdict::kColumnsProjected;
  // Raised when the search is over: a later version may hold the operation.
  if (conflict_.ok() && verdict == Verdict::kRetry) {
    conflict_ = RetryableError(
        ErrorCode::kConflict,
        "another commit came first; run the operation again: {}: version {} is \"{}\"",
        store_->description(), version, OperationName(*theirs));
  } else if (verdict == Verdict::kNever) {
    conflict_ =
        Error(ErrorCode::kConflict,
              "{} does not go together with what was committed since: {}: version {} is \"{}\"",
              OperationName(transaction_.operation), store_->description(), version,
              OperationName(*theirs));
  }
  return std::nullopt;
}

Status Committer::SearchFailed(const Status& status) const {
  if (put_may_exist_) return Unknown(0, status);
  const ErrorCode code = CodeOf(status);
  if (code == ErrorCode::kNotFound || code == ErrorCode::kCorrupt) {
    return RetryableError(ErrorCode::kConflict, "versions committed since cannot be judged: {}",
                          ErrorText(status));
  }
  return status;
}

Status Committer::CheckConflicts(const VersionList& versions, const Manifest& newest) {
  ARROW_RETURN_NOT_OK(CheckWritable(newest, store_->description()));
  if (columns_added_ || columns_projected_) {
    ARROW_RETURN_NOT_OK(LoadRead(versions, newest));
    ARROW_RETURN_NOT_OK(CheckSchema(newest));
  }
  ARROW_RETURN_NOT_OK(Rebase(versions, newest));
  if (const auto* append = std::get_if<AppendOperation>(&transaction_.operation)) {
    return CheckFragmentsFit(FileOf(newest), append->fragments);
  }
  if (const auto* update = std::get_if<UpdateOperation>(&transaction_.operation)) {
    return CheckFragmentsFit(FileOf(newest), update->added, /*columns_may_be_gone=*/true);
  }
  return Status::OK();
}

Status Committer::CheckSchema(const Manifest& newest) const {
  const bool is_append = std::holds_alternative<AppendOperation>(transaction_.operation);
  const bool fits = is_append
                        // After a drop, the id of the dropped column can come back for another one.
                        ? !(columns_added_ && columns_projected_) &&
                              SchemaStillFits(read_->schema(), newest.schema())
                        : DataStillFits(read_->schema(), newest.schema());
  if (fits) return Status::OK();
  return RetryableError(ErrorCode::kConflict,
                        "columns were changed since the rows were written: {}",
                        store_->description());
}

Status Committer::LoadRead(const VersionList& versions, const Manifest& newest) {
  if (read_ != nullptr) return Status::OK();
  if (newest.version() == transaction_.read_version) {
    read_ = newest_;
    return Status::OK();
  }
  Result<std::shared_ptr<const Manifest>> read =
      ReadManifestCached(context_, store_.get(), transaction_.read_version, versions.naming);
  if (!read.ok()) {
    return RetryableError(ErrorCode::kConflict,
                          "version that the operation read is gone; run it again: {}: version {}",
                          store_->description(), transaction_.read_version);
  }
  read_ = *std::move(read);
  return Status::OK();
}

Status Committer::Rebase(const VersionList& versions, const Manifest& newest) {
  superseded_objects_.insert(superseded_objects_.end(), rebased_.new_objects.begin(),
                             rebased_.new_objects.end());
  rebased_.new_objects.clear();
  const bool names_fragments = std::holds_alternative<DeleteOperation>(transaction_.operation) ||
                               std::holds_alternative<UpdateOperation>(transaction_.operation) ||
                               std::holds_alternative<MergeOperation>(transaction_.operation) ||
                               std::holds_alternative<RewriteOperation>(transaction_.operation);
  if (!names_fragments || newest.version() == transaction_.read_version) {
    rebased_ = {transaction_.operation, {}, {}};
    return Status::OK();
  }
  ARROW_RETURN_NOT_OK(LoadRead(versions, newest));
  ARROW_ASSIGN_OR_RAISE(rebased_,
                        RebaseOperation(context_, store_.get(), transaction_, *read_, newest));
  return Status::OK();
}

Result<std::string> Committer::Build(const VersionList& versions) {
  const pb::Transaction message = TransactionToMessage(transaction_, rebased_.operation);
  // A larger one could not be read by those who have to judge it.
  if (message.ByteSizeLong() > kMaxTransactionSize ||
      !message.SerializeToString(&transaction_bytes_)) {
    return Error(ErrorCode::kUnsupported, "transaction is larger than 1 GiB: {} bytes",
                 message.ByteSizeLong());
  }
  std::shared_ptr<const Manifest> restored;
  if (const auto* restore = std::get_if<RestoreOperation>(&rebased_.operation)) {
    ARROW_ASSIGN_OR_RAISE(restored,
                          ReadManifest(context_, store_.get(), restore->version, versions.naming));
    ARROW_RETURN_NOT_OK(CheckWritable(*restored, store_->description()));
  }
  return BuildManifest({.transaction = transaction_,
                        .operation = rebased_.operation,
                        .transaction_bytes = transaction_bytes_,
                        .now_nanos = context_.clock->UnixNanos(),
                        .newest = newest_ == nullptr ? nullptr : &FileOf(*newest_),
                        .restored = restored == nullptr ? nullptr : &FileOf(*restored)});
}

Status Committer::CheckAuthority() {
  return options_.authority ? options_.authority(newest_.get()) : Status::OK();
}

Status Committer::Prepare(const VersionList& versions, storage::StagedObject* staged) {
  std::vector<std::string> keys = transaction_.new_objects;
  keys.insert(keys.end(), rebased_.new_objects.begin(), rebased_.new_objects.end());
  keys.insert(keys.end(), options_.sync_keys.begin(), options_.sync_keys.end());
  if (written_transaction_ != transaction_bytes_) {
    synced_.erase(transaction_key_);
    ARROW_RETURN_NOT_OK(
        store_->Put(context_, transaction_key_, transaction_bytes_, storage::PutCondition::kNone));
    written_transaction_ = transaction_bytes_;
    CrashPoint("transaction_written");
  }
  keys.push_back(transaction_key_);
  std::erase_if(keys, [&](const std::string& key) { return synced_.contains(key); });
  if (newest_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(std::vector<std::string> foreign,
                          ForeignKeysToSync(context_, store_.get(), versions, *newest_));
    keys.insert(keys.end(), foreign.begin(), foreign.end());
  }
  ARROW_RETURN_NOT_OK(store_->Sync(context_, keys, std::span(&staged, 1)));
  synced_.insert(keys.begin(), keys.end());
  return Status::OK();
}

Committer::ReadBack Committer::ReadItBack(const std::string& key, const std::string& bytes,
                                          Status* reason) {
  const Context context = Settling();
  for (int i = 0; i < kMaxReadBacks; ++i) {
    Result<std::shared_ptr<arrow::Buffer>> read = store_->GetAll(context, key, kMaxManifestSize);
    if (read.ok()) {
      return std::string_view(**read) == bytes ? ReadBack::kMine : ReadBack::kAnothers;
    }
    *reason = read.status();
    if (CodeOf(read.status()) == ErrorCode::kNotFound) return ReadBack::kAbsent;
  }
  return ReadBack::kUnreadable;
}

Result<bool> Committer::Publish(storage::StagedObject* staged, const std::string& bytes,
                                uint64_t version) {
  const int64_t now = context_.clock->MonotonicNanos();
  const int64_t deadline = std::min(context_.deadline, now + kResolveNanos);
  for (int round = 1;; ++round) {
    Status published = staged->Publish(context_, storage::PutCondition::kIfAbsent);
    if (published.ok()) return true;
    const ErrorCode code = CodeOf(published);
    // The store refused before it did anything.
    if (round == 1 && (code == ErrorCode::kUnsupported || code == ErrorCode::kInvalidArgument)) {
      return published;
    }
    Status reason;
    switch (ReadItBack(staged->key(), bytes, &reason)) {
      case ReadBack::kMine:
        return true;
      case ReadBack::kAnothers:
        return false;
      case ReadBack::kUnreadable:
        return Unknown(version, reason);
      case ReadBack::kAbsent:
        break;
    }
    // Later versions without this one: it was there and a clean-up took it, mine or another's.
    Result<VersionList> versions = ListVersions(Settling(), store_.get());
    if (!versions.ok()) return Unknown(version, versions.status());
    if (!versions->empty() && versions->newest() >= version) return Unknown(version, published);
    Status authority = CheckAuthority();
    if (!authority.ok()) return Unknown(version, authority);
    Status running = context_.Check();
    if (!running.ok() || context_.clock->MonotonicNanos() >= deadline) {
      return Unknown(version, published);
    }
    PauseBeforeRetry(context_, round);
  }
}

void Committer::Remember(const std::string& key, size_t size,
                         std::shared_ptr<const Manifest> manifest) {
  const std::string identity = store_->identity();
  if (identity.empty()) return;
  const Result<storage::ObjectInfo> info = store_->Head(Settling(), key);
  // Of another size it would be another's, put where the whole table was replaced.
  if (!info.ok() || info->size != size) return;
  TableCache::Process()->PutManifest(identity, *info, std::move(manifest));
}

// Only a hint, as upstream since 7.1 keeps it: nobody may rely on it, so an error means nothing.
bool Committer::AdvanceHint(const Context& context, uint64_t version) {
  if (!creates_ && !HintIsDue(store_->identity(), context.clock->MonotonicNanos())) return false;
  // Where a file is put in the place of another, ext4 writes it to the disk at once; a hint may as
  // well be missing for a moment.
  (void)store_->Delete(context, kHintKey);
  (void)store_->Put(context, kHintKey, fmt::format("{{\"version\":{}}}", version),
                    storage::PutCondition::kNone);
  return true;
}

Result<CommitResult> Committer::Acknowledge(uint64_t version, ManifestNaming naming,
                                            std::shared_ptr<const Manifest> manifest,
                                            bool replayed) {
  const Context context = Settling();
  std::vector<std::string> keys{ManifestKey(version, naming)};
  // Round one of the attempt that made the version synced the rest.
  if (replayed) keys.insert(keys.end(), options_.sync_keys.begin(), options_.sync_keys.end());
  CrashPoint("manifest_visible");
  Status synced = store_->Sync(context, keys, {});
  if (!synced.ok()) return Unknown(version, synced);
  CrashPoint("manifest_synced");
  const bool hint_is_due = AdvanceHint(context, version);
  return CommitResult{.version = version,
                      .replayed = replayed,
                      .lost_attempts = lost_attempts_,
                      .hint_is_due = hint_is_due,
                      .manifest = std::move(manifest)};
}

Status Committer::Unknown(uint64_t version, const Status& reason) const {
  return Error(ErrorCode::kCommitUnknown,
               "commit may or may not have happened; replay it with the same operation id: {}: "
               "version {}: transaction {}: {}",
               store_->description(), version, uuid_, ErrorText(reason));
}

Context Committer::Settling() const {
  Context context = context_;
  context.cancel = CancelToken();
  context.deadline = context_.clock->MonotonicNanos() + kResolveNanos;
  return context;
}

void Committer::RemoveFiles() {
  // Best effort: what stays behind is a leftover that no version names.
  (void)RemoveUncommitted(context_, store_.get(), transaction_.new_objects);
  (void)RemoveUncommitted(context_, store_.get(), rebased_.new_objects);
  (void)store_->Delete(Settling(), transaction_key_);
}

}  // namespace

Result<CommitResult> Commit(const Context& context, std::shared_ptr<storage::ObjectStore> store,
                            const Transaction& transaction, const CommitOptions& options) {
  return Committer(context, std::move(store), transaction, options).Run();
}

}  // namespace lake::table
