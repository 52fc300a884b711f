#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/table/blobs.h"
#include "lake/table/row_change.h"
#include "lake/table/testing/table_fixture_internal.h"

namespace lake::table {

/// Values of a blob column, as a test has them.
using BlobTexts = std::vector<std::optional<std::string>>;

/// `size` bytes that say where they are.
std::string BlobText(size_t size, int seed = 0);

/// Bytes as a blob column takes them.
std::shared_ptr<arrow::Array> BlobValues(const BlobTexts& texts);
/// The same as structs of data, uri, position and size; a text "uri:<uri>", maybe with
/// "@<position>+<size>" behind, is an external one.
std::shared_ptr<arrow::Array> BlobStructs(const BlobTexts& texts);

/// Tables of `id` (int64) and `b`, a blob column with small thresholds: up to 16 bytes inline, more
/// than 64 dedicated, files of packed ones up to 100.
class BlobFixture : public TableFixture {
 protected:
  static format::Schema BlobSchema();
  static std::shared_ptr<arrow::RecordBatch> BlobRows(const BlobTexts& texts, int64_t first_id = 0);

  /// Writes rows into files that no version names yet.
  Result<std::vector<Fragment>> WriteRows(const BlobTexts& texts, std::vector<std::string>* keys,
                                          int64_t first_id = 0, AppendWriterOptions options = {});
  void CreateBlobs(const BlobTexts& texts, AppendWriterOptions options = {});
  void AppendBlobs(const BlobTexts& texts, int64_t first_id);
  /// Commits what an operation made.
  Status CommitChange(Result<PreparedChange> change);

  std::vector<RowAddress> Addresses();
  Result<BlobTexts> ReadBlobs(const std::vector<RowAddress>& addresses, BlobOptions options = {});
  /// The blobs of the newest version by id, each read by every way there is.
  std::map<int64_t, std::optional<std::string>> BlobsById();
  std::vector<std::string> Keys(const std::string& prefix = "data/");
  /// Nothing but notes, and no leftovers.
  void ExpectSound();
};

}  // namespace lake::table
