#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lake/base/error.h"
#include "lake/base/uuid.h"

namespace lake::catalog {

/// Who asks. The local command line is `tenant` "default" with all rights.
struct Principal {
  std::string tenant = "default";
  std::string name = "local";
};

enum class EntryKind { kTable, kView, kMaterialisedView, kFunction, kSecret };
enum class EntryFormat { kLance, kIceberg, kOther };
enum class EntryState { kCreating, kDeclared, kLive, kDeregistered };

/// A name: namespace and entry. Compared byte for byte.
struct QualifiedName {
  std::string name_space;
  std::string name;

  std::string ToString() const { return name_space + "." + name; }
  auto operator<=>(const QualifiedName&) const = default;
};

/// The one row shape for everything that has a name.
struct Entry {
  int64_t id = 0;
  Uuid incarnation;
  QualifiedName name;
  EntryKind kind = EntryKind::kTable;
  EntryFormat format = EntryFormat::kLance;
  EntryState state = EntryState::kLive;
  bool is_protected = false;
  /// Relative to the data folder, for instance "tables/main/t/0190....lance".
  std::string location;
  /// A hint, too low, too high or 0: storage is the authority.
  uint64_t version_hint = 0;
  /// UUID of version 1's transaction.
  std::optional<Uuid> first_transaction;
  std::map<std::string, std::string> properties;
  int64_t created_nanos = 0;
  /// The owner's lease of an entry in state creating.
  int64_t lease_epoch = 0;
  int64_t lease_expires_nanos = 0;
};

/// A dropped entry: it can be undropped until `purge_after_nanos`; nothing is purged before garbage
/// collection exists.
struct Tombstone {
  Entry entry;
  int64_t dropped_nanos = 0;
  int64_t purge_after_nanos = 0;
  std::string reason;  ///< kDropped or kCreateAbandoned
};

inline constexpr char kDropped[] = "drop";
inline constexpr char kCreateAbandoned[] = "create abandoned";

/// The record of a caller's idempotent operation, written before its first attempt.
struct OperationRecord {
  std::string operation_id;  ///< UUIDv7 text
  std::string payload_digest;
  Uuid incarnation;
  uint64_t base_version = 0;
  int64_t created_nanos = 0;
  /// Set once the outcome is known.
  std::optional<uint64_t> committed_version;
  uint64_t committed_rows = 0;
};

/// Normalises a name to NFC and checks it: 1 to 255 bytes of UTF-8, no control characters, no '/',
/// not reserved (names starting `__` or `_lake`; with `what` "namespace" also information_schema,
/// pg_catalog, temp, system; with `what` "column" also `_row*`, `_distance`, `_score`; in any
/// case). `what` stands in the error.
Result<std::string> CheckedName(const std::string& name, const char* what);

/// The form in which names are compared without regard to case: NFC and full Unicode case folding.
/// kInvalidArgument for what is not UTF-8.
Result<std::string> FoldedName(const std::string& name);

/// `name` in NFC, for looking it up; kInvalidArgument for what is not UTF-8.
Result<std::string> NormalizedName(const std::string& name);

/// The folder name for `name`: bytes outside [A-Za-z0-9_-] as %XX, cut at 200.
std::string FolderName(const std::string& name);

/// The namespace that always exists.
inline constexpr char kMainNamespace[] = "main";

}  // namespace lake::catalog
