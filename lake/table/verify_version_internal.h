#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/file_reader.h"
#include "lake/table/base_stores.h"
#include "lake/table/deletion_vector.h"
#include "lake/table/manifest.h"
#include "lake/table/verify.h"

namespace lake::table {

/// What the looks at several versions share: data files are looked into once.
class VerifyJob {
 public:
  VerifyJob(const Context& context, const VerifyOptions& options, VerifyReport* report)
      : context_(context), options_(options), report_(report) {}

  const Context& context() const { return context_; }
  const VerifyOptions& options() const { return options_; }
  VerifyReport* report() const { return report_; }

  /// Notes a finding, once.
  void Add(Severity severity, std::string object, std::string what, std::string advice);
  void Error(std::string object, std::string what, std::string advice) {
    Add(Severity::kError, std::move(object), std::move(what), std::move(advice));
  }

  /// What was found of a data file.
  struct SeenFile {
    /// Null if it cannot be opened.
    std::shared_ptr<format::FileReader> reader;
    std::set<int> columns_read;
    std::set<int> blobs_checked;
  };
  /// Opens it, unless it was before, and compares it with what the manifest says.
  SeenFile* Look(const BaseStores::Place& place, const DataFile& file);

 private:
  const Context& context_;
  const VerifyOptions& options_;
  VerifyReport* const report_;
  std::set<std::string> noted_;
  std::unordered_map<std::string, SeenFile> files_;
};

/// Looks at one version of a line. `line` stands before the names of its objects, such as "branch
/// dev, "; `root` is the table's folder, `own` that of the line.
Status VerifyVersion(VerifyJob* job, const std::shared_ptr<storage::ObjectStore>& own,
                     const std::shared_ptr<storage::ObjectStore>& root, const std::string& line,
                     const std::shared_ptr<const Manifest>& manifest);

/// The part that concerns the blobs of a data file, which could be opened: `key` is its key.
Status VerifyBlobs(VerifyJob* job, const format::Schema& schema, const DataFile& file,
                   const std::string& key, BaseStores* bases, VerifyJob::SeenFile* seen);

/// The parts that concern stable row ids and indices. `deleted`: of the fragments whose deletion
/// files can be read.
void VerifyRowIds(VerifyJob* job, const std::string& where, const Manifest& manifest,
                  const std::map<uint64_t, DeletionVector>& deleted);
Status VerifyIndices(VerifyJob* job, const std::string& where, const Manifest& manifest,
                     BaseStores* bases);

}  // namespace lake::table
