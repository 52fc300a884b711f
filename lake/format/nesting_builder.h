#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

#include "lake/base/error.h"
#include "lake/format/validity_builder.h"

namespace lake::format {

/// One layer of nesting around a leaf.
struct NestingLayer {
  enum class Kind {
    kItem,  ///< A struct, or a fixed-size list of structs.
    kList,  ///< A list of any length, or a map.
  };

  Kind kind = Kind::kItem;
  /// Offsets of a list have 64 bits.
  bool is_large = false;
  /// False if another leaf of the same parent gives the layer's validity and offsets.
  bool is_built = true;
};

/// The layers around a leaf, from the leaf outwards.
struct Nesting {
  std::vector<NestingLayer> layers;

  size_t num_lists() const;
  bool has_lists() const { return num_lists() > 0; }
};

/// Collects the layers around one leaf while its pages are decoded. Layers are parted into
/// *domains*: domain k holds the k-th list from the inside and the item layers between it and the
/// next list; domain 0 the item layers inside the innermost list. All layers of a domain have
/// equally many slots, those of domain 0 as many as there are values. Not thread-safe.
class NestingBuilder {
 public:
  NestingBuilder() = default;
  /// Without lists there are `num_rows` slots in every layer; with lists layers grow.
  NestingBuilder(const Nesting& nesting, uint64_t num_rows, arrow::MemoryPool* pool);

  const Nesting& nesting() const { return nesting_; }
  size_t num_lists() const { return slots_.size() - 1; }

  /// Validity of layer `i` of the nesting.
  ValidityBuilder& validity(size_t i) { return layers_[i].validity; }

  /// Slots of domain `k` so far; those of domain 0 are values.
  uint64_t slots(size_t k) const { return slots_[k]; }
  void AddSlots(size_t k, uint64_t count) { slots_[k] += count; }

  /// Makes room for `count` more slots of list layer `i`.
  Status ReserveList(size_t i, uint64_t count);
  /// Where the starts of the next slots of list layer `i` go, as many as were reserved. They are
  /// numbers of slots of the domain inside.
  uint64_t* next_starts(size_t i) {
    return reinterpret_cast<uint64_t*>(layers_[i].starts->mutable_data()) + layers_[i].num_starts;
  }
  void AddStarts(size_t i, uint64_t count) { layers_[i].num_starts += count; }

  /// The offsets of list layer `i`, one more than it has slots, as wide as the layer says.
  /// kInvalidArgument if they do not fit 32 bits.
  Result<std::shared_ptr<arrow::Buffer>> FinishOffsets(size_t i);

 private:
  struct Layer {
    ValidityBuilder validity;
    // Of a list: u64 each.
    std::shared_ptr<arrow::ResizableBuffer> starts;
    uint64_t num_starts = 0;
    // Of the slots inside a list.
    size_t inner_domain = 0;
  };

  Nesting nesting_;
  arrow::MemoryPool* pool_ = nullptr;
  std::vector<Layer> layers_;
  std::vector<uint64_t> slots_ = {0};
};

}  // namespace lake::format
