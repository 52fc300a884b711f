"""Every operation that takes an id, killed in every phase: the old version stands whole or the new one does, as the phase
says, a replay by the id makes it the new one, `verify` finds what the dead left and clean-up removes it.

Upstream reads the table in this process, so that a kill costs two starts of the program.
"""

import sqlite3

import lance
import pytest

from killing import (APPEND_PHASES, CREATE_PHASES, KILLS_PER_PAIR, NOW, findings, killed, location, seeded,  # noqa: F401
                     uuid7)
from operations import OPERATIONS, command, fill, make_table, state_of

# From here on the new version is what everyone sees.
VISIBLE = APPEND_PHASES[APPEND_PHASES.index("manifest_visible"):]
# What dies here leaves files that no version names: of data, or at least of a transaction.
WITH_TRANSACTION = ["transaction_written", "manifest_staged"]
WITH_DATA = ["data_written", "references_written", *WITH_TRANSACTION]

@pytest.mark.parametrize("phase", APPEND_PHASES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_killed_operation_replays_to_one_outcome(lake, seeded, tmp_path, name, phase):  # noqa: F811
    _, apply, writes_data = OPERATIONS[name]
    path = make_table(lake, KILLS_PER_PAIR)
    for i in range(KILLS_PER_PAIR):
        if name == "truncate":
            fill(path)
        before = state_of(path)
        after = {**apply(before, i), "version": before["version"] + 1}
        run = [*command(name, i, tmp_path), "--operation-id", uuid7(seeded)]
        killed(lake, phase, *run)
        assert state_of(path) == (after if phase in VISIBLE else before)
        lake.run(*run)
        assert state_of(path) == after
    lake.run(*run)
    assert state_of(path) == after

    left = findings(lake)
    assert bool(left) == (phase in (WITH_DATA if writes_data else WITH_TRANSACTION)), left
    lake.run("table", "cleanup", "main.t", *NOW, "--delete-unverified")
    assert findings(lake) == []
    assert state_of(path) == after
    lance.dataset(path).validate()
    print(f"{KILLS_PER_PAIR} kills of {name} in {phase}")


@pytest.mark.parametrize("phase", ["manifest_visible", "outcome_recorded"])
def test_a_replay_needs_nothing_that_the_statement_read(lake, seeded, phase):  # noqa: F811
    lake.sql("CREATE TABLE main.t (x BIGINT); CREATE TABLE main.s AS SELECT 5::BIGINT AS x, 'a' AS y")
    for i in range(KILLS_PER_PAIR):
        run = ["sql", "INSERT INTO main.t SELECT x FROM main.s WHERE y = ?", "--param", "a",
               "--operation-id", uuid7(seeded)]
        killed(lake, phase, *run)
        lake.run("table", "drop", "main.s")
        lake.run(*run)
        assert lance.dataset(location(lake, "main.t")).to_table().to_pylist() == [{"x": 5}] * (i + 1)
        # With another input it is another operation, which cannot run.
        run[3] = "b"
        assert "name s" in lake.run(*run, exit_code=1).stderr
        lake.run("table", "undrop", "main.s")


def end_leases(lake):
    """As if the time of all leases had passed."""
    metastore = sqlite3.connect(lake.data_dir / "metastore.db")
    with metastore:
        metastore.execute("UPDATE entries SET lease_expires_nanos = 1 WHERE state = 'creating'")
    metastore.close()


@pytest.mark.parametrize("phase", [phase for phase in CREATE_PHASES if phase != "row_creating"])
def test_a_killed_create_is_resolved_by_its_id(lake, seeded, phase):  # noqa: F811
    lake.sql("SELECT 1")
    for i in range(KILLS_PER_PAIR):
        run = ["sql", f"CREATE TABLE main.t{i} AS SELECT {i} AS x", "--operation-id", uuid7(seeded)]
        killed(lake, phase, *run)
        if CREATE_PHASES.index(phase) < CREATE_PHASES.index("manifest_visible"):
            # Its owner may still be at work, for all that anyone can tell.
            assert run[-1] in lake.run(*run, exit_code=3).stderr
            end_leases(lake)
        lake.run(*run)
        lake.run(*run)
        dataset = lance.dataset(location(lake, f"main.t{i}"))
        assert (dataset.to_table().to_pylist(), dataset.version) == ([{"x": i}], 1)
    assert lake.run("table", "list").stdout.split() == sorted(f"main.t{i}" for i in range(KILLS_PER_PAIR))
    print(f"{KILLS_PER_PAIR} kills of create in {phase}")
