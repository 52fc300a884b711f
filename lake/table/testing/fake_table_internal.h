#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/base/testing/fake_clock.h"
#include "lake/base/testing/fake_random.h"
#include "lake/table/commit.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/transaction.pb.h"

namespace lake::table {

/// A context whose clock stands still and whose random source repeats.
class FakeSurroundings {
 public:
  explicit FakeSurroundings(uint64_t seed = 1) : random_(seed) {
    context_.clock = &clock_;
    context_.random = &random_;
  }

  const Context& context() const { return context_; }
  const FakeClock& clock() const { return clock_; }

 private:
  FakeClock clock_;
  FakeRandom random_;
  Context context_;
};

/// `id` int64, never null, and `name` string.
format::Schema SmallSchema();

/// A fragment of `rows` rows whose data file exists but holds no rows: for tests of commits, which
/// do not look into data files.
Result<Fragment> PutFakeFragment(const Context& context, storage::ObjectStore* store,
                                 const format::Schema& schema, uint64_t rows);

Transaction MakeCreate(const Context& context, format::Schema schema,
                       std::vector<Fragment> fragments = {});
Transaction MakeAppend(const Context& context, uint64_t read_version,
                       std::vector<Fragment> fragments);

/// The new rows of an append or a create.
std::vector<Fragment>& FragmentsOf(Transaction& transaction);

/// The manifest that `transaction` makes on top of `newest` (null: a first version).
Result<std::string> BuildManifest(const Transaction& transaction, const ManifestFile* newest,
                                  const std::string& transaction_bytes, int64_t now_nanos);

/// Changes what a foreign program's next version holds.
using ForeignEdit = std::function<void(pb::Manifest*, pb::Transaction*)>;

/// Puts the version behind the newest one as another program ("lance") would: the manifest of the
/// newest version with `edit` on top, and its transaction, inline and as a file. Returns its
/// number.
Result<uint64_t> PutForeignVersion(const Context& context, storage::ObjectStore* store,
                                   const ForeignEdit& edit);

/// Puts `bytes` as the manifest of `version`.
Status PutManifest(const Context& context, storage::ObjectStore* store, uint64_t version,
                   const std::string& bytes);

}  // namespace lake::table
