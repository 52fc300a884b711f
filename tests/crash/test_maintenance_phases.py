"""Compaction, clean-up, restore, clones and branches, killed in every named phase: the table is whole and the work goes on.

As in test_kill_phases.py, a test build stops at the place that LAKE_TEST_KILL_AT names.
"""

import json

import lance
import pytest

from test_kill_phases import KILLS_PER_PHASE, killed, location, values

COMMIT_PHASES = ["transaction_written", "manifest_staged", "manifest_visible", "manifest_synced", "hint_published"]
NOW = ("--older-than", "0", "--superseded-for", "0", "--replay-retention", "0", "--quiet")


def fill(lake, start):
    for x in range(start, start + 3):
        lake.sql(f"INSERT INTO main.t VALUES ({x})")


def check(lake, expected):
    assert values(lake, "main.t") == sorted(expected)
    report = json.loads(lake.run("table", "verify", "main.t", "--data", "--json", "--quiet").stdout)
    assert report["errors"] == 0 and report["warnings"] == 0, report
    dataset = lance.dataset(location(lake, "main.t"))
    dataset.validate()
    assert sorted(dataset.to_table()["x"].to_pylist()) == sorted(expected)


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
    for i in range(max(1, KILLS_PER_PHASE // 4)):
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
