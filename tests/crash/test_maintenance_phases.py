"""Compaction, clean-up, restore, clones, tags, branches and names, killed in every named phase: the table is whole and the
work goes on.
"""

import json

import lance
import pytest

from killing import KILLS_PER_PHASE, NOW, check, findings, killed, location, values

COMMIT_PHASES = ["transaction_written", "manifest_staged", "manifest_visible", "manifest_synced", "hint_published"]


def fill(lake, start):
    for x in range(start, start + 3):
        lake.sql(f"INSERT INTO main.t VALUES ({x})")


@pytest.mark.parametrize("phase", ["compaction_written", "data_written", "fragments_reserved", *COMMIT_PHASES])
def test_a_killed_compaction_loses_nothing(lake, phase):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    expected = []
    for i in range(KILLS_PER_PHASE):
        fill(lake, 3 * i)
        expected += range(3 * i, 3 * i + 3)
        killed(lake, phase, "table", "compact", "main.t", "--quiet")
        assert values(lake, "main.t") == sorted(expected)
    check(lake, expected)
    lake.run("table", "compact", "main.t", "--quiet")
    check(lake, expected)
    # What the dead left behind goes, and nothing else.
    lake.run("table", "cleanup", "main.t", *NOW, "--delete-unverified")
    check(lake, expected)
    report = json.loads(lake.run("table", "verify", "main.t", "--json", "--quiet").stdout)
    assert report["findings"] == []


@pytest.mark.parametrize("phase", ["manifest_removed", "file_removed"])
def test_a_killed_clean_up_loses_nothing(lake, phase):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    lake.sql("INSERT INTO main.t VALUES (-1)")
    lake.run("table", "tag", "create", "main.t", "kept")
    expected = [-1]
    for i in range(KILLS_PER_PHASE):
        fill(lake, 3 * i)
        expected += range(3 * i, 3 * i + 3)
        lake.run("table", "compact", "main.t", "--quiet")
        killed(lake, phase, "table", "cleanup", "main.t", *NOW)
        check(lake, expected)
        assert lance.dataset(location(lake, "main.t"), version="kept").to_table()["x"].to_pylist() == [-1]
    report = json.loads(lake.run("table", "cleanup", "main.t", *NOW, "--delete-unverified", "--json").stdout)
    assert report["kept_unverified_files"] == 0
    assert json.loads(lake.run("table", "verify", "main.t", "--json", "--quiet").stdout)["findings"] == []
    check(lake, expected)


@pytest.mark.parametrize("phase", ["restore_pinned", *COMMIT_PHASES])
def test_a_killed_restore_happened_or_not(lake, phase):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    fill(lake, 0)
    for _ in range(KILLS_PER_PHASE):
        killed(lake, phase, "table", "restore", "main.t", "--version", "2")
        assert values(lake, "main.t") in ([0], [0, 1, 2])
        lake.run("table", "restore", "main.t", "--version", "4")
        check(lake, [0, 1, 2])


@pytest.mark.parametrize("phase", ["row_creating", "clone_pinned", "data_written", "transaction_written", "manifest_staged",
                                   "manifest_visible", "manifest_synced", "row_live"])
@pytest.mark.parametrize("copy", [(), ("--copy",)])
def test_a_killed_clone_is_there_whole_or_not_at_all(lake, phase, copy):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    fill(lake, 0)
    for i in range((KILLS_PER_PHASE + 1) // 2 if phase == "clone_pinned" else max(1, KILLS_PER_PHASE // 4)):
        killed(lake, phase, "table", "clone", "main.t", f"main.c{i}", "--quiet", *copy)
        tables = lake.run("table", "list").stdout.split()
        if f"main.c{i}" in tables:
            assert values(lake, f"main.c{i}") == [0, 1, 2]
        check(lake, [0, 1, 2])


@pytest.mark.parametrize("phase", ["branch_begun", "manifest_visible"])
def test_a_killed_branch_can_be_made_again(lake, phase):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    fill(lake, 0)
    for i in range(KILLS_PER_PHASE):
        killed(lake, phase, "table", "branch", "create", "main.t", f"b{i}")
        lake.run("table", "branch", "create", "main.t", f"b{i}")
        killed(lake, "branch_unnamed", "table", "branch", "delete", "main.t", f"b{i}")
        lake.run("table", "branch", "delete", "main.t", f"b{i}")
    assert lake.run("table", "branch", "list", "main.t").stdout == ""
    check(lake, [0, 1, 2])


def test_a_killed_copy_leaves_files_that_nobody_owns(lake):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    fill(lake, 0)
    for i in range(KILLS_PER_PHASE):
        killed(lake, f"file_copied:{i % 3 + 1}", "table", "clone", "main.t", f"main.c{i}", "--quiet", "--copy")
    assert lake.run("table", "list").stdout.split() == ["main.t"]
    check(lake, [0, 1, 2])
    # The pins of copies that never came to be are lifted.
    assert lake.run("table", "tag", "list", "main.t").stdout != ""
    lake.run("table", "cleanup", "main.t", *NOW, "--delete-unverified")
    lake.run("table", "clone", "main.t", "main.c0x", "--quiet", "--copy")
    assert values(lake, "main.c0x") == [0, 1, 2]


def tags(lake):
    return {tag["name"]: tag["version"] for tag in json.loads(lake.run("table", "tag", "list", "main.t", "--json").stdout)}


def test_a_killed_tag_stands_whole_or_not_at_all(lake):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    fill(lake, 0)
    for i in range(KILLS_PER_PHASE):
        killed(lake, "reference_written", "table", "tag", "create", "main.t", f"t{i}", "--version", "2")
        assert tags(lake)[f"t{i}"] == 2
        killed(lake, "reference_written", "table", "tag", "move", "main.t", f"t{i}", "--version", "3")
        assert tags(lake)[f"t{i}"] == 3
        killed(lake, "reference_removed", "table", "tag", "delete", "main.t", f"t{i}")
        assert tags(lake) == {}
    check(lake, [0, 1, 2])


def test_a_branch_that_dies_half_deleted_is_deleted_again(lake):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    fill(lake, 0)
    for i in range(KILLS_PER_PHASE):
        killed(lake, "reference_written", "table", "branch", "create", "main.t", f"b{i}")
        killed(lake, "branch_file_removed", "table", "branch", "delete", "main.t", f"b{i}")
        check(lake, [0, 1, 2])
        lake.run("table", "branch", "create" if i % 2 else "delete", "main.t", f"b{i}", exit_code=None)
    lake.run("table", "cleanup", "main.t", *NOW, "--delete-unverified")
    assert all("tree/" not in name for name in findings(lake) if not name.startswith("branch "))
    check(lake, [0, 1, 2])


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
