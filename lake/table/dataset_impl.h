#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lake/table/dataset.h"
#include "lake/table/fragment_source.h"

namespace lake::table {

class DatasetImpl final : public Dataset {
 public:
  /// `store` is that of the branch, if one is given, and `root` that of the table.
  DatasetImpl(std::shared_ptr<storage::ObjectStore> store, std::shared_ptr<const Manifest> manifest,
              ManifestNaming naming, std::shared_ptr<arrow::Schema> schema,
              std::shared_ptr<storage::ObjectStore> root = nullptr,
              std::optional<std::string> branch = {}, BaseOpener open_base = {});

  Result<std::shared_ptr<Dataset>> Reopen(const Context& context,
                                          std::optional<uint64_t> version) const override;
  const Manifest& manifest() const override { return *manifest_; }
  std::shared_ptr<const Manifest> shared_manifest() const override { return manifest_; }
  const std::shared_ptr<storage::ObjectStore>& store() const override { return store_; }
  const std::shared_ptr<storage::ObjectStore>& root_store() const override { return root_; }
  const std::optional<std::string>& branch() const override { return branch_; }
  const std::shared_ptr<BaseStores>& bases() const override { return bases_; }
  ManifestNaming naming() const override { return naming_; }
  const std::shared_ptr<arrow::Schema>& arrow_schema() const override { return schema_; }

  Result<uint64_t> CountRows(const Context& context) const override;
  Result<std::vector<VersionInfo>> Versions(const Context& context) const override;
  Result<std::shared_ptr<Scanner>> Scan(const Context& context, ScanOptions options) const override;
  Result<std::shared_ptr<arrow::RecordBatch>> Take(
      const Context& context, std::span<const RowAddress> addresses,
      const std::vector<std::string>& columns) const override;

  const std::shared_ptr<FragmentSource>& source() const { return source_; }
  /// The fragment of that id; kNotFound if the version has none. Borrowed from the manifest.
  Result<const Fragment*> FragmentById(uint64_t id) const;

 private:
  const std::shared_ptr<storage::ObjectStore> store_;
  const std::shared_ptr<storage::ObjectStore> root_;
  const std::optional<std::string> branch_;
  const std::shared_ptr<const Manifest> manifest_;
  const BaseOpener open_base_;
  const std::shared_ptr<BaseStores> bases_;
  const ManifestNaming naming_;
  const std::shared_ptr<arrow::Schema> schema_;
  /// Shared with the scanners, which may outlive the dataset.
  const std::shared_ptr<FragmentSource> source_;
};

/// The field called `name`; kNotFound names the columns there are.
Result<const format::Field*> FindColumn(const format::Schema& schema, const std::string& name);

}  // namespace lake::table
