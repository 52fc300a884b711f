"""Upkeep of tables, lake and upstream turn by turn: compaction, clean-up, tags, branches, clones, restore.

Lake is the program itself; upstream is pylance in this process, on the folder that `lake table describe` names.
"""

import datetime
import json
import pathlib

import lance
import pyarrow as pa
import pytest

NOW = ("--older-than", "0", "--superseded-for", "0", "--replay-retention", "0")


def location(lake, table="main.t"):
    return json.loads(lake.run("table", "describe", table, "--json").stdout)["location"]


def make(lake, inserts=6, rows=10):
    lake.sql("CREATE TABLE main.t (id BIGINT NOT NULL, name VARCHAR, value DOUBLE)")
    for i in range(inserts):
        lake.sql(f"INSERT INTO main.t SELECT x, 'n' || x % 7, x / 2 FROM range({i * rows}, {(i + 1) * rows}) r(x)")
    return location(lake)


def ids(dataset):
    return dataset.to_table(columns=["id"])["id"].to_pylist()


def lake_ids(lake, table="main.t"):
    return [row["id"] for row in json.loads(lake.sql(f"SELECT id FROM {table} ORDER BY id").stdout)]


def files(path):
    return sorted(str(p.relative_to(path)) for p in pathlib.Path(path).rglob("*") if p.is_file())


def verify(lake, table="main.t", *more):
    report = json.loads(lake.run("table", "verify", table, "--data", "--json", *more).stdout)
    assert report["errors"] == 0, report
    return report


def test_lake_compacts_and_upstream_reads_on(lake):
    path = make(lake)
    lance.dataset(path).delete("id % 10 = 3")
    before = lance.dataset(path).to_table()
    plan = json.loads(lake.run("table", "compact", "main.t", "--dry-run", "--json").stdout)
    assert [len(group["fragments"]) for group in plan["groups"]] == [6]
    result = json.loads(lake.run("table", "compact", "main.t", "--json", "--quiet").stdout)
    assert (result["fragments_before"], result["fragments_after"], result["rows"]) == (6, 1, 54)
    assert result["deleted_rows"] == 6
    dataset = lance.dataset(path)
    dataset.validate()
    assert dataset.to_table().equals(before)
    assert len(dataset.get_fragments()) == 1
    operations = [type(t.operation).__name__ for t in dataset.get_transactions(2)]
    assert operations == ["Rewrite", "ReserveFragments"] or "Rewrite" in operations
    # And goes on: appends, deletes, compacts.
    lance.write_dataset(pa.table({"id": pa.array([1000], pa.int64())}, schema=pa.schema(
        [pa.field("id", pa.int64(), False)])), path, mode="append")
    dataset = lance.dataset(path)
    dataset.delete("id < 5")
    dataset.optimize.compact_files()
    assert lake_ids(lake) == sorted(ids(lance.dataset(path)))
    assert "nothing to compact" in lake.run("table", "compact", "main.t", "--quiet").stdout
    verify(lake)


def test_large_pages_are_copied_and_read_by_upstream(lake):
    make(lake, inserts=3, rows=200_000)
    path = location(lake)
    before = lance.dataset(path).to_table()
    result = json.loads(lake.run("table", "compact", "main.t", "--json", "--quiet").stdout)
    assert result["files_copied"] == 1
    assert result["fragments_after"] == 1
    dataset = lance.dataset(path)
    assert dataset.to_table().equals(before)
    assert dataset.take([0, 199_999, 200_000, 599_999])["id"].to_pylist() == [0, 199_999, 200_000, 599_999]
    verify(lake)


def test_indices_answer_alike_after_lake_compacted(lake):
    path = make(lake, inserts=1)
    dataset = lance.dataset(path)
    dataset.create_scalar_index("id", "BTREE")
    for i in range(1, 6):
        lake.sql(f"INSERT INTO main.t SELECT x, 'n', 0 FROM range({i * 10}, {i * 10 + 10}) r(x)")
    lance.dataset(path).delete("id = 4")
    plan = json.loads(lake.run("table", "compact", "main.t", "--dry-run", "--json").stdout)
    # The indexed fragment is not joined with the others.
    assert sorted(sorted(group["fragments"]) for group in plan["groups"]) == [[1, 2, 3, 4, 5]]
    lake.run("table", "compact", "main.t", "--quiet", "--deletion-threshold", "0.05")
    dataset = lance.dataset(path)
    for value, expected in ((3, 1), (4, 0), (33, 1), (99, 0)):
        assert dataset.count_rows(f"id = {value}") == expected
        assert dataset.to_table(filter=f"id = {value}").num_rows == expected
    dataset.optimize.optimize_indices()
    assert lance.dataset(path).to_table(filter="id >= 30 AND id < 35").num_rows == 5
    verify(lake)


def test_stable_row_ids_survive_lakes_compaction(lake):
    path = make(lake, inserts=1)
    foreign = pathlib.Path(path)
    # The table's folder gets a dataset of upstream's making that carries the same incarnation.
    incarnation = json.loads(lake.run("table", "describe", "main.t", "--json").stdout)["incarnation"]
    for file in sorted(foreign.rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    for i in range(4):
        lance.write_dataset(pa.table({"id": range(i * 10, i * 10 + 10)}), path, mode="append" if i else "create",
                            enable_stable_row_ids=True)
    dataset = lance.dataset(path)
    dataset.update_metadata({"lake.incarnation": incarnation})
    dataset.delete("id % 5 = 0")
    dataset.update({"id": "id + 100"}, where="id = 7")
    dataset.create_scalar_index("id", "BITMAP")
    columns = ["id", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    before = lance.dataset(path).to_table(columns=columns).sort_by("_rowid")
    lake.run("table", "compact", "main.t", "--quiet")
    dataset = lance.dataset(path)
    dataset.validate()
    assert dataset.to_table(columns=columns).sort_by("_rowid").equals(before)
    assert len(dataset.get_fragments()) == 1
    assert dataset.to_table(filter="id = 107").num_rows == 1
    verify(lake)


def test_lake_cleans_up_and_upstream_reads_on(lake):
    path = make(lake)
    lance.dataset(path).delete("id < 10")
    lake.run("table", "compact", "main.t", "--quiet")
    lance.dataset(path).tags.create("kept", 4)
    expected = lance.dataset(path, version="kept").to_table()
    dry = json.loads(lake.run("table", "cleanup", "main.t", *NOW, "--dry-run", "--json").stdout)
    reasons = {v["version"]: v.get("reason") for v in dry["versions"]}
    assert reasons[4] == "it is tagged kept"
    assert reasons[max(reasons)] == "it is the newest"
    assert len(files(path)) > 20
    report = json.loads(lake.run("table", "cleanup", "main.t", *NOW, "--json", "--quiet").stdout)
    assert report["bytes_removed"] == dry["bytes_removed"]
    assert report["bytes_after"] == sum((pathlib.Path(path) / f).stat().st_size for f in files(path))
    dataset = lance.dataset(path)
    assert len(dataset.versions()) == 2
    assert sorted(ids(dataset)) == list(range(10, 60))
    assert lance.dataset(path, version="kept").to_table().equals(expected)
    # What is left is what the versions name: upstream finds nothing to remove either.
    stats = dataset.cleanup_old_versions(datetime.timedelta(0), delete_unverified=True,
                                         error_if_tagged_old_versions=False)
    assert stats.bytes_removed == 0
    verify(lake)


def test_upstream_compacts_and_cleans_up_and_lake_reads_on(lake):
    path = make(lake)
    lake.run("table", "tag", "create", "main.t", "kept", "--version", "3")
    dataset = lance.dataset(path)
    dataset.optimize.compact_files()
    lance.dataset(path).cleanup_old_versions(datetime.timedelta(0), delete_unverified=True,
                                             error_if_tagged_old_versions=False)
    assert lake_ids(lake) == list(range(60))
    versions = [v["version"] for v in json.loads(lake.run("table", "versions", "main.t", "--json").stdout)]
    assert 3 in versions and len(versions) == 2
    lake.sql("INSERT INTO main.t VALUES (100, 'x', 0)")
    verify(lake)


def test_tags_both_ways(lake):
    path = make(lake, inserts=3)
    lake.run("table", "tag", "create", "main.t", "by-lake", "--version", "2")
    tags = lance.dataset(path).tags
    assert tags.list()["by-lake"]["version"] == 2
    assert lance.dataset(path, version="by-lake").count_rows() == 10
    tags.create("by-lance", 3)
    listed = json.loads(lake.run("table", "tag", "list", "main.t", "--json").stdout)
    assert [(tag["name"], tag["version"], tag["branch"]) for tag in listed] == [
        ("by-lake", 2, None), ("by-lance", 3, None)]
    lake.run("table", "tag", "move", "main.t", "by-lance", "--version", "4")
    assert tags.list()["by-lance"]["version"] == 4
    tags.update("by-lake", 1)
    assert json.loads(lake.run("table", "tag", "list", "main.t", "--json").stdout)[0]["version"] == 1
    lake.run("table", "tag", "delete", "main.t", "by-lance")
    assert list(tags.list()) == ["by-lake"]
    with pytest.raises(Exception, match="by-lake"):
        tags.create("by-lake", 1)
    assert "has a tag" in lake.run("table", "tag", "create", "main.t", "by-lake", exit_code=1).stderr
    for bad in ("a/b", "..", ".x", "x.lock", "ä"):
        lake.run("table", "tag", "create", "main.t", bad, exit_code=1)


def test_branches_both_ways(lake):
    path = make(lake, inserts=2)
    lake.run("table", "branch", "create", "main.t", "dev/b1", "--version", "2")
    dataset = lance.dataset(path)
    listed = dataset.branches.list()
    assert listed["dev/b1"]["parent_version"] == 2
    branch = dataset.checkout_version(("dev/b1", None))
    assert branch.count_rows() == 10
    lance.write_dataset(pa.table({"id": pa.array([500], pa.int64())}, schema=pa.schema(
        [pa.field("id", pa.int64(), False)])), branch, mode="append")
    diff = json.loads(lake.run("table", "diff", "main.t", "--branch", "dev/b1", "--from", "2", "--json").stdout)
    assert (diff["rows_before"], diff["rows_after"]) == (10, 11)
    # Lake commits on the branch.
    lake.run("table", "compact", "main.t", "--branch", "dev/b1", "--quiet")
    branch = lance.dataset(path).checkout_version(("dev/b1", None))
    branch.validate()
    assert sorted(ids(branch)) == [*range(10), 500]
    assert len(branch.get_fragments()) == 1
    assert lake_ids(lake) == list(range(20))
    # A branch of upstream's.
    lance.dataset(path).create_branch("theirs", 3)
    names = [b["name"] for b in json.loads(lake.run("table", "branch", "list", "main.t", "--json").stdout)]
    assert names == ["dev/b1", "theirs"]
    lake.run("table", "restore", "main.t", "--branch", "dev/b1", "--version", "2")
    assert sorted(ids(lance.dataset(path).checkout_version(("dev/b1", None)))) == list(range(10))
    lake.run("table", "tag", "create", "main.t", "on-branch", "--branch", "dev/b1")
    assert lance.dataset(path).tags.list()["on-branch"]["branch"] == "dev/b1"
    assert "tag is on the branch" in lake.run("table", "branch", "delete", "main.t", "dev/b1", exit_code=1).stderr
    lake.run("table", "cleanup", "main.t", *NOW, "--quiet")
    assert sorted(ids(lance.dataset(path, version="on-branch"))) == list(range(10))
    verify(lake)
    lake.run("table", "tag", "delete", "main.t", "on-branch")
    lake.run("table", "branch", "delete", "main.t", "dev/b1")
    assert list(lance.dataset(path).branches.list()) == ["theirs"]
    lance.dataset(path).branches.delete("theirs")
    assert lake.run("table", "branch", "list", "main.t").stdout == ""


def test_a_shallow_clone_pins_its_source(lake):
    path = make(lake, inserts=2)
    lake.run("table", "clone", "main.t", "main.c", "--version", "2")
    clone = location(lake, "main.c")
    assert lake_ids(lake, "main.c") == list(range(10))
    dataset = lance.dataset(clone)
    dataset.validate()
    assert dataset.version == 2
    assert ids(dataset) == list(range(10))
    assert not (pathlib.Path(clone) / "data").exists()
    lake.sql("INSERT INTO main.c VALUES (700, 'x', 1)")
    assert ids(lance.dataset(clone))[-1] == 700
    # The source keeps the version, whoever cleans up, and is not dropped.
    lake.run("table", "compact", "main.t", "--quiet")
    report = json.loads(lake.run("table", "cleanup", "main.t", *NOW, "--json", "--quiet").stdout)
    assert "shallow clone reads it" in next(v["reason"] for v in report["versions"] if v["version"] == 2)
    lance.dataset(path).cleanup_old_versions(datetime.timedelta(0), delete_unverified=True,
                                             error_if_tagged_old_versions=False)
    assert lake_ids(lake, "main.c") == [*range(10), 700]
    assert "shallow clone" in lake.run("table", "drop", "main.t", exit_code=1).stderr
    verify(lake, "main.c")
    # A clone of the clone needs the first source, too.
    lake.run("table", "clone", "main.c", "main.cc")
    assert "shallow clone" in lake.run("table", "drop", "main.c", exit_code=1).stderr
    tags = json.loads(lake.run("table", "tag", "list", "main.t", "--json").stdout)
    assert len(tags) == 2 and {tag["version"] for tag in tags} == {2}
    assert lake_ids(lake, "main.cc") == [*range(10), 700]
    verify(lake, "main.cc")
    lake.run("table", "drop", "main.cc")
    lake.run("table", "drop", "main.c")
    lake.run("table", "drop", "main.t")


def test_a_copy_stands_alone(lake):
    path = make(lake, inserts=3)
    lance.dataset(path).delete("id = 5")
    lance.dataset(path).create_scalar_index("id", "BTREE")
    result = json.loads(lake.run("table", "clone", "main.t", "main.c", "--copy", "--json", "--quiet").stdout)
    assert result["copy"] is True
    copy = location(lake, "main.c")
    lake.run("table", "drop", "main.t")
    dataset = lance.dataset(copy)
    dataset.validate()
    assert sorted(ids(dataset)) == [i for i in range(30) if i != 5]
    assert dataset.to_table(filter="id = 7").num_rows == 1
    assert dataset.to_table(filter="id = 5").num_rows == 0
    assert len(dataset.list_indices()) == 1
    verify(lake, "main.c")
    # A copy of a shallow clone needs nobody.
    lake.run("table", "clone", "main.c", "main.s")
    lake.run("table", "clone", "main.s", "main.d", "--copy", "--quiet")
    lake.run("table", "drop", "main.s")
    lake.run("table", "drop", "main.c")
    assert len(lake_ids(lake, "main.d")) == 29


def test_a_moved_data_folder_keeps_its_clones_and_branches(lake, tmp_path):
    make(lake, inserts=2)
    lake.run("table", "clone", "main.t", "main.c")
    lake.run("table", "branch", "create", "main.t", "dev")
    moved = tmp_path / "moved"
    lake.data_dir.rename(moved)
    lake.data_dir = moved
    assert lake_ids(lake, "main.c") == list(range(20))
    verify(lake, "main.c")
    lake.run("table", "clone", "main.t", "main.b", "--branch", "dev", "--copy", "--quiet")
    assert lake_ids(lake, "main.b") == list(range(20))


def test_restore_both_ways(lake):
    path = make(lake, inserts=3)
    lake.run("table", "restore", "main.t", "--version", "2")
    assert lance.dataset(path).version == 5
    assert ids(lance.dataset(path)) == list(range(10))
    dataset = lance.dataset(path, version=4)
    dataset.restore()
    assert lake_ids(lake) == list(range(30))
    lake.sql("INSERT INTO main.t VALUES (100, 'x', 0)")
    assert lake_ids(lake)[-1] == 100
    # Pins of the restores are gone.
    assert lake.run("table", "tag", "list", "main.t").stdout == ""
    verify(lake)


def test_verify_names_damage_done_behind_lakes_back(lake):
    path = make(lake, inserts=2)
    data = sorted((pathlib.Path(path) / "data").iterdir())
    data[0].rename(data[0].with_suffix(".gone"))
    report = json.loads(lake.run("table", "verify", "main.t", "--json", exit_code=1).stdout)
    assert report["errors"] == 1
    assert [f["what"] for f in report["findings"] if f["severity"] == "error"] == ["data file is missing"]
    # The renamed file is a leftover now.
    assert any("leftover" in f["what"] for f in report["findings"])
    assert "error" in lake.run("table", "verify", "main.t", exit_code=1).stdout
