#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lake::table {

/// Each function gives `bytes` to decoders of this module and checks what comes out: an error that
/// says what is wrong with the bytes, or something sound. Any input must pass; a failed check ends
/// the process. They are what the fuzz targets call and what the corpus is replayed through.

/// A manifest: what decodes is explained, encodes again to the same content and takes an append.
void DecodeManifestInput(std::string_view bytes);
/// A tag (first byte odd) or a branch.
void DecodeRefInput(std::string_view bytes);
/// Row ids or row versions; the first byte chooses the kind and the size of the fragment.
void DecodeRowIdsInput(std::string_view bytes);
/// A deletion file; the first byte chooses the form and the size of the fragment.
void DecodeDeletionInput(std::string_view bytes);
/// Two transactions, as EncodeTransactionInput writes them: both are read back from a store, and
/// judged one behind the other.
void DecodeTransactionInput(std::string_view bytes);
/// An index section, which each change of fragments and fields is made to.
void DecodeIndexSectionInput(std::string_view bytes);
/// Keys in a table's folder, one a line; or a manifest, for the keys that it names.
void DecodeTableKeyInput(std::string_view bytes);
/// A manifest as the newest version of a table that has the files of DatasetInputFiles, which is
/// then opened, scanned, verified, compared, planned for.
void DecodeDatasetInput(std::string_view bytes);

std::string EncodeTransactionInput(std::string_view mine, std::string_view theirs);

/// Key and bytes of what a dataset input finds in its folder: data files `data/a.lance` and
/// `data/b.lance` of 10 rows of SmallSchema each, deletion files `_deletions/0-1-5.bin` and
/// `_deletions/1-1-6.arrow` of two rows each.
const std::map<std::string, std::string>& DatasetInputFiles();

}  // namespace lake::table
