#include "lake/table/testing/table_inputs_internal.h"

#include <cstdlib>
#include <functional>
#include <set>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <google/protobuf/text_format.h>

#include "lake/format/parse_message_internal.h"
#include "lake/format/schema_internal.h"
#include "lake/format/testing/fixtures.h"
#include "lake/storage/memory_store.h"
#include "lake/table/change_feed.h"
#include "lake/table/cleanup.h"
#include "lake/table/clone.h"
#include "lake/table/compaction.h"
#include "lake/table/conflict_internal.h"
#include "lake/table/delete_rows.h"
#include "lake/table/diff.h"
#include "lake/table/index_section_internal.h"
#include "lake/table/inspect.h"
#include "lake/table/manifest_build_internal.h"
#include "lake/table/ref_files_internal.h"
#include "lake/table/row_id_sequence.h"
#include "lake/table/table_files.h"
#include "lake/table/testing/table_fixture_internal.h"
#include "lake/table/transaction_internal.h"
#include "lake/table/verify.h"
#include "lake/table/version_list.h"

namespace lake::table {
namespace {

constexpr int64_t kMemoryCap = 256 << 20;

[[noreturn]] void Fail(const std::string& text) {
  fmt::print(stderr, "decoder input: {}\n", text);
  std::abort();
}

void Require(bool holds, const char* what) {
  if (!holds) Fail(what);
}

/// An error says that the input is bad or not read, or too much; never that we are wrong.
void CheckError(const Status& status) {
  if (!status.ok() && CodeOf(status) == ErrorCode::kInternal) Fail(status.ToString());
}

/// The schema that a transaction brings, if any.
std::optional<format::Schema> SchemaOf(const pb::Transaction& transaction) {
  const format::FieldMessages* fields = nullptr;
  if (transaction.has_merge()) fields = &transaction.merge().schema();
  if (transaction.has_project()) fields = &transaction.project().schema();
  if (transaction.has_overwrite()) fields = &transaction.overwrite().schema();
  if (fields == nullptr) return std::nullopt;
  auto decoded = format::FieldsFromMessages(*fields, "transaction");
  if (!decoded.ok()) return std::nullopt;
  format::Schema schema;
  schema.fields = *std::move(decoded);
  return schema;
}

/// One or two of each operation, over fragments, fields and keys that others have too.
const std::vector<pb::Transaction>& EachOperation() {
  static const auto* const operations = [] {
    auto* const made = new std::vector<pb::Transaction>;
    for (const char* text :
         {"append { fragments { id: 9 } }",
          "delete { updated_fragments { id: 0 } deleted_fragment_ids: 1 }",
          "overwrite { config_upsert_values { key: 'a' value: 'b' } }",
          "create_index { new_indices { fields: 0 } }",
          "rewrite { groups { old_fragments { id: 0 } } }", "merge { fragments { id: 0 } }",
          "restore { version: 1 }", "reserve_fragments { num_fragments: 1 }",
          "update { updated_fragments { id: 0 } new_fragments { id: 7 } }",
          "project { preserves_nullability: true }", "project { }",
          "update_config { config_updates { update_entries { key: 'a' value: 'b' } }"
          "                field_metadata_updates { key: 0 value { replace: true } } }",
          "update_config { table_metadata_updates { replace: true } delete_keys: 'a'"
          "                upsert_values { key: 'b' value: 'c' }"
          "                schema_metadata { key: 'b' value: 'c' }"
          "                field_metadata { key: 0 value { } } }",
          "data_replacement { replacements { fragment_id: 0 new_file { fields: 0 } } }",
          "clone { ref_version: 1 }", "update_bases { new_bases { id: 3 path: '/p' name: 'n' } }",
          "update_mem_wal_state { }", "data_overlay { }"}) {
      Require(google::protobuf::TextFormat::ParseFromString(text, &made->emplace_back()), text);
    }
    pb::IndexMetadata* const index = made->emplace_back().mutable_create_index()->add_new_indices();
    index->add_fields(0);
    index->set_fragment_bitmap(
        DeletionVector::FromSortedRows(std::vector<uint32_t>{0, 1}).ToBitmap());
    return made;
  }();
  return *operations;
}

/// Judges the two in both orders.
void JudgeBoth(const pb::Transaction& one, const pb::Transaction& other) {
  for (const auto& [mine, theirs] : {std::pair(&one, &other), std::pair(&other, &one)}) {
    const Verdict verdict = Judge(*mine, /*inserted_by_key=*/false, *theirs);
    const Verdict with_keys = Judge(*mine, /*inserted_by_key=*/true, *theirs);
    Require(verdict == Verdict::kOk || with_keys != Verdict::kOk, "keys take a conflict away");
  }
}

/// The transaction as the only version of a table has it, inline or in its file.
void ReadBack(std::string_view bytes, bool is_inline) {
  const Context context;
  const auto store = storage::MakeMemoryStore();
  pb::Manifest message;
  message.set_version(1);
  message.set_transaction_file(TransactionFileName(1, "u"));
  const std::string text(bytes);
  Require(store
              ->Put(context, TransactionKey(message.transaction_file()), is_inline ? "" : text,
                    storage::PutCondition::kNone)
              .ok(),
          "put");
  const std::string manifest =
      EncodeManifest(message, std::nullopt, is_inline ? text : std::string()).ValueOrDie();
  Require(PutManifest(context, store.get(), 1, manifest).ok(), "put");
  const auto decoded = ManifestFile::Decode(manifest, "manifest").ValueOrDie();
  const auto read = ReadTransaction(context, store.get(), *decoded);
  Require(read.ok() == ParseTransaction(bytes).has_value(), "a transaction is read otherwise");
  CheckError(read.status());
  const std::string id = read.ok() ? Property(*read, kOperationIdProperty) : "";
  const auto found = FindOperation(context, store.get(), 0, id);
  CheckError(found.status());
  using State = OperationOutcome::State;
  Require(found.ok() && (found->state == State::kUnknown) == !read.ok(), "an outcome is wrong");
  CheckError(FirstTransactionUuid(context, store.get()).status());
  const Transaction given_up =
      NewTransaction(context, 1, AppendOperation{}, {TransactionKey(message.transaction_file())});
  Require(OperationName(given_up.operation) == "append", "an append is something else");
  CheckError(RemoveUncommitted(context, store.get(), given_up.new_objects));
}

/// The section that a change leaves must be one.
void CheckSection(const IndexSection& section, const Status& status,
                  const std::function<void(const pb::IndexMetadata&)>& check) {
  CheckError(status);
  const auto bytes = section.Finish();
  CheckError(bytes.status());
  if (!bytes.ok() || !*bytes || !status.ok()) return;
  pb::IndexSection message;
  Require(format::ParseMessage(**bytes, "section", &message).ok(), "a section is no message");
  for (const pb::IndexMetadata& index : message.indices()) {
    if (check) check(index);
  }
}

std::vector<Fragment> FragmentsOfIds(std::initializer_list<uint64_t> ids) {
  std::vector<Fragment> fragments;
  for (const uint64_t id : ids) fragments.emplace_back().id = id;
  return fragments;
}

/// Goes through what reading and changing a version does, as far as its first rows.
void UseDataset(const Context& context, const std::shared_ptr<Dataset>& dataset) {
  CheckError(dataset->CountRows(context).status());
  CheckError(dataset->Versions(context).status());
  for (const bool with_ids : {false, true}) {
    ScanOptions options;
    options.limit = 500;
    options.prefetch = Prefetch::kNever;
    if (with_ids) options.columns = std::vector<std::string>{"_rowid", "_rowaddr"};
    const auto scanner = dataset->Scan(context, options);
    CheckError(scanner.status());
    for (size_t morsel = 0; scanner.ok() && morsel < std::min<size_t>(4, (*scanner)->num_morsels());
         ++morsel) {
      const auto batch = (*scanner)->Read(context, morsel);
      CheckError(batch.status());
      if (batch.ok() && *batch != nullptr) {
        Require((*batch)->ValidateFull().ok(), "a batch is not sound");
      }
    }
  }
  const RowAddress addresses[] = {0, 3, uint64_t{1} << 32, 9};
  CheckError(dataset->Take(context, addresses, {"id"}).status());
  CompactionOptions whole;
  whole.deletion_threshold = 0;
  for (const CompactionOptions& compaction : {CompactionOptions(), whole}) {
    const auto plan = PlanCompaction(context, *dataset, compaction);
    if (!plan.ok()) {
      CheckError(plan.status());
      continue;
    }
    Require(plan->num_fragments() >= plan->groups.size(), "a group of no fragments is planned");
    Require(!plan->groups.empty() || plan->num_rows() + plan->num_bytes() == 0, "rows of no group");
  }
  CheckError(FilesNamedBy(dataset->manifest()).status());
  CheckError(ChangeFeed::Open(context, *dataset, 1, dataset->manifest().version()).status());
  CheckError(DeleteRows(context, dataset, std::nullopt).status());
  CheckError(MakeShallowClone(context, *dataset, "/t", {{"a", "b"}}).status());
  CheckError(MakeDeepCopy(context, *dataset, storage::MakeMemoryStore(), "/t", {}).status());
}

void CheckManifestParts(const ManifestFile& manifest) {
  size_t files = 0;
  for (const Fragment& fragment : manifest.fragments()) {
    const Fragment* const found = FindFragment(manifest, fragment.id);
    Require(found != nullptr && found->id == fragment.id, "a fragment is not found by its id");
    Require(SameFiles(fragment, fragment) && SameDeletions(fragment, fragment),
            "a fragment differs from itself");
    files += fragment.files.size();
  }
  Require(DataFileKeys(manifest.fragments()).size() == files, "files have no keys");
  pb::Manifest again;
  for (const BasePath& base : manifest.base_paths())
    BasePathToMessage(base, again.add_base_paths());
  Require(again.base_paths_size() == manifest.message().base_paths_size(), "a base is lost");
}

}  // namespace

void DecodeManifestInput(std::string_view bytes) {
  const auto decoded = ManifestFile::Decode(bytes, "fuzzed");
  if (!decoded.ok()) return CheckError(decoded.status());
  const ManifestFile& manifest = **decoded;
  Require(!ToText(DescribeManifest(bytes, "fuzzed").ValueOrDie()).empty(), "nothing is told");
  CheckError(FilesNamedBy(manifest).status());
  CheckManifestParts(manifest);
  if (!manifest.index_section().ok()) return;

  auto encoded = EncodeManifest(manifest.message(), *manifest.index_section(), "transaction");
  auto again = ManifestFile::Decode(encoded.ValueOrDie(), "encoded").ValueOrDie();
  Require(again->fragments().size() == manifest.fragments().size(), "fragments differ");
  Require(*again->index_section() == *manifest.index_section(), "index sections differ");
  Require(again->inline_transaction() == "transaction", "transactions differ");

  Transaction append;
  append.operation = AppendOperation{manifest.fragments()};
  std::vector<Fragment>& fragments = std::get<AppendOperation>(append.operation).fragments;
  if (fragments.empty()) fragments.emplace_back();
  auto built = BuildManifest({.transaction = append,
                              .operation = append.operation,
                              .transaction_bytes = "t",
                              .now_nanos = 1,
                              .newest = &manifest});
  if (!built.ok()) return CheckError(built.status());
  auto appended = ManifestFile::Decode(*built, "appended");
  // The next version's number can be none.
  if (!appended.ok()) return;
  Require((*appended)->fragments().size() == manifest.fragments().size() + fragments.size(),
          "an append loses fragments");
}

void DecodeRefInput(std::string_view bytes) {
  if (bytes.empty()) return;
  const bool is_tag = (bytes[0] & 1) != 0;
  bytes.remove_prefix(1);
  if (is_tag) {
    const Result<Tag> tag = DecodeTag(bytes, "fuzzed", "key");
    if (!tag.ok()) return CheckError(tag.status());
    const Result<Tag> again = DecodeTag(EncodeTag(*tag), "fuzzed", "key");
    Require(again.ok() && again->target == tag->target && again->metadata == tag->metadata,
            "a tag does not round-trip");
    return;
  }
  const Result<Branch> branch = DecodeBranch(bytes, "fuzzed", "key");
  if (!branch.ok()) return CheckError(branch.status());
  const Result<Branch> again = DecodeBranch(EncodeBranch(*branch), "fuzzed", "key");
  Require(again.ok() && again->parent == branch->parent && again->identifier == branch->identifier,
          "a branch does not round-trip");
}

void DecodeRowIdsInput(std::string_view bytes) {
  if (bytes.empty()) return;
  const char choice = bytes[0];
  bytes.remove_prefix(1);
  const uint64_t rows = (choice & 2) != 0 ? 100 : 30'000;
  if ((choice & 1) != 0) {
    const auto versions = RowVersionSequence::Decode(bytes, rows, "fuzzed");
    if (!versions.ok()) return CheckError(versions.status());
    Require(versions->size() <= rows, "more versions than rows");
    const auto again = RowVersionSequence::Decode(versions->Encode(), rows, "encoded");
    Require(again.ok() && *again == *versions, "row versions do not round-trip");
    return;
  }
  const auto ids = RowIdSequence::Decode(bytes, rows, "fuzzed");
  if (!ids.ok()) return CheckError(ids.status());
  Require(ids->size() <= rows, "more row ids than rows");
  const auto again = RowIdSequence::Decode(ids->Encode(), rows, "encoded");
  Require(again.ok() && *again == *ids, "row ids do not round-trip");
  Require(ids->Select(format::RowSelection(0, ids->size())) == *ids, "a selection of all differs");
}

void DecodeDeletionInput(std::string_view bytes) {
  if (bytes.empty()) return;
  const char choice = bytes[0];
  bytes.remove_prefix(1);
  const uint64_t physical_rows = (choice & 2) != 0 ? 100 : 300'000;
  const Result<DeletionVector> vector =
      (choice & 1) != 0 ? DeletionVector::FromBitmap(bytes, physical_rows, "fuzzed")
                        : DeletionVector::FromArrowFile(Context(), bytes, physical_rows, "fuzzed");
  if (!vector.ok()) return CheckError(vector.status());
  const format::RowSelection survivors = vector->Survivors(0, physical_rows);
  Require(survivors.num_rows() + vector->num_deleted() == physical_rows, "rows do not add up");
  for (const format::RowRange& range : survivors.ranges()) {
    Require(!vector->Contains(range.start) && !vector->Contains(range.end() - 1),
            "a deleted row survives");
  }
}

std::string EncodeTransactionInput(std::string_view mine, std::string_view theirs) {
  std::string out;
  out += static_cast<char>(mine.size() & 0xff);
  out += static_cast<char>(mine.size() >> 8 & 0xff);
  return out + std::string(mine) + std::string(theirs);
}

void DecodeTransactionInput(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const size_t length = static_cast<uint8_t>(bytes[0]) | static_cast<uint8_t>(bytes[1]) << 8;
  bytes.remove_prefix(2);
  const std::string_view first = bytes.substr(0, length);
  const std::string_view second = bytes.substr(first.size());
  ReadBack(first, /*is_inline=*/true);
  ReadBack(second, /*is_inline=*/false);
  const std::optional<pb::Transaction> mine = ParseTransaction(first);
  const std::optional<pb::Transaction> theirs = ParseTransaction(second);
  if (!mine || !theirs) return;
  JudgeBoth(*mine, *theirs);
  for (const pb::Transaction& other : EachOperation()) JudgeBoth(*mine, other);
  Require(!OperationName(*mine).empty(), "an operation has no name");
  TouchedFragments(*mine);
  const std::optional<format::Schema> read = SchemaOf(*mine);
  const std::optional<format::Schema> newest = SchemaOf(*theirs);
  if (read && newest) {
    SchemaStillFits(*read, *newest);
    DataStillFits(*read, *newest);
    Require(SchemaStillFits(*read, *read), "a schema does not fit itself");
  }
}

void DecodeIndexSectionInput(std::string_view bytes) {
  const std::optional<std::string> section{std::string(bytes)};
  pb::IndexSection message;
  const bool valid = format::ParseMessage(bytes, "section", &message).ok();
  auto change = [&](auto&& make, const std::function<void(const pb::IndexMetadata&)>& check = {}) {
    IndexSection changed(section);
    CheckSection(changed, make(&changed), check);
  };
  const std::set<int32_t> kept = {0, 1};
  change([&](IndexSection* s) { return s->KeepFields(kept); },
         [&](const pb::IndexMetadata& index) {
           for (const int32_t field : index.fields()) {
             Require(kept.contains(field), "an index outlives its column");
           }
         });
  change([](IndexSection* s) { return s->Uncover({0, 1, 7}, {0, 1, 2}); });
  change([](IndexSection* s) { return s->CoverMoved({0}, {9}, {1}); });
  change([](IndexSection* s) { return s->SetBase(3); });
  change([](IndexSection* s) { return s->DropEmptyVectorIndices({0, 1}); });
  RewriteOperation rewrite;
  rewrite.groups.push_back({FragmentsOfIds({0, 1}), FragmentsOfIds({5})});
  change([&](IndexSection* s) { return s->Rewrite(rewrite, /*stable_row_ids=*/true); });
  if (!valid) return;
  for (const pb::IndexMetadata& index : message.indices()) {
    Uuid old_id;
    if (index.uuid().uuid().size() != old_id.bytes.size()) continue;
    std::copy(index.uuid().uuid().begin(), index.uuid().uuid().end(), old_id.bytes.begin());
    rewrite.rewritten_indices = {{old_id, Uuid{}, "", 1, {{"index.idx", 10}}}};
    change([&](IndexSection* s) { return s->Rewrite(rewrite, /*stable_row_ids=*/false); });
    CreateIndexOperation create;
    create.added = {index.SerializeAsString()};
    create.removed = create.added;
    change([&](IndexSection* s) { return s->Replace(create); });
    break;
  }
}

void DecodeTableKeyInput(std::string_view bytes) {
  if (const auto manifest = ManifestFile::Decode(bytes, "fuzzed"); manifest.ok()) {
    const auto named = FilesNamedBy(**manifest);
    if (!named.ok()) return CheckError(named.status());
    for (const std::string& key : named->own) {
      // Of an index, the folder.
      if (key.starts_with("_indices/")) continue;
      Require(Classify({.key = key, .size = 0, .modified_nanos = 0}, {}).kind != FileKind::kOther,
              "a version names a file that is none");
    }
    return;
  }
  const Context context;
  const auto store = storage::MakeMemoryStore();
  const std::set<std::string> branches = {"dev", "dev/data", "tree"};
  while (!bytes.empty()) {
    const std::string key(bytes.substr(0, bytes.find('\n')));
    bytes.remove_prefix(std::min(bytes.size(), key.size() + 1));
    if (const auto parsed = ParseManifestName(key)) {
      Require(ManifestName(parsed->version, parsed->naming) == key, "a name is not the only one");
    }
    TableFile file = Classify({.key = key, .size = 1, .modified_nanos = 0}, branches);
    Require(!FileKindName(file.kind).empty(), "a kind has no name");
    Require(file.kind == FileKind::kOther || !file.owner.empty(), "a file has no owner");
    Require(!file.branch || key.starts_with("tree/" + *file.branch + "/"), "a branch is wrong");
    if (storage::CheckKey(key).ok()) {
      CheckError(store->Put(context, key, "", storage::PutCondition::kNone));
    }
  }
  const auto versions = ListVersions(context, store.get());
  CheckError(versions.status());
  if (versions.ok()) {
    for (const uint64_t version : versions->versions) {
      Require(store->Head(context, ManifestKey(version, versions->naming)).ok(),
              "a version is listed that is not there");
    }
  }
  Require(ListTableFiles(context, store.get(), branches)->size() ==
              storage::ListAll(store.get(), context, "")->size(),
          "a file is not listed");
}

const std::map<std::string, std::string>& DatasetInputFiles() {
  static const auto* const files = [] {
    const FakeSurroundings surroundings;
    const Context& context = surroundings.context();
    const auto store = storage::MakeMemoryStore();
    const auto writer =
        AppendWriter::Open(context, store, SmallSchema(), {.max_rows_per_file = 10}).ValueOrDie();
    Require(writer->Write(*Rows(0, 20)).ok(), "rows are written");
    auto* const made = new std::map<std::string, std::string>;
    const char* name = "data/a.lance";
    for (const Fragment& fragment : writer->Finish().ValueOrDie()) {
      const auto bytes = store->GetAll(context, DataFileKey(fragment.files[0]), 1 << 20);
      (*made)[name] = bytes.ValueOrDie()->ToString();
      name = "data/b.lance";
    }
    const uint32_t rows[] = {1, 3};
    const DeletionVector deleted = DeletionVector::FromSortedRows(rows);
    (*made)["_deletions/0-1-5.bin"] = deleted.ToBitmap();
    (*made)["_deletions/1-1-6.arrow"] = deleted.ToArrowFile(context).ValueOrDie();
    return made;
  }();
  return *files;
}

void DecodeDatasetInput(std::string_view bytes) {
  const auto decoded = ManifestFile::Decode(bytes, "fuzzed");
  if (!decoded.ok()) return CheckError(decoded.status());
  const uint64_t version = (*decoded)->version();
  if (!ParseManifestName(ManifestName(version, ManifestNaming::kV2))) return;
  const auto pool = format::MakeCappedPool(kMemoryCap);
  FakeSurroundings surroundings;
  Context context = surroundings.context();
  context.memory_pool = pool.get();
  const auto store = storage::MakeMemoryStore();
  for (const auto& [key, content] : DatasetInputFiles()) {
    CheckError(store->Put(context, key, content, storage::PutCondition::kNone));
  }
  const std::string first =
      BuildManifest(MakeCreate(context, SmallSchema()), nullptr, "", 1).ValueOrDie();
  CheckError(PutManifest(context, store.get(), 1, first));
  CheckError(PutManifest(context, store.get(), version, std::string(bytes)));

  const auto report = DescribeDataset(context, store.get());
  CheckError(report.status());
  if (report.ok()) Require(!ToText(*report).empty(), "nothing is told");
  VerifyOptions verify;
  verify.read_data = true;
  CheckError(Verify(context, store, verify).status());
  CleanupOptions cleanup;
  cleanup.dry_run = true;
  cleanup.older_than_nanos = cleanup.superseded_for_nanos = cleanup.replay_retention_nanos = 0;
  CheckError(CleanUp(context, store, cleanup).status());
  const auto dataset = Dataset::Open(context, store);
  if (!dataset.ok()) return CheckError(dataset.status());
  UseDataset(context, *dataset);
  OpenOptions open_first;
  open_first.version = 1;
  const auto before = Dataset::Open(context, store, open_first);
  if (!before.ok()) return CheckError(before.status());
  CheckError(Diff(context, **before, **dataset).status());
  CheckError(Diff(context, **dataset, **before).status());
  const auto none = Diff(context, **dataset, **dataset);
  CheckError(none.status());
  Require(!none.ok() || none->empty(), "a version differs from itself");
  CheckError(CheckNewestWritable(context, store.get()));
}

}  // namespace lake::table
