#pragma once

#include <cstdint>
#include <string_view>

#include "lake/base/error.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/fsst.h"
#include "lake/format/general_compression.h"
#include "lake/format/leaf_builder.h"

namespace lake::format {

/// How strings or binary values that are stored one by one (full-zip) are encoded. Immutable.
class StringCodec {
 public:
  /// kUnsupported, by name, for an encoding that is not read; kCorrupt unless its lengths have
  /// `length_bits`.
  static Result<StringCodec> From(const pb::CompressiveEncoding& encoding, uint64_t length_bits);

  /// True if a value is stored as it is.
  bool is_plain() const { return codec_ == Codec::kPlain; }
  /// True if decoded values have no bound that is known beforehand.
  bool is_general() const { return codec_ == Codec::kGeneral; }

  /// Decodes `stored` to `made` bytes behind the builder's end, making room there; returns how many
  /// bytes came out.
  Result<uint64_t> Append(std::string_view stored, uint64_t made, LeafBuilder* builder) const;

 private:
  enum class Codec { kPlain, kFsst, kGeneral };

  Codec codec_ = Codec::kPlain;
  FsstDecoder fsst_;
  GeneralCodec general_ = GeneralCodec::kZstd;
};

}  // namespace lake::format
