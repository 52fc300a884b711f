"""Tables: lake and upstream open, append to, delete from and compact the same one, turn by turn.

Lake is a program of its own (table_main.cc); upstream is pylance in this process. Expectations come from
upstream's reader or from the rows that went in, never from lake's.
"""

import datetime
import json
import pathlib
import random
import shutil
import subprocess
import sys

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import BUILD_DIR
from type_table import TYPES, compare, patterns, tables

TABLE = BUILD_DIR / "bin/lake_interop_table"


class Lake:
    """Runs steps of the program on one table."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def run(self, step, *arguments, exit_code=0):
        result = subprocess.run([TABLE, step, self.path, *map(str, arguments)], capture_output=True, text=True,
                                timeout=300, check=False)
        assert result.returncode == exit_code, result.stderr
        return result.stderr if exit_code else result.stdout

    def write(self, step, table, *more, batch_rows=None, exit_code=0):
        stream = self.path.parent / f"{self.path.name}.in.arrow"
        with pa.OSFile(str(stream), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=batch_rows)
        output = self.run(step, stream, *more, exit_code=exit_code)
        return output if exit_code else int(output)

    def read(self, step, *arguments, exit_code=0):
        stream = self.path.parent / f"{self.path.name}.out.arrow"
        error = self.run(step, stream, *arguments, exit_code=exit_code)
        return error if exit_code else pa.ipc.open_stream(pa.OSFile(str(stream))).read_all()

    def create(self, table, rows_per_file=1 << 20, **options):
        return self.write("create", table, f"rows={rows_per_file}", **options)

    def append(self, table, rows_per_file=1 << 20, *more, **options):
        return self.write("append", table, f"rows={rows_per_file}", *more, **options)

    def scan(self, **options):
        exit_code = options.pop("exit_code", 0)
        arguments = [name if value is True else f"{name}={value}" for name, value in options.items()]
        return self.read("scan", *arguments, exit_code=exit_code)

    def count(self, **options):
        return int(self.run("count", *(f"{name}={value}" for name, value in options.items())))

    def versions(self):
        rows = (line.split() for line in self.run("versions").splitlines())
        return [(int(version), int(nanos), int(count), operation) for version, nanos, count, operation in rows]


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "table.lance")


def rows(first, count):
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids, pa.int64()),
                     "name": pa.array([None if i % 7 == 0 else f"name {i}" for i in ids], pa.string()),
                     "x": pa.array([i * 0.5 for i in ids], pa.float64())})


def same(lake):
    """Lake's scan is what upstream reads, and both count the same; returns upstream's dataset."""
    dataset = lance.dataset(str(lake.path))
    expected = dataset.to_table()
    for options in ({}, {"morsel": 97}):
        assert lake.scan(**options).equals(expected)
    assert lake.count() == dataset.count_rows() == expected.num_rows
    assert lake.versions()[-1][0] == dataset.version
    return dataset


def test_upstream_opens_every_type_that_lake_created(tmp_path):
    cells = 0
    for nulls, row_count, shape in patterns(rows=(0, 1000), nulls=("some",), shapes=("random",)):
        for i, table in enumerate(tables(nulls, row_count, shape)):
            lake = Lake(tmp_path / f"{row_count}-{i}.lance")
            lake.create(table, 300, batch_rows=170)
            dataset = lance.dataset(str(lake.path))
            assert dataset.schema.equals(table.schema, check_metadata=True)
            assert len(dataset.get_fragments()) == -(-table.num_rows // 300)
            assert not compare(table, dataset.to_table())
            assert not compare(table, lake.scan())
            dataset = lance.write_dataset(table, str(lake.path), mode="append")
            assert not compare(dataset.to_table(), lake.scan(morsel=64))
            cells += table.num_columns
    print(f"cells {cells}/{2 * len(TYPES)}")
    assert cells == 2 * len(TYPES)


def test_each_goes_on_where_the_other_stopped(lake):
    lake.create(rows(0, 10_000), 3000)
    same(lake)
    lance.write_dataset(rows(10_000, 5000), str(lake.path), mode="append", max_rows_per_file=2000)
    same(lake)
    assert lake.append(rows(15_000, 100)) == 3
    same(lake).delete("id % 10 = 3")
    assert lake.append(rows(16_000, 4000), 1500) == 5
    same(lake).update({"name": "'updated'"}, where="id < 500")
    same(lake)
    merge = lance.dataset(str(lake.path)).merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(rows(19_900, 300))
    same(lake).optimize.compact_files()
    version = same(lake).version
    assert lake.append(rows(30_000, 10)) == version + 1
    same(lake)
    lance.dataset(str(lake.path), version=1).restore()
    assert same(lake).count_rows() == 10_000
    assert lake.append(rows(40_000, 10)) == version + 3
    dataset = same(lake)
    ids = [fragment.fragment_id for fragment in dataset.get_fragments()]
    assert len(set(ids)) == len(ids)
    # Nothing that upstream checks itself is amiss.
    dataset.validate()


def test_upstream_starts_and_lake_goes_on(lake):
    lance.write_dataset(rows(0, 5000), str(lake.path), max_rows_per_file=1500, data_storage_version="2.2")
    same(lake)
    assert lake.append(rows(5000, 20)) == 2
    assert same(lake).to_table().sort_by("id").equals(rows(0, 5020))


def test_an_empty_table(lake):
    lake.create(rows(0, 0))
    assert same(lake).count_rows() == 0
    lance.write_dataset(rows(0, 10), str(lake.path), mode="append")
    lake.append(rows(10, 10))
    assert same(lake).to_table().equals(rows(0, 20))


def test_indices_and_settings_survive_an_append(lake):
    lake.create(rows(0, 5000))
    dataset = lance.dataset(str(lake.path))
    dataset.create_scalar_index("id", "BTREE")
    dataset.update_config({"some.key": "some value"})
    dataset.update_metadata({"owner": "upstream"})
    lake.append(rows(5000, 100))
    dataset = same(lake)
    assert [index["name"] for index in dataset.list_indices()] == ["id_idx"]
    assert "ScalarIndexQuery" in dataset.scanner(filter="id = 77").explain_plan()
    assert dataset.to_table(filter="id = 77 or id = 5050").num_rows == 2
    assert dataset.config() == {"some.key": "some value"}
    assert dataset.metadata["owner"] == "upstream" and "lake.incarnation" in dataset.metadata


FILTERS = [
    ("id < 100", pc.field("id") < 100), ("id >= 0", pc.field("id") >= 0), ("id = 4711", pc.field("id") == 4711),
    ("id < 0", pc.field("id") < 0), ("x >= 2500", pc.field("x") >= 2500), ("id != 5", pc.field("id") != 5),
]


@pytest.mark.parametrize("text, expression", FILTERS, ids=[text for text, _ in FILTERS])
def test_projection_filter_and_limit(text, expression, lake):
    lake.create(rows(0, 10_000), 2500)
    dataset = lance.dataset(str(lake.path))
    dataset.delete("id % 3 = 1")
    for columns in (["name"], ["x", "id"], ["id", "name", "x"]):
        expected = dataset.to_table(columns=columns, filter=expression)
        actual = lake.scan(columns=",".join(columns), filter=text, morsel=700)
        assert actual.equals(expected)
        for limit in (0, 1, 17, 100_000):
            actual = lake.scan(columns=",".join(columns), filter=text, morsel=700, limit=limit)
            assert actual.num_rows == min(limit, expected.num_rows)
            # A limit bounds the work, it does not choose which rows.
            assert {*map(str, actual.to_pylist())} <= {*map(str, expected.to_pylist())}


def test_take_by_row_address(lake):
    lake.create(rows(0, 10_000), 3000)
    dataset = lance.dataset(str(lake.path))
    dataset.delete("id % 3 = 1")
    expected = dataset.scanner(with_row_address=True).to_table()
    assert lake.scan(rowaddr=True).equals(expected)
    order = random.Random(5).choices(range(expected.num_rows), k=500)
    wanted = expected.take(order)
    addresses = ",".join(map(str, wanted["_rowaddr"].to_pylist()))
    assert lake.read("take", addresses, "name,id").equals(wanted.select(["name", "id"]))
    assert "row is deleted" in lake.read("take", "1", "id", exit_code=1)


@pytest.mark.parametrize("deleted, kind", [(1, "arrow"), (4999, "arrow"), (5000, "bin"), (60_000, "bin")])
def test_deletion_files_of_both_kinds(deleted, kind, lake):
    lake.create(rows(0, 100_000))
    dataset = lance.dataset(str(lake.path))
    chosen = sorted(random.Random(deleted).sample(range(100_000), deleted))
    if deleted == 60_000:
        chosen = list(range(20_000, 80_000))
        dataset.delete("id >= 20000 and id < 80000")
    else:
        dataset.delete(f"id in ({','.join(map(str, chosen))})")
    assert [path.suffix for path in (lake.path / "_deletions").iterdir()] == ["." + kind]
    assert same(lake).count_rows() == 100_000 - deleted
    left = set(range(100_000)) - set(chosen)
    assert lake.scan(columns="id", filter="x < 25000")["id"].to_pylist() == sorted(i for i in left if i < 50_000)
    # A second deletion is the union, in a new file.
    dataset.delete("id = 50 or id = 99999")
    same(lake)
    lake.append(rows(100_000, 10))
    same(lake)


def test_a_fragment_without_rows_leaves_the_table(lake):
    lake.create(rows(0, 900), 300)
    lance.dataset(str(lake.path)).delete("id >= 300 and id < 600")
    lake.append(rows(900, 5))
    assert [fragment.fragment_id for fragment in same(lake).get_fragments()] == [0, 2, 3]


def test_columns_come_and_go(lake):
    lake.create(rows(0, 1000), 400)
    dataset = lance.dataset(str(lake.path))
    dataset.add_columns({"twice": "id * 2"})
    dataset.add_columns(pa.schema([pa.field("nothing", pa.string())]))
    assert same(lake).schema.names == ["id", "name", "x", "twice", "nothing"]
    dataset = lance.dataset(str(lake.path))
    dataset.drop_columns(["name"])
    dataset.alter_columns({"path": "x", "name": "y"})
    more = pa.table({"id": pa.array([-1, -2], pa.int64()), "y": [0.25, None],
                     "twice": pa.array([7, 8], pa.int64()), "nothing": pa.array([None, "something"])})
    lake.append(more)
    dataset = same(lake)
    assert dataset.to_table().slice(1000).equals(more)
    assert lake.scan(columns="nothing,y", filter="twice >= 0").num_rows == 1002
    dataset.optimize.compact_files()
    same(lake)


def test_every_version_and_time_opens(lake):
    lake.create(rows(0, 10))
    for i in range(1, 101):
        lance.write_dataset(rows(10 * i, 1), str(lake.path), mode="append")
    single = Lake(lake.path.parent / "single.lance")
    single.create(pa.table({"id": pa.array([], pa.int64())}))
    subprocess.run([TABLE, "race", single.path], input="".join(f"prepare {i}\ncommit\n" for i in range(200)),
                   capture_output=True, text=True, timeout=300, check=True)
    for table, count in ((lake, 101), (single, 201)):
        versions = table.versions()
        upstream = lance.dataset(str(table.path)).versions()
        assert [v[0] for v in versions] == [v["version"] for v in upstream] == list(range(1, count + 1))
        assert [v[2] for v in versions] == [int(v["metadata"]["total_rows"]) for v in upstream]
        assert {v[3] for v in versions[1:]} == {"append"}
        for version, nanos, total, _ in random.Random(1).sample(versions, 10) + [versions[0], versions[-1]]:
            assert table.count(version=version) == total == lance.dataset(str(table.path), version=version).count_rows()
            assert table.count(asof=nanos) == total
            if version > 1:
                assert table.count(asof=nanos - 1) == versions[version - 2][2]
        assert "the oldest is version 1" in table.run("count", f"asof={versions[0][1] - 1}", exit_code=1)
        assert "not_found" in table.run("count", f"version={count + 1}", exit_code=1)


def test_old_names_are_kept_until_upstream_migrates_them(lake):
    lance.write_dataset(rows(0, 100), str(lake.path), enable_v2_manifest_paths=False, data_storage_version="2.2")
    lake.append(rows(100, 100))
    lance.write_dataset(rows(200, 100), str(lake.path), mode="append")
    lake.append(rows(300, 100))
    names = sorted(path.name for path in (lake.path / "_versions").glob("*.manifest"))
    assert names == ["1.manifest", "2.manifest", "3.manifest", "4.manifest"]
    dataset = same(lake)
    assert dataset.to_table().equals(rows(0, 400))
    dataset.migrate_manifest_paths_v2()
    assert lake.append(rows(400, 100)) == 5
    assert same(lake).to_table().equals(rows(0, 500))
    assert all(len(path.name) == 29 for path in (lake.path / "_versions").glob("*.manifest"))


def test_stable_row_ids_are_read_past(lake):
    lance.write_dataset(rows(0, 3000), str(lake.path), enable_stable_row_ids=True, max_rows_per_file=1000)
    dataset = same(lake)
    dataset.delete("id % 5 = 0")
    dataset.update({"name": "'moved'"}, where="id % 7 = 1")
    dataset.optimize.compact_files()
    dataset = same(lake)
    assert lake.scan(rowaddr=True).equals(dataset.scanner(with_row_address=True).to_table())
    expected = dataset.scanner(columns=["id"], with_row_id=True).to_table()
    assert lake.scan(columns="_rowid")["_rowid"].equals(expected["_rowid"])
    version = lake.append(rows(3000, 10))
    dataset = same(lake)
    new = dataset.to_table(columns=["_rowid", "_row_created_at_version", "_row_last_updated_at_version"],
                           filter="id >= 3000")
    assert new["_rowid"].to_pylist() == list(range(3000, 3010))
    assert set(new["_row_created_at_version"].to_pylist()) == {version}
    assert set(new["_row_last_updated_at_version"].to_pylist()) == {version}
    assert not list(lake.path.glob("data/*.tmp"))


def test_without_stable_row_ids_the_row_id_is_the_address(lake):
    lake.create(rows(0, 100), 30)
    lance.dataset(str(lake.path)).delete("id < 5")
    expected = lance.dataset(str(lake.path)).scanner(columns=["id"], with_row_id=True).to_table()
    assert lake.scan(columns="id,_rowid").equals(expected)


def test_file_versions(lake, tmp_path):
    for version in ("2.0", "2.1", "2.2"):
        table = Lake(tmp_path / f"{version}.lance")
        lance.write_dataset(rows(0, 3000), str(table.path), data_storage_version=version)
        same(table)
    old = Lake(tmp_path / "2.1.lance")
    assert "file_version 2.1" in old.append(rows(3000, 10), exit_code=1)
    same(old)
    # A table of mixed versions takes ours as well, and says so in both flag words.
    lance.write_dataset(rows(3000, 10), str(old.path), mode="append", data_storage_version="2.2")
    assert old.append(rows(3010, 10)) == 3
    dataset = same(old)
    versions = {file.file_minor_version for fragment in dataset.get_fragments() for file in fragment.data_files()}
    assert versions == {1, 2}


def test_what_is_not_read_is_refused_by_name(lake, tmp_path):
    lake.create(rows(0, 10))
    clone = Lake(tmp_path / "clone.lance")
    lance.dataset(str(lake.path)).shallow_clone(str(clone.path), reference=1)
    assert "lie in a folder outside of it" in clone.scan(exit_code=1)


def test_a_tagged_old_version_and_a_cleaned_middle(lake):
    lake.create(rows(0, 10))
    for i in range(1, 6):
        lake.append(rows(10 * i, 10))
    dataset = lance.dataset(str(lake.path))
    dataset.tags.create("keep", 2)
    dataset.optimize.compact_files()
    dataset.cleanup_old_versions(older_than=datetime.timedelta(0), error_if_tagged_old_versions=False)
    newest = lance.dataset(str(lake.path)).version
    assert [version[0] for version in lake.versions()] == [2, newest]
    assert lake.scan(version=2).equals(rows(0, 20))
    assert lake.scan().equals(rows(0, 60))
    assert "not_found" in lake.run("count", "version=3", exit_code=1)
    assert lake.append(rows(60, 10)) == newest + 1
    assert same(lake).to_table().equals(rows(0, 70))


def test_a_replay_after_upstreams_compaction_and_cleanup(lake):
    operation = ("operation=0192f3a4-0000-7000-8000-000000000001", "base=1")
    files = lambda: sorted(path.name for path in (lake.path / "data").iterdir())
    lake.create(rows(0, 10))
    first = lake.append(rows(10, 10), 100, operation[0])
    # Again: the first outcome, and no second row.
    assert lake.append(rows(10, 10), 100, *operation) == first == 2
    lance.dataset(str(lake.path)).optimize.compact_files()
    before = files()
    assert lake.append(rows(10, 10), 100, *operation) == 2
    assert files() == before
    # Upstream removes the version that could tell: nobody knows any more.
    lance.dataset(str(lake.path)).cleanup_old_versions(older_than=datetime.timedelta(0))
    assert "commit_state_unknown" in lake.append(rows(10, 10), 100, *operation, exit_code=3)
    assert same(lake).count_rows() == 20
    # With a base behind the gap the operation is new.
    newest = lance.dataset(str(lake.path)).version
    assert lake.append(rows(20, 10), 100, "operation=0192f3a4-0000-7000-8000-000000000002", f"base={newest}") == newest + 1
    assert same(lake).to_table().equals(rows(0, 30))


@pytest.mark.parametrize("hint", ['{"version":1}', '{"version":99}', "garbage", "", None])
def test_a_wrong_hint_changes_nothing(hint, lake):
    lake.create(rows(0, 10))
    lake.append(rows(10, 10))
    lance.write_dataset(rows(20, 10), str(lake.path), mode="append")
    path = lake.path / "_versions/latest_version_hint.json"
    assert json.loads(path.read_text())["version"] == 3
    if hint is None:
        path.unlink()
    else:
        path.write_text(hint)
    assert same(lake).version == 3
    assert lake.append(rows(30, 10)) == 4
    assert json.loads(path.read_text()) == {"version": 4}
    assert same(lake).to_table().equals(rows(0, 40))


def test_leftovers_of_others_are_passed_over(lake):
    lake.create(rows(0, 10))
    lake.append(rows(10, 10))
    newest = next(lake.path.glob("_versions/*613.manifest"))
    for name in (".tmp_18446744073709551612.manifest_123", "18446744073709551612.manifest#1",
                 "18446744073709551612.manifest-2ca0cf53-dce9-4b9d-8564-bc8cc4566717"):
        shutil.copy(newest, newest.parent / name)
    dataset = lance.dataset(str(lake.path))
    detached = lance.LanceDataset.commit(dataset.uri, lance.LanceOperation.Append([]), read_version=2, detached=True)
    assert detached.version >= 1 << 63
    assert lake.versions()[-1][0] == 2
    assert lake.append(rows(20, 10)) == 3
    assert lake.scan().equals(rows(0, 30))


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-s"]))
