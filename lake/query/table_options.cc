#include <cctype>
#include <exception>
#include <utility>

#include <duckdb/common/string_util.hpp>
#include <duckdb/parser/parser.hpp>

#include "lake/query/table_options_internal.h"

namespace lake::query {
namespace {

using TokenType = duckdb::SimplifiedTokenType;

struct Token {
  TokenType type;
  size_t start = 0;
  std::string text;

  bool IsWord(const char* word) const {
    return type == TokenType::SIMPLIFIED_TOKEN_KEYWORD && duckdb::StringUtil::CIEquals(text, word);
  }
  bool IsSymbol(char symbol) const {
    return type == TokenType::SIMPLIFIED_TOKEN_OPERATOR && text.front() == symbol;
  }
};

/// The token that begins at `start`: DuckDB tells where tokens begin, and not where they end.
std::string TextOf(const std::string& sql, size_t start) {
  const char first = sql[start];
  size_t end = start + 1;
  if (first == '\'' || first == '"') {
    while (end < sql.size()) {
      if (sql[end++] != first) continue;
      if (end == sql.size() || sql[end] != first) break;
      ++end;
    }
    return sql.substr(start, end - start);
  }
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  while (is_word(first) && end < sql.size() && is_word(sql[end])) ++end;
  return sql.substr(start, end - start);
}

/// The tokens of `sql`, comments left out; none where one of them does not end: then the parser
/// says so.
std::vector<Token> Tokenize(const std::string& sql) {
  std::vector<duckdb::SimplifiedToken> found;
  try {
    found = duckdb::Parser::Tokenize(sql);
  } catch (const std::exception&) {
    return {};
  }
  std::vector<Token> tokens;
  for (const duckdb::SimplifiedToken& token : found) {
    if (token.type == TokenType::SIMPLIFIED_TOKEN_COMMENT || token.start >= sql.size()) continue;
    tokens.push_back({token.type, token.start, TextOf(sql, token.start)});
  }
  return tokens;
}

/// Whether the tokens from `at` on begin a CREATE TABLE.
bool BeginsTable(const std::vector<Token>& tokens, size_t at) {
  if (!tokens[at].IsWord("create")) return false;
  for (++at; at < tokens.size(); ++at) {
    if (tokens[at].IsWord("table")) return true;
    const bool between = tokens[at].IsWord("or") || tokens[at].IsWord("replace") ||
                         tokens[at].IsWord("temp") || tokens[at].IsWord("temporary") ||
                         tokens[at].IsWord("local") || tokens[at].IsWord("global") ||
                         tokens[at].IsWord("persistent") || tokens[at].IsWord("unlogged");
    if (!between) return false;
  }
  return false;
}

/// The parenthesis that closes the one at `at`; the number of tokens if none does.
size_t Closing(const std::vector<Token>& tokens, size_t at) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    if (tokens[at].IsSymbol('(')) ++depth;
    if (tokens[at].IsSymbol(')') && --depth == 0) return at;
  }
  return at;
}

Status Malformed(const std::string& text) {
  return Error(ErrorCode::kInvalidArgument,
               "the options of a table are not 'name = value', separated by commas: ({})", text);
}

/// The text that a quoted token means.
std::string Unquoted(const std::string& text) {
  const char quote = text.front();
  if (text.size() < 2 || (quote != '\'' && quote != '"') || text.back() != quote) return text;
  std::string result;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    result += text[i];
    if (text[i] == quote) ++i;
  }
  return result;
}

Status Apply(const std::string& name, const std::string& value, TableOptions* options) {
  if (name != "file_version") {
    return Error(ErrorCode::kInvalidArgument,
                 "a table has no option of that name (file_version is one): '{}'", name);
  }
  if (options->file_version) {
    return Error(ErrorCode::kInvalidArgument, "an option of a table is given twice: '{}'", name);
  }
  const Result<format::FileVersion> version = format::FileVersion::Parse(value);
  if (!version.ok() || !format::IsWritten(*version)) {
    return Error(ErrorCode::kInvalidArgument, "file_version is '2.1' or '2.2', not '{}'", value);
  }
  options->file_version = *version;
  return Status::OK();
}

}  // namespace

TextWithoutOptions TakeTableOptions(const std::string& sql) {
  TextWithoutOptions result;
  if (!duckdb::Parser::StripUnicodeSpaces(sql, result.whole)) result.whole = sql;
  const std::string& whole = result.whole;
  result.sql = whole;
  const std::vector<Token> tokens = Tokenize(whole);
  bool in_table = false;
  int depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.IsSymbol('(')) ++depth;
    if (token.IsSymbol(')')) --depth;
    if (depth != 0) continue;
    if (token.IsSymbol(';') || (in_table && token.IsWord("as"))) in_table = false;
    if (!in_table && BeginsTable(tokens, i)) in_table = true;
    if (!in_table || !token.IsWord("with") || i + 1 == tokens.size() ||
        !tokens[i + 1].IsSymbol('(')) {
      continue;
    }
    const size_t closing = Closing(tokens, i + 1);
    if (closing == tokens.size()) break;
    const size_t first = tokens[i + 1].start + 1;
    result.options.push_back(whole.substr(first, tokens[closing].start - first));
    for (size_t at = token.start; at <= tokens[closing].start; ++at) {
      if (whole[at] != '\n') result.sql[at] = ' ';
    }
    in_table = false;
    i = closing;
  }
  return result;
}

Result<TableOptions> ParseTableOptions(const std::string& text) {
  TableOptions options;
  const std::vector<Token> tokens = Tokenize(text);
  for (size_t i = 0; i < tokens.size(); i += 4) {
    const bool complete =
        i + 2 < tokens.size() && tokens[i + 1].IsSymbol('=') &&
        (i + 3 == tokens.size() || (tokens[i + 3].IsSymbol(',') && i + 4 < tokens.size()));
    if (!complete) return Malformed(text);
    ARROW_RETURN_NOT_OK(Apply(duckdb::StringUtil::Lower(Unquoted(tokens[i].text)),
                              Unquoted(tokens[i + 2].text), &options));
  }
  if (tokens.empty()) return Malformed(text);
  return options;
}

}  // namespace lake::query
