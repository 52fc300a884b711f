// `lake table tag`, `branch`, `restore`, `clone`.

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
#include "lake/table/inspect.h"

namespace lake::cli {
namespace {

using Table = std::shared_ptr<const commit::OpenTable>;

struct ReferenceFlags {
  service::TableSelection selection;
  std::string name;
  std::string operation_id;
  bool json = false;
  bool copy = false;
};

/// What every command of this file works on.
struct Target {
  service::Workspace* workspace;
  commit::Maintenance* maintenance;
  Table table;

  std::string name() const { return table->entry.name.ToString(); }
  std::string version() const {
    return table::VersionRef{table->dataset->branch(), table->dataset->manifest().version()}
        .ToString();
  }
};

Result<Target> Open(Invocation* invocation, const ReferenceFlags& flags) {
  Target target;
  ARROW_ASSIGN_OR_RAISE(target.workspace, invocation->OpenWorkspace(true));
  target.maintenance = &target.workspace->lakehouse().maintenance();
  ARROW_ASSIGN_OR_RAISE(
      target.table, service::OpenSelection(invocation->context, target.workspace, flags.selection));
  return target;
}

boost::json::object ToJson(const table::VersionRef& ref) {
  return {{"branch", ref.branch ? boost::json::value(*ref.branch) : boost::json::value(nullptr)},
          {"version", ref.version}};
}

Status ListTags(Invocation* invocation, const ReferenceFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(Target target, Open(invocation, flags));
  ARROW_ASSIGN_OR_RAISE(std::vector<table::Tag> tags,
                        target.maintenance->ListTags(invocation->context, *target.table));
  if (flags.json) {
    boost::json::array rows;
    for (const table::Tag& tag : tags) {
      boost::json::object row = ToJson(tag.target);
      row["name"] = tag.name;
      if (tag.created_nanos) row["created"] = table::TimestampText(*tag.created_nanos);
      if (tag.updated_nanos) row["updated"] = table::TimestampText(*tag.updated_nanos);
      rows.push_back(std::move(row));
    }
    return invocation->output.Write(PrettyJson(rows));
  }
  std::string text;
  for (const table::Tag& tag : tags) {
    text += fmt::format("{}  {}\n", tag.name, tag.target.ToString());
  }
  return invocation->output.Write(text);
}

Status CreateTag(Invocation* invocation, const ReferenceFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(Target target, Open(invocation, flags));
  ARROW_RETURN_NOT_OK(
      target.maintenance->CreateTag(invocation->context, *target.table, flags.name).status());
  return invocation->output.Write(
      fmt::format("tag {} of {} names {}\n", flags.name, target.name(), target.version()));
}

Status MoveTag(Invocation* invocation, const ReferenceFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(Target target, Open(invocation, flags));
  ARROW_RETURN_NOT_OK(
      target.maintenance->UpdateTag(invocation->context, *target.table, flags.name).status());
  return invocation->output.Write(
      fmt::format("tag {} of {} names {}\n", flags.name, target.name(), target.version()));
}

Status DeleteTag(Invocation* invocation, const ReferenceFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(Target target, Open(invocation, flags));
  ARROW_RETURN_NOT_OK(
      target.maintenance->DeleteTag(invocation->context, *target.table, flags.name));
  return invocation->output.Write(fmt::format("tag {} of {} is gone\n", flags.name, target.name()));
}

Status ListBranches(Invocation* invocation, const ReferenceFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(Target target, Open(invocation, flags));
  ARROW_ASSIGN_OR_RAISE(std::vector<table::Branch> branches,
                        target.maintenance->ListBranches(invocation->context, *target.table));
  if (flags.json) {
    boost::json::array rows;
    for (const table::Branch& branch : branches) {
      rows.push_back({{"name", branch.name},
                      {"parent", ToJson(branch.parent)},
                      {"created", table::TimestampText(branch.created_nanos)}});
    }
    return invocation->output.Write(PrettyJson(rows));
  }
  std::string text;
  for (const table::Branch& branch : branches) {
    text += fmt::format("{}  from {}\n", branch.name, branch.parent.ToString());
  }
  return invocation->output.Write(text);
}

Status CreateBranch(Invocation* invocation, const ReferenceFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(Target target, Open(invocation, flags));
  ARROW_RETURN_NOT_OK(
      target.maintenance->CreateBranch(invocation->context, *target.table, flags.name).status());
  return invocation->output.Write(
      fmt::format("branch {} of {} begins at {}\n", flags.name, target.name(), target.version()));
}

Status DeleteBranch(Invocation* invocation, const ReferenceFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(Target target, Open(invocation, flags));
  ARROW_RETURN_NOT_OK(
      target.maintenance->DeleteBranch(invocation->context, *target.table, flags.name));
  return invocation->output.Write(
      fmt::format("branch {} of {} is gone\n", flags.name, target.name()));
}

Status Restore(Invocation* invocation, const ReferenceFlags& flags) {
  if (!flags.selection.version && flags.selection.tag.empty()) {
    return UsageError("restore needs --version or --tag");
  }
  ARROW_ASSIGN_OR_RAISE(Target old, Open(invocation, flags));
  ReferenceFlags newest_flags = flags;
  newest_flags.selection.version.reset();
  newest_flags.selection.tag.clear();
  newest_flags.selection.branch = old.table->dataset->branch().value_or("");
  ARROW_ASSIGN_OR_RAISE(Target newest, Open(invocation, newest_flags));
  const uint64_t version = old.table->dataset->manifest().version();
  ARROW_ASSIGN_OR_RAISE(commit::CommitOutcome outcome,
                        newest.maintenance->Restore(
                            invocation->context, *newest.table, version,
                            service::OperationOn(flags.selection, "restore", flags.operation_id)));
  if (flags.json) {
    return invocation->output.Write(
        PrettyJson(boost::json::object{{"restored", version},
                                       {"version", outcome.version},
                                       {"rows", outcome.num_rows},
                                       {"replayed", outcome.replayed}}));
  }
  return invocation->output.Write(fmt::format("{}: version {} has the content of version {}\n",
                                              newest.name(), outcome.version, version));
}

Status Clone(Invocation* invocation, const ReferenceFlags& flags) {
  Result<catalog::QualifiedName> name = service::ParseTableName(flags.name);
  if (!name.ok()) return UsageError(name.status().message());
  ARROW_ASSIGN_OR_RAISE(Target target, Open(invocation, flags));
  ProgressBar bar("copy", invocation->context.clock, invocation->quiet || !flags.copy);
  commit::CloneOptions options;
  options.deep = flags.copy;
  options.progress = [&](const table::CopyProgress& progress) {
    bar.Update({.files_done = progress.files_done,
                .files_total = progress.files_total,
                .bytes_done = progress.bytes_done});
  };
  ARROW_ASSIGN_OR_RAISE(
      catalog::Entry entry,
      target.maintenance->Clone(invocation->context, *target.table, *name, options));
  bar.Finish();
  if (flags.json) {
    return invocation->output.Write(
        PrettyJson(boost::json::object{{"namespace", entry.name.name_space},
                                       {"name", entry.name.name},
                                       {"incarnation", entry.incarnation.ToString()},
                                       {"copy", flags.copy}}));
  }
  return invocation->output.Write(fmt::format("{} is a {} of {} of {}\n", entry.name.ToString(),
                                              flags.copy ? "copy" : "shallow clone",
                                              target.version(), target.name()));
}

}  // namespace

void AddTableReferenceCommands(CLI::App* group, Invocation* invocation) {
  auto flags = std::make_shared<ReferenceFlags>();
  auto add = [&](CLI::App* parent, const char* name, const char* help,
                 Status (*run)(Invocation*, const ReferenceFlags&)) {
    CLI::App* command = parent->add_subcommand(name, help);
    command->add_option("table", flags->selection.table, "namespace.table")->required();
    command->callback([=] { invocation->run = [=] { return run(invocation, *flags); }; });
    return command;
  };
  auto add_name = [&](CLI::App* command, const char* what) {
    command->add_option("name", flags->name, what)->required();
  };
  auto add_version = [&](CLI::App* command) {
    command->add_option("--version", flags->selection.version, "This version, not the newest");
    command->add_option("--tag", flags->selection.tag, "The version that this tag names");
    command->add_option("--branch", flags->selection.branch, "A branch instead of the main line");
  };
  auto add_json = [&](CLI::App* command) {
    command->add_flag("--json", flags->json, "Print JSON");
  };

  CLI::App* tag = group->add_subcommand("tag", "Names for versions, which a clean-up then keeps");
  tag->require_subcommand(1);
  CLI::App* create_tag = add(tag, "create", "Name a version", CreateTag);
  add_name(create_tag, "The tag");
  add_version(create_tag);
  CLI::App* move_tag = add(tag, "move", "Point a tag at another version", MoveTag);
  add_name(move_tag, "The tag");
  add_version(move_tag);
  add_name(add(tag, "delete", "Remove a tag; the version stays until a clean-up", DeleteTag),
           "The tag");
  add_json(add(tag, "list", "List tags", ListTags));

  CLI::App* branch = group->add_subcommand("branch", "Lines of versions of their own");
  branch->require_subcommand(1);
  CLI::App* create_branch = add(branch, "create", "Begin a branch at a version", CreateBranch);
  add_name(create_branch, "The branch");
  add_version(create_branch);
  add_name(add(branch, "delete", "Remove a branch with all its versions", DeleteBranch),
           "The branch");
  add_json(add(branch, "list", "List branches", ListBranches));

  CLI::App* restore =
      add(group, "restore", "Make the content of an older version the newest", Restore);
  add_version(restore);
  restore->add_option("--operation-id", flags->operation_id,
                      "UUIDv7; running again with the same id makes no second version");
  add_json(restore);

  CLI::App* clone = add(group, "clone", "Make a table of a version of another", Clone);
  add_name(clone, "namespace.table of the new table");
  add_version(clone);
  clone->add_flag("--copy", flags->copy,
                  "Copy all files; without it they are shared, and the source must stay");
  add_json(clone);
}

}  // namespace lake::cli
