#include "lake/table/manifest.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <arrow/buffer.h>
#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "lake/table/commit.h"
#include "lake/table/inspect.h"
#include "lake/table/manifest_build_internal.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/testing/fake_table_internal.h"

namespace lake::table {
namespace {

using ::testing::HasSubstr;

TEST(ManifestNameTest, WritesBothNamings) {
  EXPECT_EQ(ManifestName(1, ManifestNaming::kV1), "1.manifest");
  EXPECT_EQ(ManifestName(1, ManifestNaming::kV2), "18446744073709551614.manifest");
  EXPECT_EQ(ManifestName(201, ManifestNaming::kV2), "18446744073709551414.manifest");
}

TEST(ManifestNameTest, ReadsBackWhatItWrites) {
  for (ManifestNaming naming : {ManifestNaming::kV1, ManifestNaming::kV2}) {
    for (uint64_t version : {1ull, 9ull, 10ull, 123456789ull, (1ull << 63) - 1}) {
      std::optional<ParsedManifestName> parsed = ParseManifestName(ManifestName(version, naming));
      ASSERT_TRUE(parsed) << version;
      EXPECT_EQ(parsed->version, version);
      EXPECT_EQ(parsed->naming, naming);
    }
  }
}

TEST(ManifestNameTest, PassesOverAllOtherNames) {
  for (const char* name :
       {"", ".manifest", "manifest", "0.manifest", "01.manifest", "1.manifest#2",
        "1.manifest-0b2c7e0a-4b1d-4d56-9d2b-0123456789ab", "18446744073709551614.manifest#1",
        ".tmp18446744073709551614.manifest", "d9223372036854775809.manifest", "-1.manifest",
        "+1.manifest", " 1.manifest", "1 .manifest", "1.Manifest", "1.manifest.tmp", "0x1.manifest",
        // Detached (bit 63) in both namings, version 0, more than 64 bits.
        "9223372036854775808.manifest", "00000000000000000001.manifest",
        "18446744073709551615.manifest", "18446744073709551616.manifest",
        "118446744073709551614.manifest", "latest_version_hint.json"}) {
    EXPECT_FALSE(ParseManifestName(name)) << name;
  }
}

class ManifestTest : public ::testing::Test {
 protected:
  const Context& context() const { return surroundings_.context(); }

  /// The message of a version with two columns and `fragments` fragments of ten rows.
  pb::Manifest Message(int fragments = 2) {
    Transaction create = MakeCreate(context(), SmallSchema());
    for (int i = 0; i < fragments; ++i) {
      Fragment& fragment = FragmentsOf(create).emplace_back();
      fragment.physical_rows = 10;
      fragment.files.push_back({.path = fmt::format("{}.lance", i),
                                .field_ids = {0, 1},
                                .column_indices = {0, 1},
                                .version = {2, 2},
                                .size_bytes = 99,
                                .base_id = std::nullopt,
                                .unknown_fields = {}});
    }
    std::get<OverwriteOperation>(create.operation).table_metadata["lake.incarnation"] = "x";
    std::string bytes = BuildManifest(create, nullptr, "", 1'700'000'000'123'456'789).ValueOrDie();
    return ManifestFile::Decode(bytes, "m").ValueOrDie()->message();
  }

  Result<std::shared_ptr<const ManifestFile>> Decode(const pb::Manifest& message) {
    return ManifestFile::Decode(EncodeManifest(message, std::nullopt, "").ValueOrDie(), "m");
  }

  FakeSurroundings surroundings_;
};

TEST_F(ManifestTest, ShowsWhatACreateWrote) {
  auto manifest = Decode(Message()).ValueOrDie();
  EXPECT_EQ(manifest->version(), 1u);
  EXPECT_EQ(manifest->timestamp_nanos(), 1'700'000'000'123'456'789);
  ASSERT_EQ(manifest->schema().fields.size(), 2u);
  EXPECT_EQ(manifest->schema().fields[0].name, "id");
  EXPECT_FALSE(manifest->schema().fields[0].nullable);
  ASSERT_EQ(manifest->fragments().size(), 2u);
  EXPECT_EQ(manifest->fragments()[1].id, 1u);
  EXPECT_EQ(manifest->fragments()[1].files[0].path, "1.lance");
  EXPECT_EQ(manifest->fragments()[1].files[0].size_bytes, 99u);
  EXPECT_EQ(manifest->max_fragment_id(), 1u);
  EXPECT_EQ(manifest->file_version(), format::kFileVersion22);
  EXPECT_EQ(manifest->reader_flags(), 0u);
  EXPECT_EQ(manifest->writer_flags(), 0u);
  EXPECT_EQ(manifest->table_metadata().at("lake.incarnation"), "x");
  EXPECT_THAT(manifest->writer(), HasSubstr("lake "));
  EXPECT_THAT(manifest->transaction_file(), ::testing::StartsWith("0-"));
}

TEST_F(ManifestTest, EmptyTableHasNoFragmentId) {
  EXPECT_EQ(Decode(Message(0)).ValueOrDie()->max_fragment_id(), std::nullopt);
}

TEST_F(ManifestTest, FindsSectionsAtPositionZero) {
  // Without an index section the transaction stands in front.
  std::string bytes = EncodeManifest(Message(), std::nullopt, "transaction").ValueOrDie();
  auto manifest = ManifestFile::Decode(bytes, "m").ValueOrDie();
  EXPECT_EQ(manifest->message().transaction_section(), 0u);
  EXPECT_EQ(manifest->inline_transaction(), "transaction");
  EXPECT_EQ(*manifest->index_section(), std::nullopt);

  bytes = EncodeManifest(Message(), "index", "transaction").ValueOrDie();
  manifest = ManifestFile::Decode(bytes, "m").ValueOrDie();
  EXPECT_EQ(manifest->message().index_section(), 0u);
  EXPECT_EQ(**manifest->index_section(), "index");
  EXPECT_EQ(manifest->inline_transaction(), "transaction");
}

TEST_F(ManifestTest, ReadsTheOldPlaceOfTheTransaction) {
  std::string bytes = EncodeManifest(Message(), std::nullopt, "transaction").ValueOrDie();
  pb::Manifest message = ManifestFile::Decode(bytes, "m").ValueOrDie()->message();
  message.clear_transaction_section();
  message.set_old_transaction_section(0);
  // The section stays where it is; the message behind it is another.
  std::string body = message.SerializeAsString();
  std::string old = bytes.substr(0, 4 + 11);
  const uint64_t position = old.size();
  const auto length = static_cast<uint32_t>(body.size());
  old.append(reinterpret_cast<const char*>(&length), 4);
  old += body;
  old.append(reinterpret_cast<const char*>(&position), 8);
  old += std::string("\0\0\2\0LANC", 8);
  EXPECT_EQ(ManifestFile::Decode(old, "m").ValueOrDie()->inline_transaction(), "transaction");
}

TEST_F(ManifestTest, SectionsOutsideTheFileDoNotStopAnOpen) {
  pb::Manifest message = Message();
  std::string bytes = EncodeManifest(message, "index", "transaction").ValueOrDie();
  // Both lengths point far behind the end.
  const uint32_t huge = 0xfffffff0;
  bytes.replace(0, 4, reinterpret_cast<const char*>(&huge), 4);
  bytes.replace(9, 4, reinterpret_cast<const char*>(&huge), 4);
  auto manifest = ManifestFile::Decode(bytes, "m").ValueOrDie();
  EXPECT_EQ(manifest->inline_transaction(), std::nullopt);
  ASSERT_FALSE(manifest->index_section().ok());
  EXPECT_EQ(CodeOf(manifest->index_section().status()), ErrorCode::kCorrupt);
}

TEST_F(ManifestTest, SortsFragmentsAndRefusesTwoOfOneId) {
  pb::Manifest message = Message(3);
  message.mutable_fragments()->SwapElements(0, 2);
  auto manifest = Decode(message).ValueOrDie();
  EXPECT_EQ(manifest->fragments()[0].id, 0u);
  EXPECT_EQ(manifest->fragments()[2].id, 2u);
  message.mutable_fragments(1)->set_id(0);
  Status refused = Decode(message).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kCorrupt);
  EXPECT_THAT(refused.message(), HasSubstr("two fragments"));
}

TEST_F(ManifestTest, ComputesTheFragmentIdWhereItIsMissingOrTooLow) {
  pb::Manifest message = Message(3);
  message.clear_max_fragment_id();
  EXPECT_EQ(Decode(message).ValueOrDie()->max_fragment_id(), 2u);
  message.set_max_fragment_id(1);
  EXPECT_EQ(Decode(message).ValueOrDie()->max_fragment_id(), 2u);
  message.set_max_fragment_id(9);
  EXPECT_EQ(Decode(message).ValueOrDie()->max_fragment_id(), 9u);
}

TEST_F(ManifestTest, RefusesWhatCannotBe) {
  struct Case {
    const char* reason;
    std::function<void(pb::Manifest*)> edit;
  };
  const Case cases[] = {
      {"version is 0", [](pb::Manifest* m) { m->set_version(0); }},
      {"time is out of range",
       [](pb::Manifest* m) { m->mutable_timestamp()->set_seconds(INT64_MAX / 2); }},
      {"time is out of range", [](pb::Manifest* m) { m->mutable_timestamp()->set_nanos(-1); }},
      {"over 32 bits", [](pb::Manifest* m) { m->mutable_fragments(0)->set_id(1ull << 32); }},
      {"over 2^32 rows",
       [](pb::Manifest* m) { m->mutable_fragments(0)->set_physical_rows(UINT64_MAX); }},
      {"no relative path",
       [](pb::Manifest* m) {
         m->mutable_fragments(0)->mutable_files(0)->set_path("../../etc/passwd");
       }},
      {"no relative path",
       [](pb::Manifest* m) { m->mutable_fragments(0)->mutable_files(0)->set_path("/etc/passwd"); }},
      {"no relative path",
       [](pb::Manifest* m) { m->mutable_fragments(0)->mutable_files(0)->set_path(""); }},
      {"another number of columns",
       [](pb::Manifest* m) { m->mutable_fragments(0)->mutable_files(0)->add_fields(7); }},
      {"another number of columns",
       [](pb::Manifest* m) {
         pb::DataFile* file = m->mutable_fragments(0)->mutable_files(0);
         file->set_file_major_version(0);
         file->set_file_minor_version(1);
         file->clear_fields();
       }},
      {"version is out of range",
       [](pb::Manifest* m) {
         m->mutable_fragments(0)->mutable_files(0)->set_file_major_version(1 << 20);
       }},
      {"more rows are deleted",
       [](pb::Manifest* m) {
         m->mutable_fragments(0)->mutable_deletion_file()->set_num_deleted_rows(11);
       }},
      {"unknown kind",
       [](pb::Manifest* m) {
         m->mutable_fragments(0)->mutable_deletion_file()->set_file_type(
             static_cast<pb::DeletionFile::FileType>(5));
       }},
      {"file version of the table is unknown",
       [](pb::Manifest* m) { m->mutable_data_format()->set_version("banana"); }},
      {"m", [](pb::Manifest* m) { m->mutable_fields(1)->set_parent_id(77); }},
  };
  for (const Case& test : cases) {
    pb::Manifest message = Message();
    test.edit(&message);
    Status refused = Decode(message).status();
    ASSERT_FALSE(refused.ok()) << test.reason;
    EXPECT_THAT(refused.message(), HasSubstr(test.reason));
    EXPECT_THAT(refused.message(), HasSubstr("m"));
  }
}

TEST_F(ManifestTest, RefusesCutAndForeignFiles) {
  const std::string bytes = EncodeManifest(Message(), "index", "transaction").ValueOrDie();
  for (size_t size = 0; size < bytes.size(); ++size) {
    Status refused = ManifestFile::Decode(bytes.substr(0, size), "m").status();
    EXPECT_EQ(CodeOf(refused), ErrorCode::kCorrupt) << size;
  }
  EXPECT_EQ(CodeOf(ManifestFile::Decode(std::string(100, 'x'), "m").status()), ErrorCode::kCorrupt);
}

TEST_F(ManifestTest, MutationsNeverCrash) {
  std::vector<std::string> fixtures = {
      EncodeManifest(Message(), "index", "transaction").ValueOrDie()};
  const std::filesystem::path corpus = LAKE_SOURCE_DIR "/tests/corpus/manifest_fuzzer";
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    std::ifstream file(entry.path(), std::ios::binary);
    fixtures.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  ASSERT_GT(fixtures.size(), 5u);
  constexpr uint64_t kSeed = 20'261'129;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 engine(kSeed);
  int decoded = 0;
  for (const std::string& bytes : fixtures) {
    for (int i = 0; i < 2000; ++i) {
      std::string mutant = bytes;
      if (i % 10 == 0) mutant.erase(engine() % mutant.size(), engine() % 40);
      for (uint64_t flips = 1 + engine() % 4; flips > 0; --flips) {
        mutant[engine() % mutant.size()] = static_cast<char>(engine());
      }
      Result<ManifestReport> report = DescribeManifest(mutant, "mutant");
      if (report.ok()) {
        ++decoded;
        EXPECT_FALSE(ToText(*report).empty());
      } else {
        EXPECT_THAT(report.status().message(), HasSubstr("mutant"));
      }
    }
  }
  // Many bytes are values that may be anything.
  RecordProperty("mutants that still decode", decoded);
}

TEST_F(ManifestTest, UnknownFieldsSurviveAnAppend) {
  pb::Manifest message = Message();
  auto add_unknown = [](google::protobuf::Message* to) {
    to->GetReflection()->MutableUnknownFields(to)->AddLengthDelimited(900, "from the future");
  };
  add_unknown(&message);
  add_unknown(message.mutable_fragments(0));
  add_unknown(message.mutable_fragments(0)->mutable_files(0));
  add_unknown(message.mutable_fields(1));
  message.mutable_fields(0)->set_unenforced_primary_key(true);
  message.set_next_row_id(77);
  message.set_branch("dev");
  message.set_tag("t");
  (*message.mutable_config())["k"] = "v";
  std::string old_bytes = EncodeManifest(message, "index", "old transaction").ValueOrDie();
  auto newest = ManifestFile::Decode(old_bytes, "m").ValueOrDie();

  Transaction append = MakeAppend(context(), 1, {Fragment{}});
  FragmentsOf(append)[0].physical_rows = 5;
  std::string bytes = BuildManifest(append, newest.get(), "mine", 5).ValueOrDie();
  auto manifest = ManifestFile::Decode(bytes, "m").ValueOrDie();
  const pb::Manifest& appended = manifest->message();

  auto has_unknown = [](const google::protobuf::Message& in) {
    const auto& fields = in.GetReflection()->GetUnknownFields(in);
    return fields.field_count() == 1 && fields.field(0).length_delimited() == "from the future";
  };
  EXPECT_TRUE(has_unknown(appended));
  EXPECT_TRUE(has_unknown(appended.fragments(0)));
  EXPECT_TRUE(has_unknown(appended.fragments(0).files(0)));
  EXPECT_TRUE(has_unknown(appended.fields(1)));
  EXPECT_TRUE(appended.fields(0).unenforced_primary_key());
  EXPECT_EQ(appended.next_row_id(), 77u);
  EXPECT_EQ(appended.branch(), "dev");
  EXPECT_EQ(appended.config().at("k"), "v");
  EXPECT_EQ(appended.version(), 2u);
  EXPECT_EQ(appended.fragments(2).id(), 2u);
  EXPECT_EQ(**manifest->index_section(), "index");
  EXPECT_EQ(manifest->inline_transaction(), "mine");
}

TEST_F(ManifestTest, FlagsAreRecomputedAndStickyOnesKept) {
  struct Case {
    const char* name;
    std::function<void(pb::Manifest*)> edit;
    uint64_t reader;
    uint64_t writer;
  };
  const Case cases[] = {
      {"nothing set", [](pb::Manifest*) {}, 0, 0},
      {"deletion file", [](pb::Manifest* m) { m->mutable_fragments(1)->mutable_deletion_file(); },
       1, 1},
      {"deletion flag without a file",
       [](pb::Manifest* m) {
         m->set_reader_feature_flags(1);
         m->set_writer_feature_flags(1);
       },
       0, 0},
      {"config", [](pb::Manifest* m) { (*m->mutable_config())["k"] = "v"; }, 0, 8},
      {"deprecated flag",
       [](pb::Manifest* m) {
         m->set_reader_feature_flags(4);
         m->set_writer_feature_flags(4);
       },
       0, 0},
      {"mixed versions",
       [](pb::Manifest* m) {
         m->set_reader_feature_flags(256);
         m->set_writer_feature_flags(256);
       },
       256, 256},
  };
  for (const Case& test : cases) {
    pb::Manifest message = Message();
    test.edit(&message);
    auto newest = Decode(message).ValueOrDie();
    Transaction append = MakeAppend(context(), 1, {Fragment{}});
    std::string bytes = BuildManifest(append, newest.get(), "", 5).ValueOrDie();
    auto manifest = ManifestFile::Decode(bytes, "m").ValueOrDie();
    EXPECT_EQ(manifest->reader_flags(), test.reader) << test.name;
    EXPECT_EQ(manifest->writer_flags(), test.writer) << test.name;
  }
}

TEST_F(ManifestTest, UnknownFlagsAreRefusedByName) {
  for (uint64_t flag : {1, 2, 4, 8, 256}) {
    pb::Manifest message = Message();
    message.set_reader_feature_flags(flag);
    EXPECT_TRUE(CheckReadable(*Decode(message).ValueOrDie(), "t").ok()) << flag;
  }
  const std::pair<uint64_t, const char*> unknown[] = {
      {32, "no transaction file"},     {64, "data overlay files"},
      {128, "covered index"},          {512, "flag 512"},
      {1024, "tagged fragment reuse"}, {16384, "managed blobs"},
      {32768, "non-reusable field"},   {1ull << 63, "9223372036854775808"},
  };
  for (const auto& [flag, name] : unknown) {
    pb::Manifest message = Message();
    message.set_reader_feature_flags(flag | 1);
    Status refused = CheckReadable(*Decode(message).ValueOrDie(), "t");
    EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
    EXPECT_THAT(refused.message(), HasSubstr(name));

    message.set_reader_feature_flags(0);
    message.set_writer_feature_flags(flag);
    EXPECT_TRUE(CheckReadable(*Decode(message).ValueOrDie(), "t").ok()) << name;
    refused = CheckWritable(*Decode(message).ValueOrDie(), "t");
    EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
    EXPECT_THAT(refused.message(), HasSubstr(name));
  }
}

TEST_F(ManifestTest, FragmentIdsEndAtTheirLastNumber) {
  pb::Manifest message = Message();
  message.set_max_fragment_id(UINT32_MAX);
  Transaction append = MakeAppend(context(), 1, {Fragment{}});
  Status refused = BuildManifest(append, Decode(message).ValueOrDie().get(), "", 5).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
}

TEST_F(ManifestTest, FilesOfAnotherVersionAreRefusedByName) {
  pb::Manifest message = Message();
  message.mutable_data_format()->set_version("2.1");
  auto manifest = Decode(message).ValueOrDie();
  Status refused = CheckFragmentsFit(*manifest, Decode(Message()).ValueOrDie()->fragments());
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("file_version 2.1"));
  EXPECT_TRUE(CheckWritable(*manifest, "t").ok());
  EXPECT_EQ(*VersionOfNewFiles(*manifest, "t"), format::kFileVersion21);
  // Where versions are mixed already, each file speaks for itself.
  message.set_reader_feature_flags(kFlagMixedFileVersions);
  message.set_writer_feature_flags(kFlagMixedFileVersions);
  manifest = Decode(message).ValueOrDie();
  EXPECT_TRUE(CheckWritable(*manifest, "t").ok());
  EXPECT_TRUE(CheckFragmentsFit(*manifest, Decode(Message()).ValueOrDie()->fragments()).ok());
  EXPECT_EQ(*VersionOfNewFiles(*manifest, "t"), format::kFileVersion21);
}

TEST_F(ManifestTest, FilesOfAVersionThatIsNotWrittenAreRefusedWithTheWaysOut) {
  for (const char* version : {"2.0", "2.3", "0.1"}) {
    pb::Manifest message = Message();
    message.mutable_data_format()->set_version(version);
    auto manifest = Decode(message).ValueOrDie();
    EXPECT_TRUE(CheckWritable(*manifest, "t").ok());
    const Status refused = VersionOfNewFiles(*manifest, "t").status();
    EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
    EXPECT_THAT(refused.message(), HasSubstr(std::string("file_version ") + version));
    EXPECT_THAT(refused.message(), HasSubstr("into a new table"));
    (*message.mutable_config())[kMixedFileVersionsConfig] = "true";
    EXPECT_EQ(*VersionOfNewFiles(*Decode(message).ValueOrDie(), "t"), format::kFileVersion22);
  }
}

}  // namespace
}  // namespace lake::table
