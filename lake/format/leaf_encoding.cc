#include "lake/format/leaf_encoding.h"

#include <charconv>
#include <utility>
#include <vector>

namespace lake::format {
namespace {

using Metadata = std::map<std::string, std::string>;

constexpr char kPrefix[] = "lance-encoding:";
constexpr int kLeastLevel = -7;
constexpr int kMostLevel = 22;

class MetadataReader {
 public:
  MetadataReader(const Metadata& column, const Metadata& leaf, const std::string& path)
      : column_(column), leaf_(leaf), path_(path) {}

  template <typename T>
  Status Choice(const char* key, const std::vector<std::pair<std::string, T>>& choices,
                T* out) const {
    const std::string* const text = Find(key);
    if (text == nullptr) return Status::OK();
    std::string known;
    for (const auto& [name, value] : choices) {
      if (*text == name) {
        *out = value;
        return Status::OK();
      }
      known += (known.empty() ? "" : ", ") + name;
    }
    return Bad(key, *text, known);
  }

  // A number in [least, most].
  template <typename T, typename Out>
  Status Number(const char* key, T least, T most, Out* out) const {
    const std::string* const text = Find(key);
    if (text == nullptr) return Status::OK();
    T value{};
    const char* const end = text->data() + text->size();
    const auto [rest, error] = std::from_chars(text->data(), end, value);
    if (error != std::errc() || rest != end || !(value >= least && value <= most)) {
      return Bad(key, *text, fmt::format("a number from {} to {}", least, most));
    }
    *out = value;
    return Status::OK();
  }

 private:
  const std::string* Find(const char* key) const {
    for (const Metadata* metadata : {&leaf_, &column_}) {
      const auto found = metadata->find(std::string(kPrefix) + key);
      if (found != metadata->end()) return &found->second;
    }
    return nullptr;
  }

  Status Bad(const char* key, const std::string& text, const std::string& known) const {
    return Error(
        ErrorCode::kInvalidArgument,
        "field metadata asks for an encoding that does not exist: column '{}', {}{} = '{}', "
        "known: {}",
        path_, kPrefix, key, text, known);
  }

  const Metadata& column_;
  const Metadata& leaf_;
  const std::string& path_;
};

}  // namespace

Result<LeafEncoding> LeafEncoding::From(const Metadata& column_metadata,
                                        const Metadata& leaf_metadata, const std::string& path,
                                        const FileVersion& version) {
  const MetadataReader reader(column_metadata, leaf_metadata, path);
  LeafEncoding encoding;
  encoding.version = version;
  ARROW_RETURN_NOT_OK(reader.Choice<Compression>("compression",
                                                 {{"none", Compression::kNone},
                                                  {"fsst", Compression::kFsst},
                                                  {"lz4", Compression::kLz4},
                                                  {"zstd", Compression::kZstd}},
                                                 &encoding.compression));
  ARROW_RETURN_NOT_OK(
      reader.Number("compression-level", kLeastLevel, kMostLevel, &encoding.compression_level));
  ARROW_RETURN_NOT_OK(reader.Choice<Switch>(
      "bss", {{"auto", Switch::kAuto}, {"on", Switch::kOn}, {"off", Switch::kOff}},
      &encoding.byte_stream_split));
  ARROW_RETURN_NOT_OK(reader.Number("rle-threshold", 0.0, 1.0, &encoding.run_threshold));
  ARROW_RETURN_NOT_OK(reader.Choice<Layout>(
      "structural-encoding", {{"miniblock", Layout::kMiniBlock}, {"fullzip", Layout::kFullZip}},
      &encoding.layout));
  ARROW_RETURN_NOT_OK(reader.Number("dict-divisor", 1.0, 1e9, &encoding.dictionary_divisor));
  ARROW_RETURN_NOT_OK(reader.Number("dict-size-ratio", 0.0, 1.0, &encoding.dictionary_ratio));
  ARROW_RETURN_NOT_OK(reader.Choice<Compression>(
      "dict-values-compression",
      {{"none", Compression::kNone}, {"lz4", Compression::kLz4}, {"zstd", Compression::kZstd}},
      &encoding.dictionary_compression));
  ARROW_RETURN_NOT_OK(reader.Number("dict-values-compression-level", kLeastLevel, kMostLevel,
                                    &encoding.dictionary_compression_level));
  return encoding;
}

}  // namespace lake::format
