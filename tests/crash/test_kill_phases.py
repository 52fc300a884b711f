"""The real program, killed in every named phase of an operation, then checked against a model outside it."""

import json

import lance
import pytest
from conftest import LONG_FORMS
from killing import (APPEND_PHASES, CREATE_PHASES, KILLS_PER_PHASE, killed, location, seeded,  # noqa: F401
                     uuid7, values, values_behind, values_upstream)

DROP_PHASES = ["before_drop", "row_dropped"]
UPLOAD_PHASES = ["upload_written", "upload_visible", "upload_synced"]
# Changes pass the phases of an append.
KILLS_PER_CHANGE = KILLS_PER_PHASE if LONG_FORMS else (KILLS_PER_PHASE + 2) // 3


def check_everything(lake):
    report = json.loads(lake.run("selftest", "--json").stdout)
    assert report["passed"], report
    temporaries = list((lake.data_dir / "tmp").rglob("*"))
    assert temporaries == []


@pytest.mark.parametrize("phase", APPEND_PHASES)
def test_a_killed_append_replays_to_exactly_one_copy(lake, seeded, phase):  # noqa: F811
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    path = location(lake, "main.t")
    expected = []
    for i in range(KILLS_PER_PHASE):
        value = seeded.randrange(1 << 40)
        insert = ["sql", f"INSERT INTO main.t VALUES ({value}), ({value + 1})", "--operation-id", uuid7(seeded)]
        killed(lake, phase, *insert)
        # Whatever was left behind, readers see all of it or nothing, and other writers go on.
        assert values_behind(lake, path, i) in (sorted(expected), sorted(expected + [value, value + 1]))
        lake.run(*insert)
        expected += [value, value + 1]
        assert values_upstream(path) == sorted(expected)
    lake.run(*insert)
    assert values(lake, "main.t") == values_upstream(path) == sorted(expected)
    check_everything(lake)
    print(f"{KILLS_PER_PHASE} kills in {phase}")


# Each would show it if it happened twice.
CHANGES = {
    "update": ("UPDATE main.t SET x = x + 700 WHERE x % 7 = 3",
               lambda rows: [x + 700 if x % 7 == 3 else x for x in rows]),
    "delete": ("DELETE FROM main.t WHERE x = (SELECT max(x) FROM main.t)", lambda rows: sorted(rows)[:-1]),
    "merge": ("MERGE INTO main.t USING (SELECT max(x) + d AS x FROM main.t, (VALUES (0), (1)) v(d) GROUP BY d) m "
              "ON t.x = m.x WHEN MATCHED THEN UPDATE SET x = t.x + 2 WHEN NOT MATCHED THEN INSERT VALUES (m.x)",
              lambda rows: [*sorted(rows)[:-1], max(rows) + 2, max(rows) + 1]),
}


@pytest.mark.parametrize("phase", APPEND_PHASES)
@pytest.mark.parametrize("change", ["update", "delete", "merge"])
def test_a_killed_change_replays_to_exactly_one_outcome(lake, seeded, change, phase):  # noqa: F811
    statement, apply = CHANGES[change]
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    lake.sql("INSERT INTO main.t SELECT * FROM range(100)")
    path = location(lake, "main.t")
    expected = list(range(100))
    for i in range(KILLS_PER_CHANGE):
        run = ["sql", statement, "--operation-id", uuid7(seeded)]
        killed(lake, phase, *run)
        changed = sorted(apply(expected))
        # Readers see the old rows whole or the new ones whole.
        assert values_behind(lake, path, i) in (sorted(expected), changed)
        lake.run(*run)
        assert values_upstream(path) == changed
        expected = changed
    lake.run(*run)
    lance.dataset(path).validate()
    assert values(lake, "main.t") == values_upstream(path) == sorted(expected)
    check_everything(lake)
    print(f"{KILLS_PER_CHANGE} kills in {phase}")


@pytest.mark.parametrize("phase", CREATE_PHASES)
def test_a_killed_create_leaves_a_whole_table_or_none(lake, seeded, phase):  # noqa: F811
    lake.sql("SELECT 1")
    expected = {}
    for i in range(KILLS_PER_PHASE):
        value = seeded.randrange(1 << 40)
        killed(lake, phase, "sql", f"CREATE TABLE main.t{i} AS SELECT {value} AS x")
        listed = lake.run("table", "list").stdout.split()
        assert set(listed) - {f"main.t{i}"} == expected.keys()
        # The name of a dead creator is free once its lease is over, and not given to two owners before.
        name = f"main.t{i}" if f"main.t{i}" in listed else f"main.u{i}"
        if name not in listed:
            lake.sql(f"CREATE TABLE {name} AS SELECT {value} AS x")
        expected[name] = value
    assert values(lake, *expected) == sorted(expected.values())
    check_everything(lake)
    print(f"{KILLS_PER_PHASE} kills in {phase}")


@pytest.mark.parametrize("phase", DROP_PHASES)
def test_a_killed_drop_happened_or_did_not(lake, seeded, phase):  # noqa: F811
    expected = {f"main.t{i}": seeded.randrange(1 << 40) for i in range(KILLS_PER_PHASE)}
    lake.sql(";".join(f"CREATE TABLE {name} AS SELECT {value} AS x" for name, value in expected.items()))
    for name in expected:
        killed(lake, phase, "table", "drop", name)
        listed = lake.run("table", "list").stdout.split()
        assert set(listed) | {name} == expected.keys()
        if name not in listed:
            lake.run("table", "undrop", name)
    assert values(lake, *expected) == sorted(expected.values())
    check_everything(lake)
    print(f"{KILLS_PER_PHASE} kills in {phase}")


@pytest.mark.parametrize("phase", UPLOAD_PHASES)
def test_a_killed_import_goes_on_where_it_was(lake, seeded, tmp_path, phase):  # noqa: F811
    root = tmp_path / "in"
    root.mkdir()
    lake.sql("CREATE TABLE main.files (path VARCHAR, size BIGINT, modified TIMESTAMP, content FILE)")
    for i in range(KILLS_PER_PHASE):
        (root / f"{i:03}.bin").write_bytes(seeded.randbytes(seeded.randrange(100_000)))
        killed(lake, phase, "file", "import", "main.files", root)
        lake.run("file", "import", "main.files", root)
    report = json.loads(lake.run("file", "verify", "main.files", "--json").stdout)
    assert (report["values"], report["failures"]) == (KILLS_PER_PHASE, [])
    paths = [row["path"] for row in json.loads(lake.sql("SELECT path FROM main.files ORDER BY path").stdout)]
    assert paths == sorted(path.name for path in root.iterdir())
    check_everything(lake)
    print(f"{KILLS_PER_PHASE} kills in {phase}")
