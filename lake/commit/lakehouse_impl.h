#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/commit/lakehouse.h"
#include "lake/commit/lakehouse_core.h"
#include "lake/commit/maintenance.h"

namespace lake::commit {

/// The lakehouse over any store and metastore; Lakehouse::Open makes it over a data folder, tests
/// over what they like.
class LakehouseImpl : public Lakehouse {
 public:
  LakehouseImpl(std::shared_ptr<LakehouseCore> core, std::string data_dir, std::string temp_dir)
      : data_dir_(std::move(data_dir)),
        temp_dir_(std::move(temp_dir)),
        core_(std::move(core)),
        maintenance_(core_) {}

  const std::string& data_dir() const override { return data_dir_; }
  const std::string& temp_dir() const override { return temp_dir_; }
  catalog::Metastore& metastore() override { return core_->metastore(); }
  Result<std::shared_ptr<objects::Stage>> StageFor(const Context& context,
                                                   const catalog::Principal& principal) override;

  Result<std::shared_ptr<const OpenTable>> OpenByName(const Context& context,
                                                      const catalog::Principal& principal,
                                                      const catalog::QualifiedName& name,
                                                      catalog::NameMatch match,
                                                      const table::OpenOptions& options) override;
  Result<std::shared_ptr<const OpenTable>> OpenEntry(const Context& context,
                                                     const catalog::Entry& entry,
                                                     const table::OpenOptions& options) override;

  Result<std::unique_ptr<TableWrite>> Create(const Context& context,
                                             const catalog::Principal& principal,
                                             const catalog::QualifiedName& name,
                                             const arrow::Schema& schema,
                                             const std::map<std::string, std::string>& properties,
                                             const WriteOptions& options) override;
  Result<std::unique_ptr<TableWrite>> Append(const Context& context,
                                             const catalog::Principal& principal,
                                             std::shared_ptr<const OpenTable> table,
                                             const WriteOptions& options) override;
  Result<std::unique_ptr<TableWrite>> Replace(const Context& context,
                                              const catalog::Principal& principal,
                                              std::shared_ptr<const OpenTable> table,
                                              const arrow::Schema& schema,
                                              const WriteOptions& options) override;
  Result<CommitOutcome> Change(const Context& context, const catalog::Principal& principal,
                               std::shared_ptr<const OpenTable> table, const ChangeMaker& make,
                               const WriteOptions& options) override;
  Result<std::unique_ptr<ChangeWrite>> ChangeRows(const Context& context,
                                                  const catalog::Principal& principal,
                                                  std::shared_ptr<const OpenTable> table,
                                                  const std::set<std::string>& changed_columns,
                                                  const WriteOptions& options) override;
  Result<CommitOutcome> Replay(const Context& context, const catalog::Principal& principal,
                               const OperationKey& operation) override;

  Status Drop(const Context& context, const catalog::Principal& principal,
              const catalog::Entry& entry) override;
  Result<catalog::Entry> Undrop(const Context& context, const catalog::Principal& principal,
                                const catalog::QualifiedName& name,
                                const std::optional<catalog::QualifiedName>& new_name,
                                const std::optional<Uuid>& incarnation) override;
  Result<catalog::Entry> Rename(const Context& context, const catalog::Principal& principal,
                                const catalog::Entry& entry,
                                const catalog::QualifiedName& new_name) override;
  Maintenance& maintenance() override { return maintenance_; }
  Result<std::vector<std::string>> FindLeftovers(const Context& context) override;

 private:
  /// Where the incarnation stands after a change of its row that ended with `error`; that error if
  /// it is definite.
  Result<catalog::Whereabouts> WhereAfter(const Status& error, const Uuid& incarnation);

  const std::string data_dir_;
  const std::string temp_dir_;
  const std::shared_ptr<LakehouseCore> core_;
  Maintenance maintenance_;
};

}  // namespace lake::commit
