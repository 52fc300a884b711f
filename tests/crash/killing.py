"""What the crash tests share: killing the program at a named place, and reading what it left.

A test build stops at the place that LAKE_TEST_KILL_AT names, by SIGKILL (lake/base/crash_point.h). The release build
has no such places; there the suite fails at once, rather than testing nothing.
"""

import collections
import json
import os
import random
import signal
import subprocess
import uuid

import lance
import pytest

from conftest import LONG_FORMS

KILLS_PER_PHASE = int(os.environ.get("LAKE_TEST_KILLS", "20"))
# For pairs of an operation and a phase, where several operations pass a phase.
KILLS_PER_PAIR = KILLS_PER_PHASE if LONG_FORMS else max(1, KILLS_PER_PHASE // 7)
# A start of the program takes longer than all else: between kills upstream reads, in this process, and lake only behind
# every so many.
LAKE_READS_EVERY = 1 if LONG_FORMS else 7

COMMIT_PHASES = ["data_written", "references_written", "transaction_written", "manifest_staged", "manifest_visible",
                 "manifest_synced"]
APPEND_PHASES = ["operation_recorded", *COMMIT_PHASES, "hint_published", "outcome_recorded"]
CREATE_PHASES = ["row_creating", "operation_recorded", *COMMIT_PHASES, "row_live", "outcome_recorded"]

# How often the program died in each phase in this run.
KILLED = collections.Counter()

# A clean-up that keeps nothing for its age.
NOW = ("--older-than", "0", "--superseded-for", "0", "--replay-retention", "0", "--quiet")


def uuid7(source):
    value = source.getrandbits(128) & ~(0xF << 76) | (7 << 76)
    return str(uuid.UUID(int=value & ~(0x3 << 62) | (0x2 << 62)))


@pytest.fixture
def seeded():
    seed = int(os.environ.get("LAKE_TEST_SEED", random.SystemRandom().getrandbits(32)))
    print(f"seed {seed}: LAKE_TEST_SEED={seed} repeats it")
    return random.Random(seed)


def killed(lake, phase, *arguments):
    """Runs a command that dies in `phase`."""
    result = subprocess.run(lake.command(*arguments), env={**os.environ, "LAKE_TEST_KILL_AT": phase},
                            capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == -signal.SIGKILL, f"{phase} was not passed: {result.returncode} {result.stderr}"
    KILLED[phase.partition(":")[0]] += 1


def location(lake, table):
    return json.loads(lake.run("table", "describe", table, "--json").stdout)["location"]


def values(lake, *tables):
    """The values of x in the tables, sorted, as lake sees them."""
    query = " UNION ALL ".join(f"SELECT x FROM {table}" for table in tables)
    return sorted(row["x"] for row in json.loads(lake.sql(query).stdout))


def values_upstream(path):
    """The values of x, sorted, as upstream sees them."""
    return sorted(lance.dataset(path).to_table()["x"].to_pylist())


def values_behind(lake, path, kill):
    """The values of main.t, which is at `path`, behind the kill of this number."""
    return values(lake, "main.t") if kill % LAKE_READS_EVERY == 0 else values_upstream(path)


def findings(lake, table="main.t"):
    """What `verify` finds; nothing but leftovers."""
    report = json.loads(lake.run("table", "verify", table, "--data", "--json", "--quiet").stdout)
    assert report["errors"] == 0 and report["warnings"] == 0, report
    return [finding["object"] for finding in report["findings"]]


def check(lake, path, expected):
    """`expected` are the values of main.t, for lake and for upstream; nothing is wrong with the table."""
    assert values(lake, "main.t") == sorted(expected)
    findings(lake)
    lance.dataset(path).validate()
    assert values_upstream(path) == sorted(expected)


def check_behind(lake, path, expected, kill):
    """The same behind the kill of this number."""
    if kill % LAKE_READS_EVERY == 0:
        check(lake, path, expected)
    else:
        assert values_upstream(path) == sorted(expected)
