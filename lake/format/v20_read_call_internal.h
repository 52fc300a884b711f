#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "lake/base/context.h"
#include "lake/format/file_reader.h"
#include "lake/format/page_decoder_internal.h"
#include "lake/format/read_call_internal.h"
#include "lake/format/v20_array_internal.h"
#include "lake/format/v20_column_internal.h"
#include "lake/format/v20_ends_internal.h"

namespace lake::format {

/// One call of FileReader::Read on a 2.0 file. Every field has a column of its own, and the items
/// of a list are found only when its ends are known: so requests go out in rounds, one for each
/// level of lists and one for what is found through ends or a dictionary; all columns share them.
/// Used by one thread, once.
class V20ReadCall {
 public:
  /// What the references refer to outlives the call.
  V20ReadCall(const Context& context, const FileSource& source, V20DictionaryCache* dictionaries,
              uint64_t num_rows, RowSelection selection)
      : context_(context),
        source_(source),
        dictionaries_(dictionaries),
        num_rows_(num_rows),
        selection_(std::move(selection)) {}

  /// Adds a field of the output. kInvalidArgument if the request does not have one column for each
  /// field; kUnsupported, by name, for a type that is not read.
  Status AddField(const ColumnRequest& request);

  /// The columns whose metadata the fields need, without those that are missing in the file.
  std::vector<uint32_t> Columns() const;

  /// Reads all that the rows of the fields need. `metadata` goes with Columns().
  Status Fetch(std::span<const std::shared_ptr<const V20Column>> metadata);

  /// The rows of all fields, from memory. REQUIRES: Fetch succeeded.
  Result<std::shared_ptr<arrow::RecordBatch>> Decode();

 private:
  enum class Kind { kLeaf, kStruct, kList };
  struct PageEntry {
    size_t index = 0;
    std::unique_ptr<V20ArrayDecoder> values;  // of a leaf
    std::unique_ptr<V20Ends> ends;            // of a list
    uint64_t first_item = 0;
    uint64_t num_items = 0;
  };
  // A field at any depth.
  struct Node {
    Kind kind = Kind::kLeaf;
    // Of the output.
    std::shared_ptr<arrow::DataType> type;
    // The pages hold JSONB instead of text.
    bool is_json = false;
    std::string path;
    // -1 for one that the file does not hold.
    int column = -1;
    std::vector<std::unique_ptr<Node>> children;
    std::shared_ptr<const V20Column> metadata;
    // Wanted values.
    uint64_t length = 0;
    std::vector<PageEntry> pages;
    // The round whose reads PlanFirst went to.
    size_t first_round = 0;
    bool has_second = false;
    V20Offsets offsets;
  };

  Result<std::unique_ptr<Node>> MakeNode(const Field& field,
                                         const std::shared_ptr<arrow::DataType>& type,
                                         const std::string& path, std::span<const int>* columns);
  static bool IsPresent(const Node& node);
  template <typename Visit>
  static void ForEachRead(Node* node, Visit visit);

  // Plans `rows` of a node and of what is below it, up to the next list, into the newest round.
  // `in_list`: the file does not say how many values the column must have.
  Status Start(Node* node, const RowSelection& rows, bool in_list);
  Status StartPage(Node* node, const V20Page& page, size_t index, uint64_t first_item,
                   const RowSelection& values);
  // Goes on with a node whose round was fetched.
  Status Continue(Node* node);
  Status ContinueList(Node* node);
  Result<std::shared_ptr<arrow::Array>> Assemble(Node* node);
  Result<std::shared_ptr<arrow::Array>> AssembleLeaf(Node* node);
  std::string Place(const Node& node, size_t page) const;

  const Context context_;
  const FileSource& source_;
  V20DictionaryCache* const dictionaries_;
  const uint64_t num_rows_;
  const RowSelection selection_;
  std::vector<std::shared_ptr<arrow::Field>> fields_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::deque<RangeReads> rounds_;
  // Nodes whose reads are in the newest round.
  std::vector<Node*> waiting_;
};

}  // namespace lake::format
