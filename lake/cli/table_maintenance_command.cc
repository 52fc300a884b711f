// `lake table compact`, `cleanup`, `verify`, `diff`.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lake/cli/exit_code.h"
#include "lake/cli/invocation.h"
#include "lake/cli/json_text.h"
#include "lake/cli/progress_bar.h"
#include "lake/commit/maintenance.h"
#include "lake/service/table_selection.h"
#include "lake/table/diff.h"
#include "lake/table/inspect.h"

namespace lake::cli {
namespace {

using Table = std::shared_ptr<const commit::OpenTable>;

struct MaintenanceFlags {
  service::TableSelection selection;
  bool dry_run = false;
  std::string operation_id;
  bool json = false;
  table::CompactionOptions compaction;
  bool keep_deletions = false;
  bool decode = false;
  uint64_t max_bytes = 0;
  std::string older_than = "14d";
  std::string superseded_for = "1h";
  std::string replay_retention = "1d";
  uint64_t keep = 1;
  bool delete_unverified = false;
  bool newest = false;
  bool data = false;
  uint64_t from = 0;
  std::optional<uint64_t> to;
};

Result<Table> Open(Invocation* invocation, const MaintenanceFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  return service::OpenSelection(invocation->context, workspace, flags.selection);
}

Result<commit::Maintenance*> MaintenanceOf(Invocation* invocation) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  return &workspace->lakehouse().maintenance();
}

std::string_view Plural(uint64_t count) { return count == 1 ? "" : "s"; }

Status ShowPlan(Invocation* invocation, const MaintenanceFlags& flags, const Table& table) {
  ARROW_ASSIGN_OR_RAISE(
      table::CompactionPlan plan,
      table::PlanCompaction(invocation->context, *table->dataset, flags.compaction));
  if (flags.json) {
    boost::json::array groups;
    for (const table::CompactionGroup& group : plan.groups) {
      boost::json::array fragments;
      for (const table::Fragment& fragment : group.fragments) fragments.push_back(fragment.id);
      groups.push_back({{"fragments", std::move(fragments)},
                        {"rows", group.physical_rows - group.deleted_rows},
                        {"deleted_rows", group.deleted_rows},
                        {"bytes", group.bytes}});
    }
    return invocation->output.Write(PrettyJson(boost::json::object{
        {"dry_run", true}, {"version", plan.read_version}, {"groups", std::move(groups)}}));
  }
  std::string text;
  for (const table::CompactionGroup& group : plan.groups) {
    text += fmt::format("fragments {} to {}: {} rows, {} deleted, {}\n", group.fragments.front().id,
                        group.fragments.back().id, group.physical_rows - group.deleted_rows,
                        group.deleted_rows, FormatBytes(group.bytes));
  }
  text += fmt::format("would rewrite {} of {} fragments of {}\n", plan.num_fragments(),
                      table->dataset->manifest().fragments().size(), table->entry.name.ToString());
  return invocation->output.Write(text);
}

commit::OperationKey CompactionKey(const MaintenanceFlags& flags) {
  const table::CompactionOptions& options = flags.compaction;
  return service::OperationOn(
      flags.selection, "compact", flags.operation_id,
      {std::to_string(options.target_rows), std::to_string(flags.max_bytes),
       std::to_string(options.materialize_deletions), fmt::format("{}", options.deletion_threshold),
       std::to_string(options.copy_pages)});
}

Status Compact(Invocation* invocation, MaintenanceFlags flags) {
  flags.compaction.materialize_deletions = !flags.keep_deletions;
  flags.compaction.copy_pages = !flags.decode;
  if (flags.max_bytes > 0) flags.compaction.max_bytes = flags.max_bytes;
  if (flags.dry_run && !flags.operation_id.empty()) {
    return UsageError("--dry-run changes nothing and takes no --operation-id");
  }
  ARROW_ASSIGN_OR_RAISE(Table table, Open(invocation, flags));
  if (flags.dry_run) return ShowPlan(invocation, flags, table);
  ARROW_ASSIGN_OR_RAISE(commit::Maintenance * maintenance, MaintenanceOf(invocation));
  ProgressBar bar("compact", invocation->context.clock, invocation->quiet);
  ARROW_ASSIGN_OR_RAISE(commit::CompactOutcome outcome,
                        maintenance->Compact(
                            invocation->context, *table, flags.compaction,
                            [&](const table::CompactionProgress& progress) {
                              const uint64_t bytes = progress.rows_total == 0
                                                         ? 0
                                                         : progress.bytes_total *
                                                               progress.rows_done /
                                                               progress.rows_total;
                              bar.Update({.bytes_done = bytes,
                                          .bytes_total = progress.bytes_total,
                                          .rows_done = progress.rows_done});
                            },
                            CompactionKey(flags)));
  bar.Finish();
  if (flags.json) {
    return invocation->output.Write(
        PrettyJson(boost::json::object{{"changed", outcome.changed},
                                       {"replayed", outcome.replayed},
                                       {"version", outcome.version},
                                       {"fragments_before", outcome.fragments_before},
                                       {"fragments_after", outcome.fragments_after},
                                       {"groups", outcome.groups},
                                       {"groups_given_up", outcome.groups_given_up},
                                       {"rows", outcome.rows},
                                       {"deleted_rows", outcome.deleted_rows},
                                       {"bytes_before", outcome.bytes_before},
                                       {"bytes_after", outcome.bytes_after},
                                       {"files_copied", outcome.files_copied}}));
  }
  const std::string name = table->entry.name.ToString();
  if (outcome.replayed) {
    return invocation->output.Write(fmt::format(
        "{}: was compacted by this operation before, in version {}\n", name, outcome.version));
  }
  if (!outcome.changed) {
    return invocation->output.Write(
        outcome.groups_given_up > 0
            ? fmt::format("{}: other commits changed all {} group{} meanwhile; run it again\n",
                          name, outcome.groups_given_up, Plural(outcome.groups_given_up))
            : fmt::format("{}: nothing to compact\n", name));
  }
  std::string text = fmt::format(
      "{}: version {}, {} fragments became {}, {} rows ({}) written, {} deleted rows taken out\n",
      name, outcome.version, outcome.fragments_before, outcome.fragments_after, outcome.rows,
      FormatBytes(outcome.bytes_after), outcome.deleted_rows);
  if (outcome.groups_given_up > 0) {
    text += fmt::format("{} group{} that other commits changed meanwhile stayed as they were\n",
                        outcome.groups_given_up, Plural(outcome.groups_given_up));
  }
  return invocation->output.Write(text);
}

boost::json::object ToJson(const table::CleanupReport& report) {
  boost::json::array versions;
  for (const table::VersionFate& fate : report.versions) {
    boost::json::object version{{"version", fate.version.version}};
    if (fate.version.branch) version["branch"] = *fate.version.branch;
    if (fate.timestamp_nanos != 0) {
      version["committed"] = table::TimestampText(fate.timestamp_nanos);
    }
    version["removed"] = fate.removed;
    if (!fate.removed) version["reason"] = fate.reason;
    versions.push_back(std::move(version));
  }
  boost::json::object removed;
  for (const auto& [kind, count] : report.removed) {
    removed[table::FileKindName(kind)] =
        boost::json::object{{"files", count.files}, {"bytes", count.bytes}};
  }
  return {{"dry_run", report.dry_run},
          {"versions", std::move(versions)},
          {"versions_removed", report.num_versions_removed()},
          {"removed", std::move(removed)},
          {"files_removed", report.total_removed().files},
          {"bytes_removed", report.total_removed().bytes},
          {"kept_unverified_files", report.kept_unverified.files},
          {"kept_unverified_bytes", report.kept_unverified.bytes},
          {"kept_other_files", report.kept_other.files},
          {"bytes_before", report.bytes_before},
          {"bytes_after", report.bytes_after}};
}

std::string ToText(const table::CleanupReport& report, const std::string& name) {
  std::string text;
  for (const table::VersionFate& fate : report.versions) {
    text += fmt::format(
        "{}: {}\n", fate.version.ToString(),
        fate.removed ? report.dry_run ? "would go" : "removed" : "kept, " + fate.reason);
  }
  for (const auto& [kind, count] : report.removed) {
    text += fmt::format("{}s: {} {} ({})\n", table::FileKindName(kind), count.files,
                        report.dry_run ? "would go" : "removed", FormatBytes(count.bytes));
  }
  if (report.kept_unverified.files > 0) {
    text += fmt::format(
        "{} file{} ({}) that no version names may belong to a running writer: kept "
        "until 7 days old\n",
        report.kept_unverified.files, Plural(report.kept_unverified.files),
        FormatBytes(report.kept_unverified.bytes));
  }
  if (report.kept_other.files > 0) {
    text += fmt::format("{} file{} ({}) that lake does not know: kept\n", report.kept_other.files,
                        Plural(report.kept_other.files), FormatBytes(report.kept_other.bytes));
  }
  text += fmt::format("{}: {} of {} version{} {}, {} {}\n", name, report.num_versions_removed(),
                      report.versions.size(), Plural(report.versions.size()),
                      report.dry_run ? "would go" : "removed",
                      FormatBytes(report.total_removed().bytes),
                      report.dry_run ? "would be freed" : "freed");
  return text;
}

Status CleanUp(Invocation* invocation, const MaintenanceFlags& flags) {
  table::CleanupOptions options;
  auto duration = [](const std::string& text, int64_t* nanos) -> Status {
    Result<int64_t> parsed = service::ParseDuration(text);
    if (!parsed.ok()) return UsageError(parsed.status().message());
    *nanos = *parsed;
    return Status::OK();
  };
  ARROW_RETURN_NOT_OK(duration(flags.older_than, &options.older_than_nanos));
  ARROW_RETURN_NOT_OK(duration(flags.superseded_for, &options.superseded_for_nanos));
  ARROW_RETURN_NOT_OK(duration(flags.replay_retention, &options.replay_retention_nanos));
  options.keep_versions = flags.keep;
  options.delete_unverified = flags.delete_unverified;
  options.dry_run = flags.dry_run;
  ARROW_ASSIGN_OR_RAISE(Table table, Open(invocation, flags));
  ARROW_ASSIGN_OR_RAISE(commit::Maintenance * maintenance, MaintenanceOf(invocation));
  ProgressBar bar("cleanup", invocation->context.clock, invocation->quiet || flags.dry_run);
  options.progress = [&](const table::CleanupProgress& progress) {
    bar.Update({.files_done = progress.files_done,
                .files_total = progress.files_total,
                .bytes_done = progress.bytes_done});
  };
  ARROW_ASSIGN_OR_RAISE(table::CleanupReport report,
                        maintenance->CleanUp(invocation->context, *table, std::move(options)));
  bar.Finish();
  return invocation->output.Write(flags.json ? PrettyJson(ToJson(report))
                                             : ToText(report, table->entry.name.ToString()));
}

Status Verify(Invocation* invocation, const MaintenanceFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(Table table, Open(invocation, flags));
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  ProgressBar bar("verify", invocation->context.clock, invocation->quiet);
  table::VerifyOptions options;
  options.newest_only = flags.newest;
  options.read_data = flags.data;
  options.progress = [&](const table::VerifyProgress& progress) {
    bar.Update({.files_done = progress.versions_done, .files_total = progress.versions_total});
  };
  ARROW_ASSIGN_OR_RAISE(table::VerifyReport report, workspace->lakehouse().maintenance().Verify(
                                                        invocation->context, workspace->principal(),
                                                        *table, std::move(options)));
  bar.Finish();
  const size_t errors = report.Count(table::Severity::kError);
  const size_t warnings = report.Count(table::Severity::kWarning);
  if (flags.json) {
    boost::json::array findings;
    for (const table::Finding& finding : report.findings) {
      findings.push_back({{"severity", table::SeverityName(finding.severity)},
                          {"object", finding.object},
                          {"what", finding.what},
                          {"advice", finding.advice}});
    }
    ARROW_RETURN_NOT_OK(invocation->output.Write(
        PrettyJson(boost::json::object{{"versions", report.versions},
                                       {"data_files", report.data_files},
                                       {"errors", errors},
                                       {"warnings", warnings},
                                       {"findings", std::move(findings)}})));
  } else {
    std::string text;
    for (const table::Finding& finding : report.findings) {
      text += fmt::format("{:<8}{}: {}; {}\n", table::SeverityName(finding.severity),
                          finding.object, finding.what, finding.advice);
    }
    text += fmt::format("{}: {} version{}, {} data file{}: {} error{}, {} warning{}\n",
                        table->entry.name.ToString(), report.versions, Plural(report.versions),
                        report.data_files, Plural(report.data_files), errors, Plural(errors),
                        warnings, Plural(warnings));
    ARROW_RETURN_NOT_OK(invocation->output.Write(text));
  }
  if (errors == 0) return Status::OK();
  return Error(ErrorCode::kCorrupt, "table has {} error{}: {}", errors, Plural(errors),
               table->entry.name.ToString());
}

boost::json::value Optional(const std::optional<std::string>& text) {
  return text ? boost::json::value(*text) : boost::json::value(nullptr);
}

boost::json::array ToJson(const std::vector<table::ValueChange>& changes) {
  boost::json::array array;
  for (const table::ValueChange& change : changes) {
    array.push_back({{"key", change.key},
                     {"before", Optional(change.before)},
                     {"after", Optional(change.after)}});
  }
  return array;
}

boost::json::object ToJson(const table::VersionDiff& diff) {
  boost::json::array changed;
  for (const table::FragmentChange& change : diff.fragments_changed) {
    changed.push_back({{"fragment", change.id},
                       {"rows_deleted", change.rows_deleted},
                       {"files_changed", change.files_changed}});
  }
  boost::json::array columns;
  for (const table::ColumnChange& change : diff.columns) {
    columns.push_back({{"name", change.name},
                       {"before", Optional(change.before)},
                       {"after", Optional(change.after)}});
  }
  boost::json::array commits;
  for (const table::VersionInfo& commit : diff.commits) {
    commits.push_back({{"version", commit.version},
                       {"committed", table::TimestampText(commit.timestamp_nanos)},
                       {"operation", commit.operation}});
  }
  return {{"from", diff.from_version},
          {"to", diff.to_version},
          {"rows_before", diff.rows_before},
          {"rows_after", diff.rows_after},
          {"rows_added", diff.rows_added},
          {"rows_removed", diff.rows_removed},
          {"bytes_added", diff.bytes_added},
          {"bytes_removed", diff.bytes_removed},
          {"fragments_added", boost::json::value_from(diff.fragments_added)},
          {"fragments_removed", boost::json::value_from(diff.fragments_removed)},
          {"fragments_changed", std::move(changed)},
          {"columns", std::move(columns)},
          {"config", ToJson(diff.config)},
          {"metadata", ToJson(diff.table_metadata)},
          {"commits", std::move(commits)}};
}

std::string ToText(const table::VersionDiff& diff) {
  std::string text = fmt::format(
      "version {} to {}: {} rows became {}: {} added, {} removed; {} of data added, {} removed\n",
      diff.from_version, diff.to_version, diff.rows_before, diff.rows_after, diff.rows_added,
      diff.rows_removed, FormatBytes(diff.bytes_added), FormatBytes(diff.bytes_removed));
  if (!diff.fragments_added.empty() || !diff.fragments_removed.empty() ||
      !diff.fragments_changed.empty()) {
    text +=
        fmt::format("fragments: {} added, {} removed, {} changed\n", diff.fragments_added.size(),
                    diff.fragments_removed.size(), diff.fragments_changed.size());
  }
  for (const table::ColumnChange& change : diff.columns) {
    text += fmt::format("column {}: {} became {}\n", change.name, change.before.value_or("nothing"),
                        change.after.value_or("nothing"));
  }
  auto values = [&](const char* what, const std::vector<table::ValueChange>& changes) {
    for (const table::ValueChange& change : changes) {
      text += fmt::format("{} {}: {} became {}\n", what, change.key,
                          change.before.value_or("nothing"), change.after.value_or("nothing"));
    }
  };
  values("config", diff.config);
  values("metadata", diff.table_metadata);
  for (const table::VersionInfo& commit : diff.commits) {
    text += fmt::format("  {}  {}  {}\n", commit.version,
                        table::TimestampText(commit.timestamp_nanos), commit.operation);
  }
  return text;
}

Status Diff(Invocation* invocation, const MaintenanceFlags& flags) {
  MaintenanceFlags from = flags;
  from.selection.version = flags.from;
  MaintenanceFlags to = flags;
  to.selection.version = flags.to;
  ARROW_ASSIGN_OR_RAISE(Table before, Open(invocation, from));
  ARROW_ASSIGN_OR_RAISE(Table after, Open(invocation, to));
  ARROW_ASSIGN_OR_RAISE(table::VersionDiff diff,
                        table::Diff(invocation->context, *before->dataset, *after->dataset));
  return invocation->output.Write(flags.json ? PrettyJson(ToJson(diff)) : ToText(diff));
}

}  // namespace

void AddTableMaintenanceCommands(CLI::App* group, Invocation* invocation) {
  auto flags = std::make_shared<MaintenanceFlags>();
  auto add = [&](const char* name, const char* help, auto run) {
    CLI::App* command = group->add_subcommand(name, help);
    command->add_option("table", flags->selection.table, "namespace.table")->required();
    command->add_flag("--json", flags->json, "Print JSON");
    command->callback([=] { invocation->run = [=] { return run(invocation, *flags); }; });
    return command;
  };
  auto add_branch = [&](CLI::App* command) {
    command->add_option("--branch", flags->selection.branch, "A branch instead of the main line");
  };
  auto add_dry_run = [&](CLI::App* command) {
    command->add_flag("--dry-run", flags->dry_run, "Only say what would be done");
  };

  CLI::App* compact =
      add("compact", "Join small fragments and take out deleted rows, in a new version", Compact);
  add_branch(compact);
  add_dry_run(compact);
  compact->add_option("--target-rows", flags->compaction.target_rows,
                      "Rows of a new fragment; fragments with fewer are joined");
  compact->add_option("--max-bytes", flags->max_bytes,
                      "End new files at about this size, and leave files of this size alone");
  compact->add_option("--deletion-threshold", flags->compaction.deletion_threshold,
                      "Rewrite a fragment for its deleted rows if they are more than this part");
  compact->add_flag("--keep-deletions", flags->keep_deletions,
                    "Rewrite no fragment for its deleted rows alone");
  compact->add_flag("--decode", flags->decode, "Write all values anew, copy no pages");
  compact->add_option("--operation-id", flags->operation_id,
                      "UUIDv7; running again with the same id compacts no second time");
  compact->add_option("--threads", flags->compaction.threads, "Files written at once");

  CLI::App* cleanup =
      add("cleanup",
          "Remove old versions and leftovers; what is tagged, branched, cloned or newest stays",
          CleanUp);
  add_dry_run(cleanup);
  cleanup->add_option("--older-than", flags->older_than,
                      "Versions go if older than this, such as 14d or 12h");
  cleanup->add_option("--superseded-for", flags->superseded_for,
                      "and if a newer version has been there this long");
  cleanup->add_option("--replay-retention", flags->replay_retention,
                      "and if older than the time in which operations are run again by their id");
  cleanup->add_option("--keep", flags->keep, "and if not among this many newest");
  cleanup->add_flag("--delete-unverified", flags->delete_unverified,
                    "Remove leftovers of any age: only while nobody else writes");

  CLI::App* verify =
      add("verify", "Look for inconsistencies; exit code 1 if there are errors", Verify);
  verify->add_flag("--newest", flags->newest, "Only the newest versions");
  verify->add_flag("--data", flags->data, "Read all data, too");

  CLI::App* diff = add("diff", "Show what changed between two versions", Diff);
  add_branch(diff);
  diff->add_option("--from", flags->from, "The older version")->required();
  diff->add_option("--to", flags->to, "The other version; the newest if not given");
}

}  // namespace lake::cli
