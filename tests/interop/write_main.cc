// lake_interop_write IN.arrow FOLDER NAME [MAX_BUFFERED_BYTES [VERSION]]
//
// Writes the batches of an Arrow IPC stream as one Lance file FOLDER/NAME, and prints its number of
// rows, its size and the peak of this process's memory in KiB. The suites of this folder compare
// what upstream reads.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>

#include "lake/format/file_writer.h"
#include "lake/storage/local_store.h"

namespace {

// The most memory that this process has held; getrusage would count the parent's before exec.
std::string PeakKib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:" && status >> word) return word;
  }
  return "0";
}

lake::Result<lake::format::WrittenFile> WriteFile(const std::string& input,
                                                  const std::string& folder,
                                                  const std::string& name,
                                                  lake::format::FileWriterOptions options) {
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(input));
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchStreamReader::Open(file));
  ARROW_ASSIGN_OR_RAISE(auto schema, lake::format::SchemaFromArrow(*reader->schema()));
  ARROW_ASSIGN_OR_RAISE(auto store, lake::storage::OpenLocalStore(folder));
  ARROW_ASSIGN_OR_RAISE(auto writer, lake::format::FileWriter::Open(lake::Context(), store, name,
                                                                    std::move(schema), options));
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) return writer->Finish();
    ARROW_RETURN_NOT_OK(writer->Write(*batch));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 6) {
    std::cerr << "usage: lake_interop_write IN.arrow FOLDER NAME [MAX_BUFFERED_BYTES [VERSION]]\n";
    return 2;
  }
  lake::format::FileWriterOptions options;
  if (argc >= 5) options.max_buffered_bytes = std::strtoull(argv[4], nullptr, 10);
  if (argc == 6) {
    const auto version = lake::format::FileVersion::Parse(argv[5]);
    if (!version.ok()) {
      std::cerr << lake::ErrorText(version.status()) << "\n";
      return 2;
    }
    options.version = *version;
  }
  const auto written = WriteFile(argv[1], argv[2], argv[3], options);
  if (!written.ok()) {
    std::cerr << lake::ErrorText(written.status()) << "\n";
    return 1;
  }
  std::cout << written->num_rows << " " << written->size_bytes << " " << PeakKib() << "\n";
  return 0;
}
