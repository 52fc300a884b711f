#include "lake/service/import_rows.h"

#include <algorithm>
#include <cstring>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/builder_time.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/objects/sha256.h"
#include "lake/service/content_type.h"

namespace lake::service {
namespace {

constexpr char kPath[] = "path";
constexpr char kKind[] = "kind";
constexpr char kSize[] = "size";
constexpr char kModified[] = "modified";
constexpr char kContent[] = "content";
constexpr uint64_t kMorselRows = 64 * 1024;

bool IsString(const arrow::DataType& type) {
  return type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING;
}

bool IsSize(const arrow::DataType& type) {
  return type.id() == arrow::Type::INT64 || type.id() == arrow::Type::UINT64;
}

// Coarser units could not hold the time.
bool IsModified(const arrow::DataType& type) {
  if (type.id() != arrow::Type::TIMESTAMP) return false;
  arrow::TimeUnit::type unit = static_cast<const arrow::TimestampType&>(type).unit();
  return unit == arrow::TimeUnit::MICRO || unit == arrow::TimeUnit::NANO;
}

int64_t FloorToMicros(int64_t nanos) { return nanos / 1000 - (nanos % 1000 < 0 ? 1 : 0); }

struct ImportColumn {
  const char* name;
  bool (*accepts)(const arrow::DataType&);
  const char* expected;
};

constexpr ImportColumn kColumns[] = {
    {kPath, IsString, "VARCHAR"},
    {kKind, IsString, "VARCHAR"},
    {kSize, IsSize, "BIGINT or UBIGINT"},
    {kModified, IsModified, "TIMESTAMP, TIMESTAMPTZ or TIMESTAMP_NS"},
    {kContent, objects::IsFileType, "FILE"},
};

const ImportColumn* FindColumn(const std::string& name) {
  for (const ImportColumn& column : kColumns) {
    if (name == column.name) return &column;
  }
  return nullptr;
}

using Array = std::shared_ptr<arrow::Array>;

template <typename Builder, typename ValueOf>
Result<Array> Build(Builder builder, const std::vector<ImportedFile>& files, ValueOf value_of) {
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(files.size())));
  for (const ImportedFile& file : files) ARROW_RETURN_NOT_OK(builder.Append(value_of(file)));
  return builder.Finish();
}

template <typename ValueOf>
Result<Array> BuildStrings(const arrow::DataType& type, const std::vector<ImportedFile>& files,
                           ValueOf value_of) {
  if (type.id() == arrow::Type::LARGE_STRING) {
    return Build(arrow::LargeStringBuilder(), files, value_of);
  }
  return Build(arrow::StringBuilder(), files, value_of);
}

Result<Array> BuildContent(const std::shared_ptr<arrow::DataType>& type,
                           const std::vector<ImportedFile>& files) {
  ARROW_ASSIGN_OR_RAISE(Array uris, Build(arrow::StringBuilder(), files, [](const auto& file) {
                          return std::string_view(file.location.uri);
                        }));
  ARROW_ASSIGN_OR_RAISE(Array types, Build(arrow::StringBuilder(), files, [](const auto& file) {
                          return std::string_view(file.location.content_type);
                        }));
  ARROW_ASSIGN_OR_RAISE(Array sizes, Build(arrow::UInt64Builder(), files, [](const auto& file) {
                          return file.location.size_bytes;
                        }));
  ARROW_ASSIGN_OR_RAISE(Array digests, Build(arrow::StringBuilder(), files, [](const auto& file) {
                          return std::string_view(file.location.sha256);
                        }));
  return std::make_shared<arrow::StructArray>(type, static_cast<int64_t>(files.size()),
                                              arrow::ArrayVector{uris, types, sizes, digests});
}

Result<Array> BuildColumn(const Context& context, const arrow::Field& field,
                          const std::vector<ImportedFile>& files) {
  const arrow::DataType& type = *field.type();
  if (field.name() == kPath) {
    return BuildStrings(type, files, [](const auto& file) { return std::string_view(file.path); });
  }
  if (field.name() == kKind) {
    return BuildStrings(type, files, [](const auto& file) {
      return KindOfContentType(file.location.content_type);
    });
  }
  if (field.name() == kSize) {
    auto size = [](const auto& file) { return file.location.size_bytes; };
    if (type.id() == arrow::Type::UINT64) return Build(arrow::UInt64Builder(), files, size);
    return Build(arrow::Int64Builder(), files,
                 [&](const auto& file) { return static_cast<int64_t>(size(file)); });
  }
  if (field.name() == kModified) {
    bool nanos = static_cast<const arrow::TimestampType&>(type).unit() == arrow::TimeUnit::NANO;
    return Build(arrow::TimestampBuilder(field.type(), context.pool()), files,
                 [nanos](const auto& file) {
                   int64_t micros = FloorToMicros(file.modified_nanos);
                   return nanos ? micros * 1000 : micros;
                 });
  }
  if (field.name() == kContent) return BuildContent(field.type(), files);
  return arrow::MakeArrayOfNull(field.type(), static_cast<int64_t>(files.size()), context.pool());
}

std::string_view StringAt(const arrow::Array& array, int64_t row) {
  if (array.type_id() == arrow::Type::LARGE_STRING) {
    return static_cast<const arrow::LargeStringArray&>(array).GetView(row);
  }
  return static_cast<const arrow::StringArray&>(array).GetView(row);
}

uint64_t SizeAt(const arrow::Array& array, int64_t row) {
  if (array.type_id() == arrow::Type::UINT64) {
    return static_cast<const arrow::UInt64Array&>(array).Value(row);
  }
  return static_cast<uint64_t>(static_cast<const arrow::Int64Array&>(array).Value(row));
}

int64_t MicrosAt(const arrow::Array& array, int64_t row) {
  int64_t value = static_cast<const arrow::TimestampArray&>(array).Value(row);
  bool nanos =
      static_cast<const arrow::TimestampType&>(*array.type()).unit() == arrow::TimeUnit::NANO;
  return nanos ? FloorToMicros(value) : value;
}

}  // namespace

Status CheckImportColumns(const arrow::Schema& schema) {
  int num_found = 0;
  for (const auto& field : schema.fields()) {
    const ImportColumn* column = FindColumn(field->name());
    if (column == nullptr) {
      if (field->nullable()) continue;
      return Error(
          ErrorCode::kInvalidArgument,
          "an import fills path, kind, size, modified and content; every other column must "
          "be nullable, and this one is not: '{}'",
          field->name());
    }
    if (!column->accepts(*field->type())) {
      return Error(ErrorCode::kInvalidArgument,
                   "an import needs a column '{}' of type {}, and this table's is {}", column->name,
                   column->expected, field->type()->ToString());
    }
    ++num_found;
  }
  if (num_found > 0) return Status::OK();
  return Error(
      ErrorCode::kInvalidArgument,
      "the table has none of the columns that an import fills: path, kind, size, modified, "
      "content");
}

Result<std::shared_ptr<arrow::RecordBatch>> MakeImportRows(
    const Context& context, const std::shared_ptr<arrow::Schema>& schema,
    const std::vector<ImportedFile>& files) {
  arrow::ArrayVector columns;
  for (const auto& field : schema->fields()) {
    ARROW_ASSIGN_OR_RAISE(Array column, BuildColumn(context, *field, files));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(files.size()), std::move(columns));
}

Result<KnownFiles> KnownFiles::Load(const Context& context, const commit::OpenTable& table) {
  const arrow::Schema& schema = *table.dataset->arrow_schema();
  KnownFiles known;
  known.has_path_ = schema.GetFieldIndex(kPath) >= 0;
  known.has_size_ = schema.GetFieldIndex(kSize) >= 0;
  known.has_modified_ = schema.GetFieldIndex(kModified) >= 0;
  // Without a path nothing tells one file from another.
  if (!known.has_path_) return known;

  ARROW_ASSIGN_OR_RAISE(uint64_t num_rows, table.dataset->CountRows(context));
  ARROW_ASSIGN_OR_RAISE(known.reservation_,
                        context.memory->Reserve(static_cast<int64_t>(num_rows * sizeof(Key)),
                                                "the list of the files that are there already"));
  known.keys_.reserve(num_rows);
  table::ScanOptions scan;
  scan.columns = {kPath};
  if (known.has_size_) scan.columns->push_back(kSize);
  if (known.has_modified_) scan.columns->push_back(kModified);
  scan.morsel_rows = kMorselRows;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<table::Scanner> scanner,
                        table.dataset->Scan(context, std::move(scan)));
  for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                          scanner->Read(context, morsel));
    if (batch != nullptr) ARROW_RETURN_NOT_OK(known.Add(*batch));
  }
  std::ranges::sort(known.keys_);
  return known;
}

Status KnownFiles::Add(const arrow::RecordBatch& batch) {
  auto path = batch.GetColumnByName(kPath);
  auto size = batch.GetColumnByName(kSize);
  auto modified = batch.GetColumnByName(kModified);
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (path->IsNull(row) || (size && size->IsNull(row)) || (modified && modified->IsNull(row))) {
      continue;
    }
    keys_.push_back(KeyOf(StringAt(*path, row), size ? SizeAt(*size, row) : 0,
                          modified ? MicrosAt(*modified, row) : 0));
  }
  return Status::OK();
}

KnownFiles::Key KnownFiles::KeyOf(std::string_view path, uint64_t size,
                                  int64_t modified_micros) const {
  // Half of a SHA-256: two files that share it by chance will not be seen.
  objects::Sha256 hash;
  const uint64_t numbers[] = {has_size_ ? size : 0,
                              has_modified_ ? static_cast<uint64_t>(modified_micros) : 0};
  hash.Update(std::string_view(reinterpret_cast<const char*>(numbers), sizeof(numbers)));
  hash.Update(path);
  std::array<uint8_t, 32> digest = hash.FinishBytes();
  Key key;
  std::copy_n(digest.begin(), key.size(), key.begin());
  return key;
}

bool KnownFiles::Contains(std::string_view path, uint64_t size, int64_t modified_nanos) const {
  return has_path_ &&
         std::ranges::binary_search(keys_, KeyOf(path, size, FloorToMicros(modified_nanos)));
}

}  // namespace lake::service
