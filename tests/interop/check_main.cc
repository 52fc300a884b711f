// Compares Lance files as lake reads them with the Arrow IPC streams of what their writer was
// given:
//   lake_interop_check [--seed N] [--refused TEXT] [EXPECTED.arrow FILE.lance...]...
// Each Lance file must hold what the IPC stream named before it holds. It is read whole, in random
// ranges and by random single rows; every value of every column must be equal. Prints what differs,
// then "cells <equal>/<all>"; exit status 1 if a cell differs. With --refused a cell may also be
// refused by name, with an error that holds TEXT; "refused <number>" tells how many were.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/compare.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <fmt/core.h>

#include "lake/format/file_reader.h"
#include "lake/storage/local_store.h"

namespace lake {
namespace {

using format::ColumnRequest;
using format::FileReader;
using format::RowSelection;

constexpr int kRangeReads = 4;
constexpr int kTakeReads = 3;
constexpr uint64_t kMaxTakenRows = 200;

Result<std::shared_ptr<arrow::Table>> ReadIpc(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchStreamReader::Open(file));
  ARROW_ASSIGN_OR_RAISE(auto table, reader->ToTable());
  return table->CombineChunks();
}

// The rows of `selection` of one array.
Result<std::shared_ptr<arrow::Array>> Pick(const std::shared_ptr<arrow::Array>& array,
                                           const RowSelection& selection) {
  arrow::ArrayVector parts;
  for (const format::RowRange& range : selection.ranges()) {
    parts.push_back(
        array->Slice(static_cast<int64_t>(range.start), static_cast<int64_t>(range.count)));
  }
  if (parts.empty()) return array->Slice(0, 0);
  return arrow::Concatenate(parts);
}

std::vector<RowSelection> Selections(uint64_t rows, std::mt19937_64* random) {
  std::vector<RowSelection> selections = {RowSelection(0, rows)};
  if (rows == 0) return selections;
  const auto below = [&](uint64_t limit) { return (*random)() % limit; };
  for (int i = 0; i < kRangeReads; ++i) {
    RowSelection selection;
    for (uint64_t at = below(rows); at < rows;) {
      const uint64_t count = 1 + below(std::min<uint64_t>(rows - at, i % 2 == 0 ? rows : 300));
      selection.Append(at, count);
      at += count + 1 + below(rows);
    }
    selections.push_back(selection);
  }
  for (int i = 0; i < kTakeReads; ++i) {
    std::set<uint64_t> taken;
    const uint64_t count = 1 + below(std::min(rows, kMaxTakenRows));
    while (taken.size() < count) taken.insert(below(rows));
    const std::vector<uint64_t> sorted(taken.begin(), taken.end());
    selections.push_back(RowSelection::FromSortedRows(sorted));
  }
  return selections;
}

bool HoldsDictionary(const arrow::DataType& type) {
  return type.id() == arrow::Type::DICTIONARY ||
         std::any_of(type.fields().begin(), type.fields().end(),
                     [](const auto& field) { return HoldsDictionary(*field->type()); });
}

// Values without the ways that types have to wrap them: dictionaries and extension types.
Result<std::shared_ptr<arrow::Array>> Plain(const std::shared_ptr<arrow::Array>& array) {
  if (array->type_id() == arrow::Type::EXTENSION) {
    return Plain(static_cast<const arrow::ExtensionArray&>(*array).storage());
  }
  if (array->type_id() != arrow::Type::DICTIONARY) {
    if (!HoldsDictionary(*array->type())) return array;
    const auto data = array->data()->Copy();
    arrow::FieldVector fields;
    for (size_t i = 0; i < data->child_data.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(const auto child, Plain(arrow::MakeArray(data->child_data[i])));
      data->child_data[i] = child->data();
      fields.push_back(array->type()->field(static_cast<int>(i))->WithType(child->type()));
    }
    switch (array->type_id()) {
      case arrow::Type::STRUCT:
        data->type = arrow::struct_(fields);
        break;
      case arrow::Type::LARGE_LIST:
        data->type = arrow::large_list(fields[0]);
        break;
      case arrow::Type::LIST:
      case arrow::Type::MAP:
        data->type = arrow::list(fields[0]);
        break;
      default:
        return array;
    }
    return arrow::MakeArray(data);
  }
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*array);
  ARROW_ASSIGN_OR_RAISE(const auto builder, arrow::MakeBuilder(dictionary.dictionary()->type()));
  for (int64_t i = 0; i < array->length(); ++i) {
    ARROW_RETURN_NOT_OK(array->IsNull(i)
                            ? builder->AppendNull()
                            : builder->AppendArraySlice(*dictionary.dictionary()->data(),
                                                        dictionary.GetValueIndex(i), 1));
  }
  return builder->Finish();
}

// The bytes that a column of blobs, of either version, points to in its own file.
Result<std::shared_ptr<arrow::Array>> BlobBytes(FileReader* reader,
                                                const std::shared_ptr<arrow::Array>& column) {
  const auto& places = static_cast<const arrow::StructArray&>(*column);
  const auto& position = static_cast<const arrow::UInt64Array&>(*places.GetFieldByName("position"));
  const auto& size = static_cast<const arrow::UInt64Array&>(*places.GetFieldByName("size"));
  const auto kind = places.GetFieldByName("kind");
  std::vector<storage::ByteRange> ranges;
  for (int64_t i = 0; i < places.length(); ++i) {
    if (places.IsNull(i)) continue;
    if (kind != nullptr && static_cast<const arrow::UInt8Array&>(*kind).Value(i) != 0) {
      return Error(ErrorCode::kUnsupported, "a blob that is not inline");
    }
    ranges.push_back({position.Value(i), size.Value(i)});
  }
  ARROW_ASSIGN_OR_RAISE(const auto buffers, reader->ReadRanges(Context(), ranges));
  arrow::LargeBinaryBuilder builder;
  size_t next = 0;
  for (int64_t i = 0; i < places.length(); ++i) {
    ARROW_RETURN_NOT_OK(places.IsNull(i) ? builder.AppendNull()
                                         : builder.Append(std::string_view(*buffers[next++])));
  }
  return builder.Finish();
}

// `column` with the bytes of its blobs in place of where they lie.
Result<std::shared_ptr<arrow::Array>> WithBlobs(FileReader* reader, const format::Field& field,
                                                const std::shared_ptr<arrow::Array>& column) {
  if (field.is_blob_v1() || field.is_blob_v2()) return BlobBytes(reader, column);
  const bool has_blob = std::any_of(field.children.begin(), field.children.end(),
                                    [](const format::Field& f) { return f.is_blob_v1(); });
  if (field.logical_type != "struct" || !has_blob) return column;
  const auto& parent = static_cast<const arrow::StructArray&>(*column);
  arrow::ArrayVector children;
  arrow::FieldVector fields;
  for (size_t i = 0; i < field.children.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto child,
                          WithBlobs(reader, field.children[i], parent.field(static_cast<int>(i))));
    fields.push_back(parent.type()->field(static_cast<int>(i))->WithType(child->type()));
    children.push_back(std::move(child));
  }
  return arrow::StructArray::Make(children, fields, parent.null_bitmap());
}

// Reads one column by every selection; the text of the first difference, or nothing.
Result<std::string> CheckColumn(FileReader* reader, const ColumnRequest& request,
                                const std::shared_ptr<arrow::Array>& expected,
                                const std::vector<RowSelection>& selections) {
  const auto options = arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false);
  for (size_t i = 0; i < selections.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const auto batch,
                          reader->Read(Context(), std::span(&request, 1), selections[i]));
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    ARROW_ASSIGN_OR_RAISE(auto wanted, Pick(expected, selections[i]));
    auto actual = batch->column(0);
    ARROW_ASSIGN_OR_RAISE(actual, WithBlobs(reader, request.field, actual));
    const bool is_json = request.field.logical_type == "json";
    if (!is_json && !actual->type()->Equals(*wanted->type()) &&
        wanted->type_id() != arrow::Type::EXTENSION) {
      return fmt::format("type {} instead of {}", actual->type()->ToString(),
                         wanted->type()->ToString());
    }
    ARROW_ASSIGN_OR_RAISE(actual, Plain(actual));
    ARROW_ASSIGN_OR_RAISE(wanted, Plain(wanted));
    if (!actual->Equals(wanted, options)) {
      std::string diff = wanted->Diff(*actual);
      return fmt::format("read {} of {} rows differs: {}", i, selections[i].num_rows(),
                         diff.substr(0, 500));
    }
  }
  return std::string();
}

struct Counts {
  int cells = 0;
  int equal = 0;
  int refused = 0;
};

Status CheckFile(const std::string& file, const arrow::Table& expected, std::mt19937_64* random,
                 const std::string& refused, Counts* counts) {
  counts->cells += expected.num_columns();
  const int refused_before = counts->refused;
  const std::filesystem::path path(file);
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(path.parent_path().string()));
  ARROW_ASSIGN_OR_RAISE(const auto reader,
                        FileReader::Open(Context(), store, path.filename().string()));
  if (reader->num_rows() != static_cast<uint64_t>(expected.num_rows())) {
    fmt::print("differs: {}: {} rows instead of {}\n", file, reader->num_rows(),
               expected.num_rows());
    return Status::OK();
  }
  ARROW_ASSIGN_OR_RAISE(const auto requests, reader->AllColumns());
  const auto selections = Selections(reader->num_rows(), random);
  for (int i = 0; i < expected.num_columns(); ++i) {
    const std::string& name = expected.field(i)->name();
    const auto chunked = expected.column(i);
    std::shared_ptr<arrow::Array> array;
    if (chunked->num_chunks() > 0) {
      array = chunked->chunk(0);
    } else {
      ARROW_ASSIGN_OR_RAISE(array, arrow::MakeEmptyArray(chunked->type()));
    }
    const auto text = CheckColumn(reader.get(), requests[i], array, selections);
    if (text.ok() && text->empty()) {
      ++counts->equal;
    } else if (!refused.empty() && CodeOf(text.status()) == ErrorCode::kUnsupported &&
               ErrorText(text.status()).find(refused) != std::string::npos) {
      ++counts->equal;
      ++counts->refused;
    } else {
      fmt::print("differs: {} {}: {}\n", file, name, text.ok() ? *text : ErrorText(text.status()));
    }
  }
  if (counts->refused != refused_before) return Status::OK();
  // All columns in one read.
  ARROW_ASSIGN_OR_RAISE(const auto batch, reader->Read(Context(), requests, selections.back()));
  return batch->ValidateFull();
}

int Main(int argc, char** argv) {
  uint64_t seed = 1;
  Counts counts;
  bool failed = false;
  std::string refused;
  std::shared_ptr<arrow::Table> expected;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    Status status;
    if (argument == "--seed" && i + 1 < argc) {
      const std::string_view text = argv[++i];
      std::from_chars(text.data(), text.data() + text.size(), seed);
    } else if (argument == "--refused" && i + 1 < argc) {
      refused = argv[++i];
    } else if (argument.ends_with(".arrow")) {
      status = ReadIpc(std::string(argument)).Value(&expected);
    } else if (expected == nullptr) {
      status = Error(ErrorCode::kInvalidArgument, "no .arrow file stands before it");
    } else {
      std::mt19937_64 random(seed);
      status = CheckFile(std::string(argument), *expected, &random, refused, &counts);
    }
    if (!status.ok()) {
      fmt::print("differs: {}: {}\n", argument, ErrorText(status));
      failed = true;
    }
  }
  if (!refused.empty()) fmt::print("refused {}\n", counts.refused);
  fmt::print("cells {}/{}\n", counts.equal, counts.cells);
  return failed || counts.equal != counts.cells ? 1 : 0;
}

}  // namespace
}  // namespace lake

int main(int argc, char** argv) { return lake::Main(argc, argv); }
