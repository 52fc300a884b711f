"""Operations that change a table: lake does one, upstream validates, reads on and goes on from it, and the reverse.

Expectations come from upstream's reader, from a model in Python, or from upstream doing the same on a twin.
"""

import random

import lance
import pyarrow as pa
import pytest
from table_ops import Ops, by_id, finish, same


def rows(first, count, scale=10):
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids, pa.int64()),
                     "name": pa.array([None if i % 7 == 0 else f"n{i}" for i in ids], pa.string()),
                     "v": pa.array([i * scale for i in ids], pa.int64())})


@pytest.fixture(params=["plain", "stable"])
def ops(request, tmp_path):
    """300 rows in three fragments."""
    table = Ops(tmp_path / "t.lance")
    table.do("create", rows(0, 300), "rows=100", *(["stable"] if request.param == "stable" else []))
    assert table.upstream().has_stable_row_ids == (request.param == "stable")
    return table


def operation(dataset):
    return type(dataset.read_transaction(dataset.version).operation).__name__


def values(dataset, column="v"):
    table = dataset.select(["id", column]) if isinstance(dataset, pa.Table) else dataset.to_table(columns=["id", column])
    return dict(by_id(table))


def test_delete_takes_rows_out(ops):
    outcome = ops.do("delete", "(and (>= id 90) (< id 210))")
    assert outcome.counts == (120, 0, 0)
    dataset = same(ops)
    assert operation(dataset) == "Delete"
    assert sorted(values(dataset)) == [*range(90), *range(210, 300)]
    # The fragment in the middle is gone, and its id with it.
    assert [fragment.fragment_id for fragment in dataset.get_fragments()] == [0, 2]
    dataset.delete("id < 10")
    assert ops.do("delete", "(< id 20)").counts == (10, 0, 0)
    dataset = same(ops)
    assert dataset.count_rows() == 160
    dataset.optimize.compact_files(target_rows_per_fragment=1000)
    same(ops)


def test_nothing_to_do_makes_no_version(ops):
    before = ops.upstream().version
    for step in (["delete", "(> id 1000)"], ["update", "v=1", "where=(> id 1000)"],
                 ["merge", rows(5000, 5), "on=id", "insert=no"]):
        assert ops.do(*step).version == 0
    assert ops.upstream().version == before


def test_truncate_takes_all_rows_out(ops):
    ops.upstream().delete("id = 5")
    assert ops.do("truncate").counts == (299, 0, 0)
    dataset = same(ops)
    assert dataset.count_rows() == 0
    ops.do("append", rows(0, 3))
    dataset = same(ops)
    assert [fragment.fragment_id for fragment in dataset.get_fragments()] == [3]


@pytest.mark.parametrize(("count", "suffix"), [(4999, "arrow"), (5000, "bin")])
def test_deletion_files_are_of_upstreams_kind(tmp_path, count, suffix):
    ops = Ops(tmp_path / "t.lance")
    ops.do("create", rows(0, 20000))
    ops.do("delete", "(< (mod id 4) 1)") if count == 5000 else ops.do("delete", f"(< id {count})")
    assert [path.suffix for path in ops.path.glob("_deletions/*")] == [f".{suffix}"]
    assert same(ops).count_rows() == 20000 - count


def test_update_changes_rows(ops):
    outcome = ops.do("update", "v=(+ v 1)", "name=\"new\"", "where=(and (>= id 50) (< id 150))")
    assert outcome.counts == (0, 100, 0)
    dataset = same(ops)
    assert operation(dataset) == "Update"
    assert values(dataset) == {i: i * 10 + (50 <= i < 150) for i in range(300)}
    assert {name for i, name in values(dataset, "name").items() if 50 <= i < 150} == {"new"}
    dataset.update({"v": "0"}, where="id < 5")
    ops.do("update", "v=null", "where=(< id 3)")
    dataset = same(ops)
    assert [values(dataset)[i] for i in range(6)] == [None, None, None, 0, 0, 50]
    # The whole table: every old fragment goes.
    ops.do("update", "v=7")
    assert set(values(same(ops)).values()) == {7}


def test_an_update_must_fit_the_column(ops):
    files = sorted(ops.path.glob("data/*"))
    assert "not fit" in ops.do("update", "v=(divide 1 0)", exit_code=1)
    assert "no such column" in ops.do("update", "w=1", exit_code=1)
    assert "not fit" in ops.do("update", "v=name", exit_code=1)
    assert sorted(ops.path.glob("data/*")) == files, "what failed leaves nothing"


def test_stable_ids_and_versions_follow_an_update(tmp_path):
    """Twins, one changed by lake and one by upstream, show the same lineage."""
    lake, twin = Ops(tmp_path / "lake.lance"), Ops(tmp_path / "upstream.lance")
    lake.do("create", rows(0, 300), "rows=100", "stable")
    lance.write_dataset(rows(0, 300), str(twin.path), max_rows_per_file=100, enable_stable_row_ids=True)
    more = rows(300, 50)
    merged = pa.concat_tables([rows(5, 10, scale=3), rows(1000, 4)])
    lake.do("delete", "(= (mod id 5) 0)")
    twin.upstream().delete("id % 5 = 0")
    lake.do("update", "v=(+ v 1)", "where=(= (mod id 7) 1)")
    twin.upstream().update({"v": "v + 1"}, where="id % 7 = 1")
    lake.do("append", more)
    lance.write_dataset(more, str(twin.path), mode="append")
    lake.do("merge", merged, "on=id", "matched=update")
    twin.upstream().merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(merged)
    lake.do("update", "v=(+ v 1)", "where=(< id 50)")
    twin.upstream().update({"v": "v + 1"}, where="id < 50")
    columns = ["id", "v", "_row_created_at_version", "_row_last_updated_at_version"]
    assert by_id(same(lake).to_table(columns=columns)) == by_id(twin.upstream().to_table(columns=columns))
    # Upstream counts on where lake stopped.
    assert by_id(lake.upstream().to_table(columns=["id", "_rowid"], filter="id < 350")) == \
        by_id(twin.upstream().to_table(columns=["id", "_rowid"], filter="id < 350"))
    for table in (lake, twin):
        table.upstream().optimize.compact_files(target_rows_per_fragment=1000)
        table.do("update", "v=0", "where=(= id 8)")
    assert by_id(same(lake).to_table(columns=columns)) == by_id(same(twin).to_table(columns=columns))


def test_overwrite_replaces_rows_and_columns(ops):
    ops.do("config", "k=v")
    ops.do("overwrite", pa.table({"other": ["a", "b"]}))
    dataset = same(ops)
    assert operation(dataset) == "Overwrite"
    assert dataset.to_table().to_pydict() == {"other": ["a", "b"]}
    assert [fragment.fragment_id for fragment in dataset.get_fragments()] == [3], "ids go on"
    assert dataset.config() == {"k": "v"}
    lance.write_dataset(pa.table({"other": ["c"]}), str(ops.path), mode="append")
    assert same(ops).count_rows() == 3


MERGES = {
    "upsert": (["matched=update"], lambda m: m.when_matched_update_all().when_not_matched_insert_all()),
    "insert": ([], lambda m: m.when_not_matched_insert_all()),
    "update": (["matched=update", "insert=no"], lambda m: m.when_matched_update_all()),
    "delete": (["matched=delete", "insert=no"], lambda m: m.when_matched_delete()),
    "update_if": (["matched=update", "insert=no", "update_if=(> source.v target.v)"],
                  lambda m: m.when_matched_update_all("source.v > target.v")),
    "replace": (["matched=update", "by_source=delete"],
                lambda m: m.when_matched_update_all().when_not_matched_insert_all().when_not_matched_by_source_delete()),
    "by_source_if": (["matched=update", "insert=no", "by_source=delete", "by_source_if=(> v 1500)"],
                     lambda m: m.when_matched_update_all().when_not_matched_by_source_delete("v > 1500")),
}


@pytest.mark.parametrize("name", MERGES)
@pytest.mark.parametrize("keys", ["id", "id,name"])
def test_merge_insert_does_what_upstream_does(ops, tmp_path, name, keys):
    arguments, build = MERGES[name]
    source = pa.concat_tables([rows(50, 100, scale=11).set_column(
        1, "name", pa.array([f"n{i}" if i % 3 else "other" for i in range(50, 150)])), rows(900, 10)])
    twin = lance.write_dataset(rows(0, 300), str(tmp_path / "twin.lance"), max_rows_per_file=100)
    stats = build(twin.merge_insert(keys.split(","))).execute(source)
    outcome = ops.do("merge", source, f"on={keys}", *arguments)
    dataset = same(ops)
    assert by_id(dataset.to_table()) == by_id(twin.to_table())
    assert outcome.counts == (stats["num_deleted_rows"], stats["num_updated_rows"], stats["num_inserted_rows"])
    if outcome.version:
        assert operation(dataset) in ("Update", "Delete")


def test_merge_insert_leaves_columns_that_the_source_lacks(ops):
    source = pa.table({"v": pa.array([1, 2, 3], pa.int64()), "id": pa.array([10, 20, 999], pa.int64())})
    assert ops.do("merge", source, "on=id", "matched=update").counts == (0, 2, 1)
    table = {row["id"]: row for row in same(ops).to_table().to_pylist()}
    assert table[10] == {"id": 10, "name": "n10", "v": 1}
    assert table[999] == {"id": 999, "name": None, "v": 3}


def test_merge_insert_refuses_what_is_ambiguous(ops):
    twice = pa.concat_tables([rows(10, 1), rows(10, 1)])
    for matched in ("update", "delete"):
        assert "several source rows" in ops.do("merge", twice, "on=id", f"matched={matched}", exit_code=1)
    assert "matches a row" in ops.do("merge", rows(10, 1), "on=id", "matched=fail", exit_code=1)
    # Where no row is met, both go in, as upstream has it.
    new = pa.concat_tables([rows(700, 1), rows(700, 1)])
    assert ops.do("merge", new, "on=id", "matched=update").inserted == 2
    # A null equals nothing.
    null = rows(0, 1).set_column(0, "id", pa.array([None], pa.int64()))
    assert ops.do("merge", null, "on=id", "matched=update").inserted == 1
    assert ops.do("merge", null, "on=id", "matched=update").inserted == 1
    assert same(ops).count_rows() == 304


def test_columns_come_and_go(ops):
    ops.do("delete", "(= (mod id 10) 3)")
    ops.do("add", "w=(* v 2)", "label=(concat name name)")
    dataset = same(ops)
    assert operation(dataset) == "Merge"
    assert all(w == v * 2 for _, v, w in by_id(dataset.to_table(columns=["id", "v", "w"])))
    ops.do("add_null", pa.table({"empty": pa.array([], pa.float32())}))
    assert set(values(same(ops), "empty").values()) == {None}
    ops.do("append", pa.table({"id": [1000], "name": ["x"], "v": [1], "w": [2], "label": ["l"],
                               "empty": pa.array([1.5], pa.float32())}))
    ops.do("drop", "w,name")
    dataset = same(ops)
    assert operation(dataset) == "Project"
    assert dataset.schema.names == ["id", "v", "label", "empty"]
    dataset.add_columns({"again": "v + 1"})
    ops.do("update", "again=0", "where=(< id 10)")
    dataset = same(ops)
    more = pa.table({"from": pa.array(range(dataset.count_rows()), pa.int32())})
    ops.do("add_from", more)
    assert same(ops).to_table(columns=["from"]).equals(more)
    short = more.slice(1).rename_columns(["short"])
    assert "fewer rows" in ops.do("add_from", short, exit_code=1)
    assert "more rows" in ops.do("add_from", pa.concat_tables([short, short]), exit_code=1)
    assert "of that name" in ops.do("add", "v=(+ v 1)", exit_code=1)
    assert "no such column" in ops.do("drop", "w", exit_code=1)
    assert "must keep" in ops.do("drop", ",".join(same(ops).schema.names), exit_code=1)
    dataset = same(ops)
    dataset.optimize.compact_files(target_rows_per_fragment=1000)
    same(ops)


def test_columns_are_altered(ops):
    ops.do("delete", "(= (mod id 10) 3)")
    before = values(ops.upstream())
    ops.do("rename", "v", "value")
    dataset = same(ops)
    assert operation(dataset) == "Project"
    assert values(dataset, "value") == before
    ops.do("cast", "value", "int32")
    dataset = same(ops)
    assert operation(dataset) == "Merge"
    assert dataset.schema.field("value").type == pa.int32()
    assert values(dataset, "value") == before
    assert "not fit" in ops.do("cast", "value", "int8", exit_code=1)
    ops.do("cast", "value", "double")
    assert values(same(ops), "value") == before
    assert "holds nulls" in ops.do("nullable", "name", "no", exit_code=1)
    ops.do("nullable", "id", "no")
    assert not same(ops).schema.field("id").nullable
    ops.do("nullable", "id", "yes")
    assert same(ops).schema.field("id").nullable
    dataset = same(ops)
    dataset.alter_columns({"path": "value", "name": "v", "data_type": pa.float32()})
    ops.do("update", "v=1", "where=(< id 5)")
    assert same(ops).count_rows() == len(before)


def test_the_files_of_one_column_are_replaced(ops):
    ops.do("delete", "(= (mod id 10) 3)")
    ops.do("replace", "v=(* v -1)")
    dataset = same(ops)
    assert operation(dataset) == "DataReplacement"
    assert all(v == -10 * i for i, v in values(dataset).items())
    ops.do("update", "v=5", "where=(= id 1)")
    ops.do("replace", "name=\"all\"")
    assert set(values(same(ops), "name").values()) == {"all"}
    ops.upstream().optimize.compact_files(target_rows_per_fragment=1000)
    same(ops)


def test_metadata_of_all_kinds(ops):
    ops.do("config", "a=1", "b=2")
    ops.do("config", "a", "c=3")
    ops.do("table_metadata", "t=1")
    ops.do("schema_metadata", "s=1")
    ops.do("field_metadata", "v", "unit=m")
    dataset = same(ops)
    assert operation(dataset) == "UpdateConfig"
    assert dataset.config() == {"b": "2", "c": "3"}
    assert dataset.schema.metadata == {b"s": b"1"}
    assert dataset.schema.field("v").metadata == {b"unit": b"m"}
    dataset.update_config({"d": "4"})
    ops.do("rename", "v", "w")
    dataset = same(ops)
    assert dataset.config() == {"b": "2", "c": "3", "d": "4"}
    assert dataset.schema.field("w").metadata == {b"unit": b"m"}


def test_restore_brings_a_version_back(ops):
    ops.do("delete", "(< id 100)")
    ops.do("append", rows(500, 10))
    ops.do("restore", 1)
    dataset = same(ops)
    assert operation(dataset) == "Restore"
    assert sorted(values(dataset)) == list(range(300))
    # Ids of fragments and rows that came in between stay used.
    ops.do("append", rows(600, 10))
    dataset = same(ops)
    assert [fragment.fragment_id for fragment in dataset.get_fragments()] == [0, 1, 2, 4]
    if dataset.has_stable_row_ids:
        assert max(dataset.to_table(columns=["_rowid"])["_rowid"].to_pylist()) == 319


def test_indices_follow_what_happens(ops):
    """Upstream's filters by index see every change, and what an index covers is what upstream would have left."""
    twin = Ops(ops.path.parent / "twin.lance")
    lance.write_dataset(rows(0, 300), str(twin.path), max_rows_per_file=100,
                        enable_stable_row_ids=ops.upstream().has_stable_row_ids)
    for table in (ops, twin):
        dataset = table.upstream()
        dataset.create_scalar_index("id", "BTREE")
        dataset.create_scalar_index("name", "BITMAP")

    def covered(table):
        return {index["name"]: set(index["fragment_ids"]) for index in table.upstream().list_indices()}

    def check():
        dataset = same(ops)
        for predicate in ("id < 40", "id = 60", "name = 'n60'", "name = 'changed'", "id >= 290"):
            with_index = by_id(dataset.to_table(filter=predicate))
            assert with_index == by_id(dataset.scanner(filter=predicate, use_scalar_index=False).to_table()), predicate

    ops.do("update", "v=1", "where=(< id 30)")
    twin.upstream().update({"v": "1"}, where="id < 30")
    check()
    assert covered(ops) == covered(twin)
    ops.do("update", "name=\"changed\"", "where=(and (>= id 20) (< id 120))")
    twin.upstream().update({"name": "'changed'"}, where="id >= 20 and id < 120")
    check()
    assert covered(ops) == covered(twin)
    ops.do("delete", "(and (>= id 100) (< id 200))")
    twin.upstream().delete("id >= 100 and id < 200")
    check()
    ops.do("replace", "id=(+ id 0)")
    check()
    ops.do("drop", "name")
    assert set(covered(ops)) == {"id_idx"}
    ops.do("cast", "id", "int32")
    assert not covered(ops)
    same(ops, ["v"])


def test_other_rows_of_one_fragment_go_together(ops):
    """The first to commit is upstream or lake; the other's deletions join."""
    for first in ("upstream", "lake"):
        start = 0 if first == "upstream" else 150
        waiting = [ops.race("delete", f"(= id {start + 1})"),
                   ops.race("update", "v=-1", f"where=(= id {start + 2})"),
                   ops.race("merge", rows(start + 3, 1, scale=0), "on=id", "matched=update", "insert=no")]
        if first == "upstream":
            ops.upstream().delete(f"id = {start + 4}")
        else:
            ops.do("delete", f"(= id {start + 4})")
        for process in waiting:
            assert finish(process).lost == 0, "rebased, not run again"
        assert not list(ops.path.glob("_deletions/*.tmp"))
    present = values(same(ops))
    assert sorted(set(range(300)) - set(present)) == [1, 4, 151, 154]
    assert [present[i] for i in (2, 152, 3, 153)] == [-1, -1, 0, 0]
    named = {fragment.metadata.deletion_file.path(fragment.fragment_id).rsplit("/", 1)[-1]
             for version in ops.upstream().versions() for fragment in ops.upstream(version=version["version"]).get_fragments()
             if fragment.metadata.deletion_file}
    assert {path.name for path in ops.path.glob("_deletions/*")} == named, "no file of a lost attempt is left"


def test_the_same_row_is_worked_out_again(ops):
    first, second = (ops.race("update", "v=(+ v 1)", "where=(= id 5)") for _ in range(2))
    assert finish(first).lost == 0
    assert finish(second).lost == 1
    assert values(same(ops))[5] == 52
    stale = ops.do("update", "v=0", "where=(= id 5)", "read=1", exit_code=1)
    assert "run the operation again" in stale


CONFLICTS = {
    # mine, then upstream's in between: "ok", or how often mine is worked out again, or "never".
    "delete, append": (["delete", "(= id 5)"], lambda d: lance.write_dataset(rows(900, 5), d.uri, mode="append"), 0),
    "append, delete": (["append", rows(900, 5)], lambda d: d.delete("id = 5"), 0),
    "update, compact": (["update", "v=0", "where=(= id 5)"],
                        lambda d: d.optimize.compact_files(target_rows_per_fragment=1000), 1),
    "delete, add column": (["delete", "(= id 5)"], lambda d: d.add_columns({"w": "v"}), 1),
    "delete, drop": (["delete", "(= id 5)"], lambda d: d.drop_columns(["name"]), 0),
    "update, drop": (["update", "v=0", "where=(= id 5)"], lambda d: d.drop_columns(["name"]), 0),
    "delete, overwrite": (["delete", "(= id 5)"],
                          lambda d: lance.write_dataset(rows(0, 9), d.uri, mode="overwrite"), "never"),
    "add, append": (["add", "w=(+ v 1)"], lambda d: lance.write_dataset(rows(900, 5), d.uri, mode="append"), 1),
    "add, delete": (["add", "w=(+ v 1)"], lambda d: d.delete("id = 5"), 1),
    "add, index": (["add", "w=(+ v 1)"], lambda d: d.create_scalar_index("id", "BTREE"), 0),
    "rename, append": (["rename", "v", "w"], lambda d: lance.write_dataset(rows(900, 5), d.uri, mode="append"), 0),
    "drop, rename": (["drop", "name"], lambda d: d.alter_columns({"path": "v", "name": "w"}), 1),
    "replace, delete": (["replace", "v=(+ v 1)"], lambda d: d.delete("id = 5"), 1),
    "replace, append": (["replace", "v=(+ v 1)"],
                        lambda d: lance.write_dataset(rows(900, 5), d.uri, mode="append"), 0),
    "config, other key": (["config", "a=1"], lambda d: d.update_config({"b": "2"}), 0),
    "config, same key": (["config", "a=1"], lambda d: d.update_config({"a": "2"}), "never"),
    "restore, delete": (["restore", 1], lambda d: d.delete("id = 5"), 0),
    "overwrite, delete": (["overwrite", rows(0, 5)], lambda d: d.delete("id = 5"), 0),
    "not null, append": (["nullable", "v", "no"], lambda d: lance.write_dataset(rows(900, 5), d.uri, mode="append"), 1),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_what_goes_together_with_upstreams_commits(ops, name):
    step, theirs, expected = CONFLICTS[name]
    waiting = ops.race(*step)
    theirs(ops.upstream())
    if expected == "never":
        assert "go together" in finish(waiting, exit_code=1)
    else:
        assert finish(waiting).lost == expected
    same(ops)


def test_upstream_rebases_onto_lake(ops):
    """The reverse: upstream, on a version that lake has gone past."""
    stale = ops.upstream()
    ops.do("delete", "(= id 1)")
    stale.delete("id = 2")
    stale = ops.upstream()
    ops.do("update", "v=-1", "where=(= id 3)")
    stale.update({"v": "-2"}, where="id = 4")
    stale = ops.upstream()
    ops.do("append", rows(900, 5))
    stale.delete("id = 6")
    present = values(same(ops))
    assert {1, 2, 6}.isdisjoint(present) and present[3] == -1 and present[4] == -2 and 904 in present


def test_changes_between_versions(tmp_path):
    ops = Ops(tmp_path / "t.lance")
    ops.do("create", rows(0, 300), "rows=100", "stable")
    ops.do("delete", "(< id 10)")
    ops.upstream().update({"v": "-1"}, where="id >= 95 and id < 105")
    ops.do("append", rows(300, 20))
    ops.upstream().optimize.compact_files(target_rows_per_fragment=1000)
    last = ops.do("update", "v=-2", "where=(= id 310)").version
    ops.do("delete", "(= id 200)")
    changes = ops.changes(1, last)
    found = {}
    for row in changes.to_pylist():
        found.setdefault(row["_change_type"], {})[row["id"]] = row["v"]
    assert found["delete"] == {i: i * 10 for i in range(10)}
    assert found["update"] == {i: -1 for i in range(95, 105)}
    assert found["insert"] == {i: -2 if i == 310 else i * 10 for i in range(300, 320)}
    assert ops.changes(last, last).num_rows == 0
    assert by_id(ops.changes(last, last + 1), "id", "_change_type") == [(200, "delete")]
    # A column that came later is null in rows that were deleted before.
    ops.do("add", "w=(* v 2)")
    columns = by_id(ops.changes(last, last + 2, columns="id,w"), "id", "w", "_change_type")
    assert (200, None, "delete") in columns and (50, 1000, "update") in columns
    plain = Ops(tmp_path / "plain.lance")
    plain.do("create", rows(0, 3))
    assert "stable row ids" in plain.read("changes", 1, 1, exit_code=1)


def test_rows_are_taken_by_their_ids(ops):
    ops.do("update", "v=-1", "where=(< id 150)")
    table = ops.upstream().to_table(columns=["id", "v", "_rowid"])
    picked = table.take([5, 299, 17, 5])
    ids = ",".join(map(str, picked["_rowid"].to_pylist()))
    assert ops.read("take_ids", ids, "id,v").equals(picked.drop_columns(["_rowid"]))
    if ops.upstream().has_stable_row_ids:
        assert "no row of that id" in ops.read("take_ids", "5000", "id", exit_code=1)


STEPS = ["append", "delete", "update", "merge", "compact", "index", "restore"]


@pytest.mark.parametrize("stable", [False, True])
def test_random_histories(tmp_path, stable):
    """Lake and upstream by turns, against a model, checked after each step."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    ops = Ops(tmp_path / "t.lance")
    lance.write_dataset(rows(0, 60), str(ops.path), max_rows_per_file=20, enable_stable_row_ids=stable)
    model = {i: i * 10 for i in range(60)}
    history = {1: dict(model)}
    fresh = 1000
    for _ in range(30):
        step, lake = chance.choice(STEPS), chance.random() < 0.6
        low = chance.choice(sorted(model)) if model else 0
        high = low + chance.randrange(1, 15)
        hit = [i for i in model if low <= i < high]
        dataset = ops.upstream()
        if step == "append":
            new = rows(fresh, chance.randrange(1, 20))
            ops.do("append", new) if lake else lance.write_dataset(new, str(ops.path), mode="append")
            model |= values(new)
            fresh += 100
        elif step == "delete":
            ops.do("delete", f"(and (>= id {low}) (< id {high}))") if lake else \
                dataset.delete(f"id >= {low} and id < {high}")
            for i in hit:
                del model[i]
        elif step == "update":
            ops.do("update", "v=(+ v 1)", f"where=(and (>= id {low}) (< id {high}))") if lake else \
                dataset.update({"v": "v + 1"}, where=f"id >= {low} and id < {high}")
            for i in hit:
                model[i] += 1
        elif step == "merge":
            source = rows(low, high - low, scale=chance.randrange(5))
            ops.do("merge", source, "on=id", "matched=update") if lake else \
                dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(source)
            model |= values(source)
        elif step == "compact":
            dataset.optimize.compact_files(target_rows_per_fragment=chance.choice([30, 1000]))
        elif step == "index":
            dataset.create_scalar_index("id", chance.choice(["BTREE", "BITMAP"]), replace=True)
        else:
            version = chance.choice(sorted(history))
            if lake:
                ops.do("restore", version)
            else:
                ops.upstream(version=version).restore()
            model = dict(history[version])
        dataset = same(ops)
        assert values(dataset) == model, f"seed {seed}: {step} by {'lake' if lake else 'upstream'}"
        some = chance.choice(sorted(model)) if model else 0
        assert by_id(dataset.to_table(columns=["id", "v"], filter=f"id = {some}")) == \
            ([(some, model[some])] if some in model else []), f"seed {seed}"
        history[dataset.version] = dict(model)


META = ["_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version"]
# Filters over what is not the table's own, as lake and as upstream take them.
META_FILTERS = [
    ("(< _rowid 20)", "_rowid < 20"),
    ("(and (>= _rowaddr 4294967296) (< _rowaddr 4294967310))", "_rowaddr >= 4294967296 AND _rowaddr < 4294967310"),
    ("(or (= _rowid 7) (> v 2900))", "_rowid = 7 OR v > 2900"),
    ("(and (> _rowaddr 100) (= name \"new\"))", "_rowaddr > 100 AND name = 'new'"),
    ("(< _rowid 0)", "_rowid < 0"),
]
VERSION_FILTERS = [
    ("(= _row_created_at_version 1)", "_row_created_at_version = 1"),
    ("(and (> _row_last_updated_at_version 1) (< id 100))", "_row_last_updated_at_version > 1 AND id < 100"),
    ("(> _row_last_updated_at_version _row_created_at_version)", "_row_last_updated_at_version > _row_created_at_version"),
]


def test_row_ids_and_addresses_in_scans_and_takes(ops):
    """As columns and in filters, after deletes, updates and appends by both."""
    ops.do("delete", "(= (mod id 9) 4)")
    ops.do("update", "name=\"new\"", "v=(+ v 1)", "where=(= (mod id 10) 7)")
    lance.write_dataset(rows(300, 40), str(ops.path), mode="append")
    ops.upstream().update({"v": "v + 2"}, where="id % 10 = 2")
    ops.upstream().delete("id > 320")
    dataset = ops.upstream()
    stable = dataset.has_stable_row_ids
    meta = META if stable else META[:2]
    expected = dataset.to_table(columns=["id", *meta])
    both = dataset.to_table(columns=["id"], with_row_id=True, with_row_address=True)
    assert ops.scan(columns="id,_rowid,_rowaddr").equals(both)
    for columns in (["id", *meta], [*reversed(meta)], ["_rowaddr"], ["name", "_rowid", "v"]):
        assert ops.scan(columns=",".join(columns)).equals(dataset.to_table(columns=columns)), columns
    for ours, theirs in META_FILTERS + (VERSION_FILTERS if stable else []):
        for columns in (["id"], ["id", *meta], ["_rowaddr", "v"]):
            answer = ops.scan(columns=",".join(columns), filter=ours)
            assert answer.equals(dataset.to_table(columns=columns, filter=theirs)), (ours, columns)
    # In any order, several times, across fragments; upstream takes by position.
    places = [0, expected.num_rows - 1, 5, 150, 5, 90, 91, 92, 0]
    columns = ["v", "_rowid", "id", "_rowaddr", *meta[2:], "name"]
    taken = dataset.take(places, columns=columns)
    addresses = expected["_rowaddr"].take(places).to_pylist()
    assert ops.read("take", ",".join(map(str, addresses)), ",".join(columns)).equals(taken)
    ids = expected["_rowid"].take(places).to_pylist()
    assert ops.read("take_ids", ",".join(map(str, ids)), ",".join(columns)).equals(taken)
    only = ops.read("take", ",".join(map(str, addresses)), "_rowaddr")
    assert only["_rowaddr"].to_pylist() == addresses
    many = [i for i in range(expected.num_rows) if i % 7] * 3
    addresses = expected["_rowaddr"].take(many).to_pylist()
    assert ops.read("take", ",".join(map(str, addresses)), ",".join(columns)).equals(dataset.take(many, columns=columns))
    # Row 4 was deleted.
    assert "row is deleted" in ops.read("take", "4", "_rowid", exit_code=1)
    if not stable:
        # Upstream says 1 of every row here, also of those that were changed since.
        for step in (("scan", "columns=_row_created_at_version"), ("scan", "columns=id", "filter=(= _row_created_at_version 1)"),
                     ("take", "0", "_row_last_updated_at_version")):
            assert "only in tables with stable row ids" in ops.read(*step, exit_code=1)
