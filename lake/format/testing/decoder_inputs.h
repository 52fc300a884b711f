#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lake/format/column_metadata_internal.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/nesting_builder.h"

namespace lake::format {

/// Each function gives `bytes` to one decoder and checks what comes out: an error, or an array that
/// is valid in full. Any input must pass; a failed check ends the process. They are what the fuzz
/// targets call and what the corpus is replayed through.

/// A whole file: opened, and its first rows read.
void DecodeFileInput(std::string_view bytes);
/// A column's metadata block.
void DecodeColumnMetadataInput(std::string_view bytes);
/// A page as EncodePageInput writes it, of any layout.
void DecodePageInput(std::string_view bytes);
/// A block as EncodeBlockInput writes it.
void DecodeBlockInput(std::string_view bytes);
/// u16 size of a symbol table, the table, codes.
void DecodeFsstInput(std::string_view bytes);
/// A JSONB value, and the same bytes as a JSON text.
void DecodeJsonbInput(std::string_view bytes);

/// The logical types that a page input can have, by number; "packed", "packed fixed" and "blob" for
/// structs that are stored so.
std::span<const char* const> PageInputTypes();

/// What is around the leaf of a page input, by number: nothing, a struct, a list, a struct in a
/// list, a list in a struct, a list in a list, a struct in a list in a struct in a list.
std::span<const Nesting> PageInputNestings();

/// One page on its own: its type (a number into PageInputTypes), what is around it (a number into
/// PageInputNestings), its metadata, and the bytes of its buffers one behind the other.
std::string EncodePageInput(uint8_t type, uint8_t nesting, const PageMetadata& page,
                            std::string_view buffers);

std::string EncodeBlockInput(uint8_t bits, uint32_t total, const pb::CompressiveEncoding& encoding,
                             std::string_view bytes);

}  // namespace lake::format
