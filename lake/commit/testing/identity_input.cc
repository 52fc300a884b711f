#include "lake/commit/testing/identity_input.h"

#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "lake/commit/folder_identity.h"
#include "lake/storage/memory_store.h"

namespace lake::commit {
namespace {

void Require(bool holds, const char* what) {
  if (holds) return;
  fmt::print(stderr, "decoder input: {}\n", what);
  std::abort();
}

bool IsSame(const FolderIdentity& a, const FolderIdentity& b) {
  return a.deployment_id == b.deployment_id && a.stage_uri == b.stage_uri;
}

}  // namespace

void DecodeIdentityInput(std::string_view bytes) {
  const Context context;
  const auto store = storage::MakeMemoryStore();
  Require(store->Put(context, kIdentityKey, bytes, storage::PutCondition::kNone).ok(), "put");
  const Result<FolderIdentity> identity = FolderIdentity::Decode(bytes);
  const auto read = ReadIdentity(context, store.get());
  const auto kept = CreateIdentity(context, store.get(), "file:///other");
  if (!identity.ok()) {
    const ErrorCode code = CodeOf(identity.status());
    Require(code == ErrorCode::kCorrupt || code == ErrorCode::kUnsupported, "an error is named");
    Require(!read.ok() && !kept.ok(), "a folder that cannot be read gets no other identity");
    // A new identity on top keeps nothing of what is no object.
    const FolderIdentity fresh{.deployment_id = Uuid{}, .stage_uri = "file:///s"};
    Require(FolderIdentity::Decode(fresh.Encode(bytes)).ok(), "an identity is written over bytes");
    return;
  }
  // The store takes at most 64 KiB of it.
  if (read.ok()) Require(read->has_value() && IsSame(**read, *identity), "it is read otherwise");
  if (kept.ok()) Require(IsSame(*kept, *identity), "an identity is written once");
  const Result<FolderIdentity> again = FolderIdentity::Decode(identity->Encode(bytes));
  Require(again.ok() && IsSame(*again, *identity), "an identity does not round-trip");
}

}  // namespace lake::commit
