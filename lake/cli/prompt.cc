#include "lake/cli/prompt.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <histedit.h>
#include <unistd.h>

#include "lake/cli/exit_code.h"
#include "lake/cli/sql_printer.h"
#include "lake/service/statement_runner.h"

namespace lake::cli {
namespace {

constexpr int kHistorySize = 1000;
constexpr char kHelp[] =
    "Type SQL, end a statement with ';'.\n"
    "  \\q   leave (or Ctrl-D)\n"
    "  \\?   this help\n"
    "  SHOW ALL TABLES;   what there is\n";

/// Where lines come from.
class LineSource {
 public:
  virtual ~LineSource() = default;
  /// The next line without its end, or nothing at the end of input. `continued` chooses the prompt.
  virtual std::optional<std::string> Next(bool continued) = 0;
  virtual void Remember(const std::string& statement) {}
};

class PlainLines : public LineSource {
 public:
  std::optional<std::string> Next(bool continued) override {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
};

class EditedLines : public LineSource {
 public:
  EditedLines() : history_(history_init()), edit_(el_init("lake", stdin, stdout, stderr)) {
    history(history_, &event_, H_SETSIZE, kHistorySize);
    history(history_, &event_, H_SETUNIQUE, 1);
    if (const char* home = std::getenv("HOME")) {
      history_file_ = std::string(home) + "/.lake_history";
      history(history_, &event_, H_LOAD, history_file_.c_str());
    }
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(
        edit_, EL_PROMPT, +[](EditLine* edit) {
          EditedLines* self = nullptr;
          el_get(edit, EL_CLIENTDATA, &self);
          return const_cast<char*>(self->continued_ ? "   -> " : "lake> ");
        });
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_SIGNAL, 0);
  }

  ~EditedLines() override {
    if (!history_file_.empty()) history(history_, &event_, H_SAVE, history_file_.c_str());
    el_end(edit_);
    history_end(history_);
  }

  std::optional<std::string> Next(bool continued) override {
    continued_ = continued;
    int count = 0;
    const char* line = el_gets(edit_, &count);
    if (line == nullptr || count <= 0) return std::nullopt;
    std::string_view view(line, static_cast<size_t>(count));
    if (view.ends_with('\n')) view.remove_suffix(1);
    return std::string(view);
  }

  void Remember(const std::string& statement) override {
    std::string line = statement;
    std::replace(line.begin(), line.end(), '\n', ' ');
    history(history_, &event_, H_ENTER, line.c_str());
  }

 private:
  History* const history_;
  EditLine* const edit_;
  HistEvent event_{};
  std::string history_file_;
  bool continued_ = false;
};

std::string_view Trimmed(std::string_view text) {
  size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t\r\n") - start + 1);
}

/// True if `text` ends with a ';' that is not inside quotes or a comment.
bool IsComplete(std::string_view text) {
  enum class In { kText, kString, kIdentifier, kLineComment, kBlockComment } in = In::kText;
  bool complete = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    char next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (in) {
      case In::kText:
        if (c == '\'') in = In::kString;
        if (c == '"') in = In::kIdentifier;
        if (c == '-' && next == '-') in = In::kLineComment;
        if (c == '/' && next == '*') in = In::kBlockComment;
        if (in == In::kText && std::string_view(" \t\r\n").find(c) == std::string_view::npos) {
          complete = c == ';';
        }
        break;
      case In::kString:
        if (c == '\'') in = In::kText;
        break;
      case In::kIdentifier:
        if (c == '"') in = In::kText;
        break;
      case In::kLineComment:
        if (c == '\n') in = In::kText;
        break;
      case In::kBlockComment:
        if (c == '*' && next == '/') {
          in = In::kText;
          ++i;
        }
        break;
    }
    if (in == In::kString || in == In::kIdentifier) complete = false;
  }
  return complete && in != In::kBlockComment;
}

}  // namespace

Status RunPrompt(Invocation* invocation, service::Workspace* workspace, query::Session* session,
                 service::ResultFormat format) {
  const bool interactive = isatty(STDIN_FILENO) != 0;
  std::unique_ptr<LineSource> lines;
  if (interactive) {
    fmt::print(stderr, "lake, data in {}; \\? for help\n", workspace->options().data_dir);
    lines = std::make_unique<EditedLines>();
  } else {
    lines = std::make_unique<PlainLines>();
  }

  std::string statement;
  while (!invocation->context.cancel.cancelled()) {
    std::optional<std::string> line = lines->Next(/*continued=*/!statement.empty());
    if (!line.has_value()) break;
    std::string_view command = Trimmed(*line);
    if (statement.empty() && command.empty()) continue;
    if (statement.empty() && (command == "\\q" || command == "exit" || command == "quit")) break;
    if (statement.empty() && command == "\\?") {
      fmt::print(stderr, "{}", kHelp);
      continue;
    }
    statement += *line;
    statement += '\n';
    if (!IsComplete(statement)) continue;

    lines->Remember(std::string(Trimmed(statement)));
    SqlPrinter printer(invocation, format);
    service::SqlRequest request;
    request.text = std::move(statement);
    statement.clear();
    Status status = service::RunSql(invocation->context, workspace, session, request, &printer);
    if (status.ok()) continue;
    if (!interactive || invocation->output.closed()) return status;
    fmt::print(stderr, "error: {}\n", ErrorText(status));
  }
  if (!Trimmed(statement).empty()) {
    SqlPrinter printer(invocation, format);
    service::SqlRequest request;
    request.text = std::move(statement);
    return service::RunSql(invocation->context, workspace, session, request, &printer);
  }
  return Status::OK();
}

}  // namespace lake::cli
