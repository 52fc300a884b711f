#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/table/dataset.h"
#include "lake/table/refs.h"
#include "lake/table/transaction.h"

namespace lake::table {

/// Makes the transaction that begins a shallow clone of `source` in another folder: its version 1
/// has the source's number and names the source's files. Those must stay as long as the clone does:
/// pin the version first. `source_path` is where the source's table lies, as upstream names it (an
/// absolute path). `table_metadata` goes on top of the source's.
Result<Transaction> MakeShallowClone(const Context& context, const Dataset& source,
                                     const std::string& source_path,
                                     const std::map<std::string, std::string>& table_metadata);

struct CopyProgress {
  uint64_t files_done = 0;
  uint64_t files_total = 0;
  uint64_t bytes_done = 0;
};

/// Copies every file that `source` needs (data, blobs, deletions, indices, reference sets), from
/// bases too, into the folder of `target` and makes the transaction that begins a table of its own
/// there. What was copied is in Transaction::new_objects. After an error nothing stays behind.
Result<Transaction> MakeDeepCopy(const Context& context, const Dataset& source,
                                 const std::shared_ptr<storage::ObjectStore>& target,
                                 const std::string& source_path,
                                 const std::map<std::string, std::string>& table_metadata,
                                 const std::function<void(const CopyProgress&)>& progress = {});

/// Begins branch `name` at the version of `source`, which may be on a branch itself, and names it
/// for all. Durable when it returns. kAlreadyExists; kInvalidArgument for a bad name. A crash in
/// between leaves a folder without a branch, which the next call with the same name and source
/// takes over, and a clean-up removes.
Result<Branch> CreateBranch(const Context& context, const Dataset& source, const std::string& name,
                            const std::string& table_path);

/// Removes a branch and all its versions and files. kNotFound; kConflict, naming them, if a tag or
/// another branch hangs on it.
Status DeleteBranch(const Context& context, const std::shared_ptr<storage::ObjectStore>& store,
                    const std::string& name);

}  // namespace lake::table
