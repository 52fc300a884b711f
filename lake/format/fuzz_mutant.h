#pragma once

namespace lake::format {

/// Bounds checks that a build with -DLAKE_FUZZ_MUTANT=<n> leaves out, one per decoder, so that
/// `scripts/fuzz --mutants` can show that the fuzzers would find a missing check. 0 in every other
/// build: the checks are all there and cost nothing extra.
enum class FuzzMutant {
  kNone = 0,
  kColumnMetadataBuffers = 1,
  kMiniBlockChunkSizes = 2,
  kMiniBlockVariableOffsets = 3,
  kFullZipValueLength = 4,
  kConstantScalarParts = 5,
  kBlockRunLengths = 6,
  kFsstEscape = 7,
};

#ifndef LAKE_FUZZ_MUTANT
#define LAKE_FUZZ_MUTANT 0
#endif

constexpr bool FuzzMutantDrops(FuzzMutant mutant) {
  return static_cast<int>(mutant) == LAKE_FUZZ_MUTANT && mutant != FuzzMutant::kNone;
}

}  // namespace lake::format
