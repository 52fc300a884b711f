#include "lake/catalog/testing/row_inputs_internal.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "lake/catalog/sqlite_rows_internal.h"

namespace lake::catalog::sqlite {
namespace {

constexpr int kNumColumns = kNumEntryColumns + 3;
constexpr char kRow[] = "SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?";
// The one column that may be NULL: the first transaction.
constexpr int kNullable = 10;

void Require(bool holds, const char* what) {
  if (holds) return;
  fmt::print(stderr, "decoder input: {}\n", what);
  std::abort();
}

}  // namespace

void DecodeRowInput(std::string_view bytes) {
  static Connection* const connection =
      Connection::Open(":memory:", Durability::kUnsynced).ValueOrDie().release();
  Statement statement = connection->Prepare(kRow).ValueOrDie();
  for (int column = 0; column < kNumColumns; ++column) {
    const std::string_view text = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), text.size() + 1));
    if (column == kNullable && text.empty()) {
      statement.BindNull();
    } else {
      statement.Bind(text);
    }
  }
  Require(statement.Step().ValueOrDie(), "a row is there");
  const Result<Tombstone> tombstone = ReadTombstone(statement);
  if (!tombstone.ok()) {
    Require(CodeOf(tombstone.status()) == ErrorCode::kCorrupt, "a bad row is corrupt");
    return;
  }
  const Entry& entry = tombstone->entry;
  Require(statement.Text(1) == entry.incarnation.ToString(), "an incarnation has one spelling");
  Require(statement.Text(4) == KindText(entry.kind), "a kind has one text");
  Require(statement.Text(5) == FormatText(entry.format), "a format has one text");
  Require(statement.Text(6) == StateText(entry.state), "a state has one text");
  Require(PropertiesText(entry.properties).ok(), "properties are written again");
  Require(VersionNumber(entry.version_hint).ok() == (statement.Int(9) >= 0), "a hint is a version");
}

}  // namespace lake::catalog::sqlite
