"""Four lake and four upstream processes append to one table at the same moment, round after round.

Each process writes its data file first and then waits for the others, so that the commits meet. It logs every
outcome before it begins the next round; afterwards both readers must find exactly the rows whose writers were
told "done", each once.
"""

import collections
import subprocess
import sys
import time

import lance
import pyarrow as pa
from conftest import BUILD_DIR, LONG_FORMS
from test_table import Lake

TABLE = BUILD_DIR / "bin/lake_interop_table"
WRITERS_OF_EACH = 4
ROUNDS = 500 if LONG_FORMS else 100

UPSTREAM = """
import sys, lance, pyarrow as pa
path = sys.argv[1]
fragments = read_version = None
for line in sys.stdin:
    if line.startswith("prepare "):
        table = pa.table({"id": pa.array([int(line.split()[1])], pa.int64())})
        fragments = lance.fragment.write_fragments(table, path, mode="append")
        read_version = lance.dataset(path).version
        print("ready", flush=True)
    else:
        try:
            dataset = lance.LanceDataset.commit(path, lance.LanceOperation.Append(fragments), read_version=read_version,
                                                max_retries=100)
            print("done", dataset.version, flush=True)
        except Exception as error:
            print("failed", str(error).replace("\\n", " "), flush=True)
"""


class Writer:
    def __init__(self, name, command, log):
        self.name = name
        self.log = log
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().split()


def test_nothing_is_lost_or_doubled(tmp_path):
    lake = Lake(tmp_path / "table.lance")
    lake.create(pa.table({"id": pa.array([], pa.int64())}))
    commands = [("lake", [TABLE, "race", lake.path]), ("upstream", [sys.executable, "-c", UPSTREAM, lake.path])]
    writers = [Writer(f"{kind} {i}", command, []) for kind, command in commands for i in range(WRITERS_OF_EACH)]
    rounds_with_losers = 0
    began = time.monotonic()
    try:
        for number in range(ROUNDS):
            for i, writer in enumerate(writers):
                writer.id = number * len(writers) + i
                writer.send(f"prepare {writer.id}")
            for writer in writers:
                assert writer.answer() == ["ready"], writer.name
            for writer in writers:
                writer.send("commit")
            lost = 0
            for writer in writers:
                outcome = writer.answer()
                # The log of the writer: operation, rows, outcome.
                writer.log.append(("append", [writer.id], outcome))
                lost += int(outcome[2]) if outcome[0] == "done" and len(outcome) > 2 else 0
            rounds_with_losers += lost > 0
    finally:
        for writer in writers:
            writer.process.stdin.close()
        for writer in writers:
            writer.process.wait(timeout=60)

    outcomes = collections.Counter()
    expected = collections.Counter()
    versions = []
    for writer in writers:
        for _, ids, outcome in writer.log:
            outcomes[(writer.name.split()[0], outcome[0])] += 1
            if outcome[0] == "done":
                expected.update(ids)
                versions.append(int(outcome[1]))
            else:
                print(writer.name, ids, outcome)
    print(f"rounds {ROUNDS}, with lost attempts {rounds_with_losers}, outcomes {dict(outcomes)}, "
          f"{time.monotonic() - began:.0f} s")
    assert rounds_with_losers >= 0.3 * ROUNDS
    # Nothing stands in the way of an append here, so nobody may have given up, and nothing is unclear.
    assert {outcome for _, outcome in outcomes} == {"done"}
    # Each commit is a version of its own.
    assert sorted(versions) == list(range(2, len(versions) + 2))
    assert collections.Counter(lake.scan()["id"].to_pylist()) == expected
    assert collections.Counter(lance.dataset(str(lake.path)).to_table()["id"].to_pylist()) == expected
    assert [version[0] for version in lake.versions()] == list(range(1, len(versions) + 2))
