#pragma once

#include <string>

#include "lake/catalog/metastore.h"
#include "lake/catalog/sqlite_internal.h"

namespace lake::catalog::sqlite {

/// The columns that make an Entry, in the order of ReadEntry.
#define LAKE_ENTRY_COLUMNS                                                        \
  "id, incarnation, name_space, name, kind, format, state, protected, location, " \
  "version_hint, first_transaction, properties, created_nanos, lease_epoch, lease_expires_nanos"

inline constexpr int kNumEntryColumns = 15;

/// Reads the current row of `statement`, whose first columns are LAKE_ENTRY_COLUMNS. kCorrupt for
/// values that no lake writes.
Result<Entry> ReadEntry(const Statement& statement);
/// The same with dropped_nanos, purge_after_nanos, reason behind them.
Result<Tombstone> ReadTombstone(const Statement& statement);

const char* KindText(EntryKind kind);
const char* FormatText(EntryFormat format);
const char* StateText(EntryState state);

/// Properties as a JSON object; kInvalidArgument for text that is not UTF-8.
Result<std::string> PropertiesText(const std::map<std::string, std::string>& properties);

Result<Uuid> ReadUuid(const std::string& text, const char* column);
/// A version number as SQLite's signed integer; kInvalidArgument if it does not fit.
Result<int64_t> VersionNumber(uint64_t version);

}  // namespace lake::catalog::sqlite
