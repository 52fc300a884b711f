#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/storage/memory_store.h"
#include "lake/table/commit.h"
#include "lake/table/testing/fake_table_internal.h"
#include "lake/table/transaction_internal.h"

namespace lake::table {
namespace {

using ::testing::HasSubstr;

class TransactionTest : public ::testing::Test {
 protected:
  const Context& context() const { return surroundings_.context(); }

  /// A manifest with this inline transaction that names `file`.
  std::shared_ptr<const ManifestFile> Manifest(const std::string& inline_bytes,
                                               const std::string& file) {
    pb::Manifest message;
    message.set_version(7);
    message.set_transaction_file(file);
    return ManifestFile::Decode(EncodeManifest(message, std::nullopt, inline_bytes).ValueOrDie(),
                                "m")
        .ValueOrDie();
  }

  static std::string Bytes(const std::string& uuid) {
    pb::Transaction message;
    message.set_uuid(uuid);
    message.mutable_append();
    return message.SerializeAsString();
  }

  void PutFile(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(
        store_->Put(context(), TransactionKey(name), bytes, storage::PutCondition::kNone).ok());
  }

  FakeSurroundings surroundings_;
  std::shared_ptr<storage::ObjectStore> store_ = storage::MakeMemoryStore();
};

TEST_F(TransactionTest, TheInlineOneComesFirstThenTheFile) {
  PutFile("6-b.txn", Bytes("in the file"));
  auto read = [&](const std::string& inline_bytes) {
    return ReadTransaction(context(), store_.get(), *Manifest(inline_bytes, "6-b.txn"))
        .ValueOrDie()
        .uuid();
  };
  EXPECT_EQ(read(Bytes("inline")), "inline");
  EXPECT_EQ(read("\xff\xff\xff not a message"), "in the file");
  EXPECT_EQ(read(""), "in the file");
}

TEST_F(TransactionTest, NeitherIsAnErrorThatNamesTheFile) {
  auto status = [&](const std::string& file) {
    return ReadTransaction(context(), store_.get(), *Manifest("", file)).status();
  };
  EXPECT_EQ(CodeOf(status("")), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(status("6-absent.txn")), ErrorCode::kNotFound);
  PutFile("6-bad.txn", "\xff\xff\xff");
  EXPECT_EQ(CodeOf(status("6-bad.txn")), ErrorCode::kCorrupt);
  EXPECT_THAT(status("6-bad.txn").message(), HasSubstr("6-bad.txn"));
  PutFile("6-empty.txn", "");
  EXPECT_EQ(CodeOf(status("6-empty.txn")), ErrorCode::kCorrupt);
  // A name that leads elsewhere is not followed.
  EXPECT_EQ(CodeOf(status("../../6-b.txn")), ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf(status("/etc/passwd")), ErrorCode::kCorrupt);
}

TEST_F(TransactionTest, KeepsWhatAnAppendCarries) {
  Transaction append = MakeAppend(context(), 6, {});
  append.properties = {{"k", "v"}};
  Fragment& fragment = FragmentsOf(append).emplace_back();
  fragment.physical_rows = 3;
  fragment.files.push_back({.path = "x.lance",
                            .field_ids = {0, 1},
                            .column_indices = {0, 1},
                            .version = {2, 2},
                            .size_bytes = 9,
                            .base_id = std::nullopt,
                            .unknown_fields = {}});
  const pb::Transaction message = TransactionToMessage(append, append.operation);
  EXPECT_EQ(OperationName(message), "append");
  EXPECT_EQ(Property(message, "k"), "v");
  EXPECT_EQ(Property(message, "absent"), "");
  EXPECT_EQ(message.append().fragments(0).files(0).file_size_bytes(), 9u);
  EXPECT_EQ(message.append().fragments(0).id(), 0u);
}

TEST_F(TransactionTest, AnOperationOfTheFutureIsUnknown) {
  pb::Transaction message;
  message.set_uuid("u");
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(250, "later");
  EXPECT_EQ(OperationName(*ParseTransaction(message.SerializeAsString())), "unknown");
}

TEST_F(TransactionTest, MutationsNeverCrash) {
  Transaction create = MakeCreate(context(), SmallSchema());
  create.properties = {{"k", "v"}};
  std::get<OverwriteOperation>(create.operation).config = {{"a", "b"}};
  Transaction append = MakeAppend(context(), 6, {Fragment{}});
  constexpr uint64_t kSeed = 4;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 engine(kSeed);
  for (const Transaction& transaction : {create, append}) {
    const std::string bytes =
        TransactionToMessage(transaction, transaction.operation).SerializeAsString();
    for (int i = 0; i < 2000; ++i) {
      std::string mutant = bytes.substr(0, i % 10 == 0 ? engine() % bytes.size() : bytes.size());
      for (uint64_t flips = 1 + engine() % 4; flips > 0 && !mutant.empty(); --flips) {
        mutant[engine() % mutant.size()] = static_cast<char>(engine());
      }
      PutFile("6-b.txn", mutant);
      Result<pb::Transaction> read =
          ReadTransaction(context(), store_.get(), *Manifest("", "6-b.txn"));
      if (read.ok()) EXPECT_FALSE(OperationName(*read).empty());
    }
  }
}

}  // namespace
}  // namespace lake::table
