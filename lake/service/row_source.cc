#include "lake/service/row_source.h"

#include <algorithm>
#include <string_view>

#include <arrow/buffer.h>
#include <arrow/io/file.h>

#include "lake/service/folder_walk.h"

namespace lake::service {
namespace {

constexpr int64_t kProbeBytes = 4096;

struct Signature {
  std::string_view bytes;
  const char* name;
};

using namespace std::string_view_literals;

constexpr Signature kRefused[] = {
    {"PARE"sv, "an encrypted Parquet file"},
    {"FEA1"sv, "a Feather file of version 1"},
    {"ORC"sv, "an ORC file"},
    {"Obj\x01"sv, "an Avro file"},
    {"\x1F\x8B"sv, "a gzip file"},
    {"PK\x03\x04"sv, "a zip file"},
    {"BZh"sv, "a bzip2 file"},
    {"\xFD"
     "7zXZ"sv,
     "an xz file"},
    {"\x28\xB5\x2F\xFD"sv, "a zstd file"},
    {"SQLite format 3\0"sv, "an SQLite file"},
};

constexpr const char* kJsonEndings[] = {".json", ".jsonl", ".ndjson"};

Status Refuse(const std::string& path, std::string_view what) {
  return Error(ErrorCode::kUnsupported,
               "only Parquet, CSV and Arrow IPC can be ingested, and this is {}: '{}'", what,
               DisplayName(path));
}

}  // namespace

Result<std::unique_ptr<RowSource>> OpenRowSource(const Context& context, const std::string& path,
                                                 const arrow::Schema* wanted) {
  auto opened = arrow::io::ReadableFile::Open(path, context.pool());
  if (!opened.ok()) {
    return Error(CodeOf(opened.status()), "cannot open the source: '{}': {}", DisplayName(path),
                 opened.status().message());
  }
  std::shared_ptr<arrow::io::RandomAccessFile> file = *std::move(opened);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> probe, file->ReadAt(0, kProbeBytes));
  std::string_view start(reinterpret_cast<const char*>(probe->data()),
                         static_cast<size_t>(probe->size()));
  if (start.starts_with("PAR1"sv)) return OpenParquetSource(context, file, path);
  if (start.starts_with("ARROW1\0\0"sv)) return OpenIpcFileSource(context, file, path);
  if (start.starts_with("\xFF\xFF\xFF\xFF"sv)) return OpenIpcStreamSource(context, file, path);
  for (const Signature& signature : kRefused) {
    if (start.starts_with(signature.bytes)) return Refuse(path, signature.name);
  }
  for (const char* ending : kJsonEndings) {
    if (path.ends_with(ending)) return Refuse(path, "JSON");
  }
  if (start.find('\0') != std::string_view::npos) return Refuse(path, "a binary file");
  return OpenCsvSource(context, file, path, path.ends_with(".tsv") ? '\t' : ',', wanted);
}

}  // namespace lake::service
