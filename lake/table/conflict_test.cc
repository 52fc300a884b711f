#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lake/table/conflict_internal.h"
#include "lake/table/deletion_vector.h"

namespace lake::table {
namespace {

using Edit = std::function<void(pb::Transaction*)>;

pb::Transaction Make(const Edit& edit) {
  pb::Transaction transaction;
  transaction.set_uuid("u");
  edit(&transaction);
  return transaction;
}

std::string Bitmap(std::vector<uint32_t> ids) {
  return DeletionVector::FromSortedRows(ids).ToBitmap();
}

Edit Delete(uint64_t fragment) {
  return [=](auto* t) { t->mutable_delete_()->add_updated_fragments()->set_id(fragment); };
}
Edit DeleteWhole(uint64_t fragment) {
  return [=](auto* t) { t->mutable_delete_()->add_deleted_fragment_ids(fragment); };
}
Edit Update(uint64_t fragment) {
  return [=](auto* t) {
    t->mutable_update()->add_updated_fragments()->set_id(fragment);
    t->mutable_update()->add_new_fragments();
  };
}
Edit UpdateWhole(uint64_t fragment) {
  return [=](auto* t) { t->mutable_update()->add_removed_fragment_ids(fragment); };
}
Edit Rewrite(uint64_t fragment) {
  return
      [=](auto* t) { t->mutable_rewrite()->add_groups()->add_old_fragments()->set_id(fragment); };
}
Edit OldRewrite(uint64_t fragment) {
  return [=](auto* t) { t->mutable_rewrite()->add_old_fragments()->set_id(fragment); };
}
Edit Index(int32_t field, std::vector<uint32_t> fragments) {
  return [=](auto* t) {
    auto* index = t->mutable_create_index()->add_new_indices();
    index->add_fields(field);
    index->set_fragment_bitmap(Bitmap(fragments));
  };
}
Edit Data(uint64_t fragment, int32_t field) {
  return [=](auto* t) {
    auto* group = t->mutable_data_replacement()->add_replacements();
    group->set_fragment_id(fragment);
    group->mutable_new_file()->add_fields(field);
  };
}
Edit Config(const std::string& key) {
  return [=](auto* t) {
    auto* entry = t->mutable_update_config()->mutable_config_updates()->add_update_entries();
    entry->set_key(key);
    entry->set_value("v");
  };
}
Edit FieldMetadata(int32_t field, const std::string& key) {
  return [=](auto* t) {
    (*t->mutable_update_config()->mutable_field_metadata_updates())[field]
        .add_update_entries()
        ->set_key(key);
  };
}
Edit ReplaceFieldMetadata(int32_t field) {
  return [=](auto* t) {
    (*t->mutable_update_config()->mutable_field_metadata_updates())[field].set_replace(true);
  };
}
Edit Base(uint32_t id, const std::string& path) {
  return [=](auto* t) {
    auto* base = t->mutable_update_bases()->add_new_bases();
    base->set_id(id);
    base->set_path(path);
  };
}
Edit Overwrite(const std::string& key = "") {
  return [=](auto* t) {
    auto* overwrite = t->mutable_overwrite();
    if (!key.empty()) (*overwrite->mutable_config_upsert_values())[key] = "v";
  };
}

const Edit kAppend = [](auto* t) { t->mutable_append(); };
const Edit kMerge = [](auto* t) { t->mutable_merge(); };
const Edit kProject = [](auto* t) { t->mutable_project()->set_preserves_nullability(true); };
const Edit kRestore = [](auto* t) { t->mutable_restore(); };
const Edit kReserve = [](auto* t) { t->mutable_reserve_fragments(); };
const Edit kMemWal = [](auto* t) { t->mutable_update_mem_wal_state(); };
const Edit kClone = [](auto* t) { t->mutable_clone(); };
const Edit kOverlay = [](auto* t) { t->mutable_data_overlay(); };
const Edit kTransitions = [](auto* t) { t->mutable_append_fri_transitions(); };
const Edit kNothingKnown = [](auto*) {};

constexpr Verdict O = Verdict::kOk;
constexpr Verdict B = Verdict::kRebaseRows;
constexpr Verdict R = Verdict::kRetry;
constexpr Verdict X = Verdict::kNever;
constexpr Verdict A = Verdict::kColumnsAdded;
constexpr Verdict P = Verdict::kColumnsProjected;

struct Row {
  const char* name;
  Edit mine;
  /// In the order of the columns below.
  std::vector<Verdict> verdicts;
};

// The rows of lance-format's table of conflicts, each cell once with an overlap and once without.
TEST(ConflictTest, EveryCellOfTheTable) {
  const std::pair<const char*, Edit> columns[] = {
      {"append", kAppend},
      {"delete of 1", Delete(1)},
      {"delete of 9", Delete(9)},
      {"update of 1", Update(1)},
      {"update of 9", Update(9)},
      {"rewrite of 1", Rewrite(1)},
      {"rewrite of 9", Rewrite(9)},
      {"index over 1", Index(5, {1})},
      {"index over 9", Index(6, {9})},
      {"merge", kMerge},
      {"project", kProject},
      {"overwrite", Overwrite("k")},
      {"restore", kRestore},
      {"data of 1, 5", Data(1, 5)},
      {"data of 9, 6", Data(9, 6)},
      {"config k", Config("k")},
      {"config other", Config("o")},
      {"reserve", kReserve},
      {"bases 1", Base(1, "a")},
      {"bases 2", Base(2, "b")},
      {"mem wal", kMemWal},
      {"clone", kClone},
      {"overlay", kOverlay},
      {"transitions", kTransitions},
      {"unknown", kNothingKnown},
  };
  const Row rows[] = {
      {"append", kAppend, {O, O, O, O, O, O, O, O, O, A, P, X, X,
                           O, O, O, O, O, O, O, X, X, X, X, X}},
      {"delete", Delete(1), {O, B, O, B, O, R, O, O, O, R, O, X, X,
                             R, O, O, O, O, O, O, X, X, X, X, X}},
      {"whole", DeleteWhole(1), {O, B, O, B, O, R, O, O, O, R, O, X, X,
                                 R, O, O, O, O, O, O, X, X, X, X, X}},
      {"update", Update(1), {O, B, O, B, O, R, O, O, O, R, P, X, X,
                             R, O, O, O, O, O, O, X, X, X, X, X}},
      {"updated", UpdateWhole(1), {O, B, O, B, O, R, O, O, O, R, P, X, X,
                                   R, O, O, O, O, O, O, X, X, X, X, X}},
      {"rewrite", Rewrite(1), {O, R, O, R, O, R, O, R, O, R, O, X, X,
                               R, O, O, O, O, O, O, O, X, X, X, X}},
      {"rewrite, old form", OldRewrite(1), {O, R, O, R, O, R, O, R, O, R, O, X, X,
                                            R, O, O, O, O, O, O, O, X, X, X, X}},
      {"index", Index(5, {1, 2}), {O, O, O, O, O, R, O, O, O, O, O, X, X,
                                   R, O, O, O, O, O, O, X, X, X, X, X}},
      {"merge", kMerge, {R, R, R, R, R, R, R, O, O, R, X, X, X,
                         R, R, O, O, O, O, O, X, X, X, X, X}},
      {"project", kProject, {O, O, O, O, O, O, O, O, O, R, R, X, X,
                             O, O, O, O, O, O, O, X, X, X, X, X}},
      {"overwrite", Overwrite("k"), {O, O, O, O, O, O, O, O, O, O, O, X, X,
                                     O, O, X, O, O, O, O, X, X, X, X, X}},
      {"restore", kRestore, {O, O, O, O, O, O, O, O, O, O, O, O, O,
                             O, O, O, O, O, O, O, X, X, X, X, X}},
      {"data", Data(1, 5), {O, R, O, R, O, R, O, R, O, R, O, X, X,
                            R, O, O, O, O, O, O, X, X, X, X, X}},
      {"config", Config("k"), {O, O, O, O, O, O, O, O, O, O, O, X, O,
                               O, O, X, O, O, O, O, O, X, X, X, X}},
      {"reserve", kReserve, {O, O, O, O, O, O, O, O, O, O, O, X, X,
                             O, O, O, O, O, O, O, O, X, X, X, X}},
      {"bases", Base(1, "a"), {O, O, O, O, O, O, O, O, O, O, O, O, O,
                               O, O, O, O, O, X, O, O, X, X, X, X}},
  };
  for (const Row& row : rows) {
    ASSERT_EQ(row.verdicts.size(), std::size(columns)) << row.name;
    for (size_t i = 0; i < std::size(columns); ++i) {
      EXPECT_EQ(Judge(Make(row.mine), false, Make(columns[i].second)), row.verdicts[i])
          << row.name << " behind " << columns[i].first;
    }
  }
}

TEST(ConflictTest, RowsAddedByKeyDoNotGoBehindOthers) {
  EXPECT_EQ(Judge(Make(Update(1)), /*inserted_by_key=*/true, Make(Update(9))), Verdict::kRetry);
  EXPECT_EQ(Judge(Make(Update(1)), true, Make(UpdateWhole(9))), Verdict::kOk);
  EXPECT_EQ(Judge(Make(Update(1)), true, Make(kAppend)), Verdict::kOk);
}

TEST(ConflictTest, AColumnThatMayNoLongerBeNullIsCheckedAgainstNewRows) {
  pb::Transaction mine = Make(kProject);
  mine.mutable_project()->set_preserves_nullability(false);
  EXPECT_EQ(Judge(mine, false, Make(kAppend)), Verdict::kRetry);
  EXPECT_EQ(Judge(mine, false, Make(Update(1))), Verdict::kRetry);
  EXPECT_EQ(Judge(mine, false, Make(Delete(1))), Verdict::kOk);
  // Values that a rewrite puts into the column count, too, in either order.
  EXPECT_EQ(Judge(mine, false, Make(Data(1, 5))), Verdict::kRetry);
  EXPECT_EQ(Judge(Make(Data(1, 5)), false, mine), Verdict::kRetry);
  const Edit columns = [](auto* t) {
    t->mutable_update()->add_updated_fragments()->set_id(1);
    t->mutable_update()->set_update_mode(pb::Transaction::Update::REWRITE_COLUMNS);
  };
  EXPECT_EQ(Judge(mine, false, Make(columns)), Verdict::kRetry);
  EXPECT_EQ(Judge(mine, false, Make(UpdateWhole(1))), Verdict::kOk);
}

TEST(ConflictTest, KeysOfMetadata) {
  const Verdict ok = Verdict::kOk;
  const Verdict never = Verdict::kNever;
  auto judge = [](const Edit& mine, const Edit& theirs) {
    return Judge(Make(mine), false, Make(theirs));
  };
  EXPECT_EQ(judge(FieldMetadata(1, "k"), FieldMetadata(1, "k")), never);
  EXPECT_EQ(judge(FieldMetadata(1, "k"), FieldMetadata(2, "k")), ok);
  EXPECT_EQ(judge(FieldMetadata(1, "k"), FieldMetadata(1, "other")), ok);
  EXPECT_EQ(judge(FieldMetadata(1, "k"), ReplaceFieldMetadata(1)), never);
  EXPECT_EQ(judge(FieldMetadata(10, "k"), ReplaceFieldMetadata(1)), ok);
  EXPECT_EQ(judge(ReplaceFieldMetadata(1), ReplaceFieldMetadata(1)), never);
  EXPECT_EQ(judge(Config("k"), FieldMetadata(1, "k")), ok);
  // All fields are new behind an overwrite.
  EXPECT_EQ(judge(FieldMetadata(1, "k"), Overwrite()), never);
  EXPECT_EQ(judge(Config("k"), Overwrite()), ok);
  EXPECT_EQ(judge(Config("k"), [](auto* t) { t->mutable_update_config()->add_delete_keys("k"); }),
            never);
}

TEST(ConflictTest, AnIndexOfUnknownCoverageCoversAll) {
  const Edit old_index = [](auto* t) {
    t->mutable_create_index()->add_new_indices()->add_fields(1);
  };
  EXPECT_EQ(Judge(Make(Rewrite(1)), false, Make(old_index)), Verdict::kRetry);
  const Edit wrong = [](auto* t) {
    t->mutable_create_index()->add_new_indices()->set_fragment_bitmap("no bitmap");
  };
  EXPECT_EQ(Judge(Make(Rewrite(1)), false, Make(wrong)), Verdict::kRetry);
}

}  // namespace
}  // namespace lake::table
