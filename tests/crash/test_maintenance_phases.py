"""Compaction, clean-up, restore, clones, tags, branches and names, killed in every named phase: the table is whole and the
work goes on.
"""

import json

import lance
import pytest

from killing import (KILLS_PER_PHASE, LAKE_READS_EVERY, NOW, check, check_behind, findings, killed, location, values,
                     values_behind)

COMMIT_PHASES = ["transaction_written", "manifest_staged", "manifest_visible", "manifest_synced", "hint_published"]


def fill(lake, start):
    """Three rows in three versions."""
    lake.sql(";".join(f"INSERT INTO main.t VALUES ({x})" for x in range(start, start + 3)))


def make_table(lake):
    """An empty table; returns its path."""
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    return location(lake, "main.t")


def make_filled_table(lake):
    """A table with rows 0, 1 and 2 in the versions 2, 3 and 4; returns its path."""
    path = make_table(lake)
    fill(lake, 0)
    return path


@pytest.mark.parametrize("phase", ["compaction_written", "data_written", "fragments_reserved", *COMMIT_PHASES])
def test_a_killed_compaction_loses_nothing(lake, phase):
    path = make_table(lake)
    expected = []
    for i in range(KILLS_PER_PHASE):
        fill(lake, 3 * i)
        expected += range(3 * i, 3 * i + 3)
        killed(lake, phase, "table", "compact", "main.t", "--quiet")
        assert values_behind(lake, path, i) == sorted(expected)
    check(lake, path, expected)
    lake.run("table", "compact", "main.t", "--quiet")
    check(lake, path, expected)
    # What the dead left behind goes, and nothing else.
    lake.run("table", "cleanup", "main.t", *NOW, "--delete-unverified")
    check(lake, path, expected)
    assert findings(lake) == []


@pytest.mark.parametrize("phase", ["manifest_removed", "file_removed"])
def test_a_killed_clean_up_loses_nothing(lake, phase):
    path = make_table(lake)
    lake.sql("INSERT INTO main.t VALUES (-1)")
    lake.run("table", "tag", "create", "main.t", "kept")
    expected = [-1]
    for i in range(KILLS_PER_PHASE):
        fill(lake, 3 * i)
        expected += range(3 * i, 3 * i + 3)
        lake.run("table", "compact", "main.t", "--quiet")
        killed(lake, phase, "table", "cleanup", "main.t", *NOW)
        check_behind(lake, path, expected, i)
        assert lance.dataset(path, version="kept").to_table()["x"].to_pylist() == [-1]
    report = json.loads(lake.run("table", "cleanup", "main.t", *NOW, "--delete-unverified", "--json").stdout)
    assert report["kept_unverified_files"] == 0
    assert findings(lake) == []
    check(lake, path, expected)


@pytest.mark.parametrize("phase", ["restore_pinned", *COMMIT_PHASES])
def test_a_killed_restore_happened_or_not(lake, phase):
    path = make_filled_table(lake)
    for i in range(KILLS_PER_PHASE):
        killed(lake, phase, "table", "restore", "main.t", "--version", "2")
        assert values_behind(lake, path, i) in ([0], [0, 1, 2])
        lake.run("table", "restore", "main.t", "--version", "4")
        check_behind(lake, path, [0, 1, 2], i)
    check(lake, path, [0, 1, 2])


@pytest.mark.parametrize("phase", ["row_creating", "clone_pinned", "data_written", "transaction_written", "manifest_staged",
                                   "manifest_visible", "manifest_synced", "row_live"])
@pytest.mark.parametrize("copy", [(), ("--copy",)])
def test_a_killed_clone_is_there_whole_or_not_at_all(lake, phase, copy):
    path = make_filled_table(lake)
    for i in range((KILLS_PER_PHASE + 1) // 2 if phase == "clone_pinned" else max(1, KILLS_PER_PHASE // 4)):
        killed(lake, phase, "table", "clone", "main.t", f"main.c{i}", "--quiet", *copy)
        tables = lake.run("table", "list").stdout.split()
        if f"main.c{i}" in tables:
            assert values(lake, f"main.c{i}") == [0, 1, 2]
        check_behind(lake, path, [0, 1, 2], i)
    check(lake, path, [0, 1, 2])


@pytest.mark.parametrize("phase", ["branch_begun", "manifest_visible"])
def test_a_killed_branch_can_be_made_again(lake, phase):
    path = make_filled_table(lake)
    for i in range(KILLS_PER_PHASE):
        killed(lake, phase, "table", "branch", "create", "main.t", f"b{i}")
        lake.run("table", "branch", "create", "main.t", f"b{i}")
        killed(lake, "branch_unnamed", "table", "branch", "delete", "main.t", f"b{i}")
        lake.run("table", "branch", "delete", "main.t", f"b{i}")
    assert lake.run("table", "branch", "list", "main.t").stdout == ""
    check(lake, path, [0, 1, 2])


def test_a_killed_copy_leaves_files_that_nobody_owns(lake):
    path = make_filled_table(lake)
    for i in range(KILLS_PER_PHASE):
        killed(lake, f"file_copied:{i % 3 + 1}", "table", "clone", "main.t", f"main.c{i}", "--quiet", "--copy")
    assert lake.run("table", "list").stdout.split() == ["main.t"]
    check(lake, path, [0, 1, 2])
    # The pins of copies that never came to be are lifted.
    assert lake.run("table", "tag", "list", "main.t").stdout != ""
    lake.run("table", "cleanup", "main.t", *NOW, "--delete-unverified")
    lake.run("table", "clone", "main.t", "main.c0x", "--quiet", "--copy")
    assert values(lake, "main.c0x") == [0, 1, 2]


def tags(lake, path, kill):
    """Name -> version, by lake or by upstream."""
    if kill % LAKE_READS_EVERY == 0:
        return {tag["name"]: tag["version"] for tag in json.loads(lake.run("table", "tag", "list", "main.t", "--json").stdout)}
    return {name: tag["version"] for name, tag in lance.dataset(path).tags.list().items()}


def test_a_killed_tag_stands_whole_or_not_at_all(lake):
    path = make_filled_table(lake)
    for i in range(KILLS_PER_PHASE):
        killed(lake, "reference_written", "table", "tag", "create", "main.t", f"t{i}", "--version", "2")
        assert tags(lake, path, i)[f"t{i}"] == 2
        killed(lake, "reference_written", "table", "tag", "move", "main.t", f"t{i}", "--version", "3")
        assert tags(lake, path, i)[f"t{i}"] == 3
        killed(lake, "reference_removed", "table", "tag", "delete", "main.t", f"t{i}")
        assert tags(lake, path, i) == {}
    check(lake, path, [0, 1, 2])


def test_a_branch_that_dies_half_deleted_is_deleted_again(lake):
    path = make_filled_table(lake)
    for i in range(KILLS_PER_PHASE):
        killed(lake, "reference_written", "table", "branch", "create", "main.t", f"b{i}")
        killed(lake, "branch_file_removed", "table", "branch", "delete", "main.t", f"b{i}")
        check_behind(lake, path, [0, 1, 2], i)
        lake.run("table", "branch", "create" if i % 2 else "delete", "main.t", f"b{i}", exit_code=None)
    lake.run("table", "cleanup", "main.t", *NOW, "--delete-unverified")
    assert all("tree/" not in name for name in findings(lake) if not name.startswith("branch "))
    check(lake, path, [0, 1, 2])


@pytest.mark.parametrize("phase", ["before_rename", "row_renamed"])
def test_a_killed_rename_happened_or_did_not(lake, phase):
    lake.sql("CREATE TABLE main.t AS SELECT 7::BIGINT AS x")
    old, new = "main.t", "main.u"
    for _ in range(KILLS_PER_PHASE):
        killed(lake, phase, "table", "rename", old, new)
        if phase == "before_rename":
            assert lake.run("table", "list").stdout.split() == [old]
            lake.run("table", "rename", old, new)
        assert lake.run("table", "list").stdout.split() == [new]
        old, new = new, old
    assert values(lake, old) == [7]


def test_a_killed_undrop_happened(lake):
    lake.sql("CREATE TABLE main.t AS SELECT 7::BIGINT AS x")
    for _ in range(KILLS_PER_PHASE):
        lake.run("table", "drop", "main.t")
        killed(lake, "row_undropped", "table", "undrop", "main.t")
        assert lake.run("table", "list").stdout.split() == ["main.t"]
    assert values(lake, "main.t") == [7]
