#include <bit>

#include "lake/table/manifest.h"

namespace lake::table {

namespace {

constexpr uint64_t kReadable = kFlagDeletionFiles | kFlagStableRowIds | kFlagUseV2Format |
                               kFlagTableConfig | kFlagBasePaths | kFlagMixedFileVersions;
constexpr uint64_t kWritable = kReadable;

std::string_view FlagName(uint64_t flag) {
  switch (flag) {
    case kFlagDeletionFiles:
      return "deletion files";
    case kFlagStableRowIds:
      return "stable row ids";
    case kFlagUseV2Format:
      return "v2 format";
    case kFlagTableConfig:
      return "table config";
    case kFlagBasePaths:
      return "base paths";
    case 32:
      return "no transaction file";
    case 64:
      return "data overlay files";
    case 128:
      return "covered index metadata";
    case kFlagMixedFileVersions:
      return "mixed file versions";
    case 1024:
      return "tagged fragment reuse";
    case 16384:
      return "managed blobs";
    case 32768:
      return "non-reusable field ids";
    default:
      return "unknown to lake";
  }
}

/// kUnsupported naming the lowest bit of `flags` that is not in `known`.
Status CheckFlags(uint64_t flags, uint64_t known, std::string_view what, const std::string& table) {
  const uint64_t unknown = flags & ~known;
  if (unknown == 0) return Status::OK();
  const uint64_t flag = 1ull << std::countr_zero(unknown);
  return Error(ErrorCode::kUnsupported,
               "{} of the table needs a feature that lake lacks: {}: flag {} ({})", what, table,
               flag, FlagName(flag));
}

}  // namespace

std::vector<std::string> FlagNames(uint64_t flags) {
  std::vector<std::string> names;
  for (; flags != 0; flags &= flags - 1) {
    const uint64_t flag = 1ull << std::countr_zero(flags);
    std::string name(FlagName(flag));
    names.push_back(name == FlagName(0) ? fmt::format("{} ({})", name, flag) : name);
  }
  return names;
}

Status CheckReadable(const Manifest& manifest, const std::string& table) {
  return CheckFlags(manifest.reader_flags(), kReadable, "reading", table);
}

Status CheckWritable(const Manifest& manifest, const std::string& table) {
  ARROW_RETURN_NOT_OK(CheckReadable(manifest, table));
  ARROW_RETURN_NOT_OK(CheckFlags(manifest.reader_flags(), kWritable, "writing", table));
  ARROW_RETURN_NOT_OK(CheckFlags(manifest.writer_flags(), kWritable, "writing", table));
  return Status::OK();
}

Result<format::FileVersion> VersionOfNewFiles(const Manifest& manifest, const std::string& table) {
  ARROW_RETURN_NOT_OK(CheckWritable(manifest, table));
  if (format::IsWritten(manifest.file_version())) return manifest.file_version();
  if (MayMixFileVersions(manifest)) return format::kFileVersion22;
  return Error(ErrorCode::kUnsupported,
               "data files of the table's version are not written, only of 2.1 and 2.2: copy its "
               "rows into a new table, or replace it by CREATE OR REPLACE TABLE ... WITH "
               "(file_version = '2.2'), or set its config {} to true, and Lance reads it from "
               "version 12 on only: {}: file_version {}",
               kMixedFileVersionsConfig, table, manifest.file_version().ToString());
}

bool MayMixFileVersions(const Manifest& manifest) {
  if ((manifest.reader_flags() & kFlagMixedFileVersions) != 0) return true;
  auto allowed = manifest.config().find(kMixedFileVersionsConfig);
  return allowed != manifest.config().end() && allowed->second == "true";
}

}  // namespace lake::table
