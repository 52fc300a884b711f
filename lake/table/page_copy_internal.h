#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/table/dataset.h"

namespace lake::table {

/// A new data file, and the fragment (without id) that it makes.
struct CopiedFile {
  Fragment fragment;
  std::string key;
};

/// Joins whole fragments of `dataset`, of which no row is deleted, by copying their pages. Nothing
/// if that cannot or need not be: see format::CopyPages.
Result<std::optional<CopiedFile>> CopyPages(const Context& context, const Dataset& dataset,
                                            const std::vector<const Fragment*>& fragments);

}  // namespace lake::table
