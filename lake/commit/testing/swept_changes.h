#pragma once

#include <functional>
#include <span>

#include "lake/base/context.h"
#include "lake/commit/lakehouse.h"

namespace lake::commit {

/// A change of a lakehouse whose clock is a FakeClock, for tests that run it under faults.
struct SweptChange {
  const char* name;
  /// Makes what it starts from. Fails the test if it cannot.
  std::function<void(const Context&, Lakehouse*)> prepare;
  /// Runs it, or replays it: by the operation id where it takes one, else by looking whether it
  /// happened.
  std::function<Status(const Context&, Lakehouse*, const OperationKey&)> run;
  /// True if it is to be seen; fails the test if the state is neither the old nor the new one.
  std::function<bool(const Context&, Lakehouse*)> happened;
  enum class Kind {
    kUsual,
    kOnlyNames,  ///< No call on storage.
    kPiecemeal,  ///< Goes on where it ended: after an error, any part of it may be done.
  };
  Kind kind = Kind::kUsual;
};

/// Every change that the public interface of this module can make, on the table `t` of `main`.
std::span<const SweptChange> SweptChanges();

}  // namespace lake::commit
