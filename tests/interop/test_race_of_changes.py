"""Four lake and four upstream processes append, delete, update, merge and compact one table at the same moment.

Each process works its change out (upstream: as far as it lets itself be stopped) and waits for the others, so that all begin on
the same version and the commits meet. Each answers what became of its change. A model then does the changes that were done in the
order of their versions: both readers must show exactly that, so an acknowledged change is there once and a refused one is not.
A change whose fate its writer does not know is the one behind a version that nobody else claims, or nothing.

Upstream's indices, made before and during the race, must find what a plain scan finds: that tells whether the commits of both
kept them right. In the end upstream validates, takes, compacts, optimizes and cleans up, lake verifies, and both read the same.
"""

import collections
import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import lance
import numpy as np
import pyarrow as pa
import pytest
from conftest import BUILD_DIR, LONG_FORMS

RACE = BUILD_DIR / "bin/lake_interop_race"
UPSTREAM = pathlib.Path(__file__).with_name("race_upstream.py")
WRITERS_OF_EACH = 4
# For each of the two kinds of tables.
ROUNDS = int(os.environ.get("LAKE_TEST_ROUNDS", "500" if LONG_FORMS else "60"))
CHECKS_INDICES_EVERY = 10
PRIMES = np.array([3, 7, 13, 31, 43, 59, 71, 97])
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("kind", pa.string()), ("vec", pa.list_(pa.float32(), 8))])


@pytest.fixture
def chance():
    seed = int(os.environ.get("LAKE_TEST_SEED", random.SystemRandom().getrandbits(32)))
    print(f"seed {seed}: LAKE_TEST_SEED={seed} repeats the choices")
    return random.Random(seed)


def vector(seed):
    return ((seed * PRIMES) % 251).astype(np.float32)


def rows(model):
    """The model, id -> (v, kind, seed of vec), as a table in the order of ids."""
    ids = sorted(model)
    vectors = np.concatenate([vector(model[i][2]) for i in ids]) if ids else np.array([], np.float32)
    return pa.table([pa.array(ids, pa.int64()), pa.array([model[i][0] for i in ids], pa.int64()), pa.array([model[i][1] for i in ids]),
                     pa.FixedSizeListArray.from_arrays(pa.array(vectors), 8)], schema=SCHEMA)


class Writer:
    def __init__(self, kind, command):
        self.kind = kind
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def send(self, *parts):
        self.process.stdin.write("\t".join(map(str, parts)) + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline().rstrip("\n")
        assert line, f"a writer of {self.kind} is gone: {self.process.poll()}"
        return line


class Change:
    """What one writer does in one round, on the table and on the model."""

    def __init__(self, step, arguments, source=None, ids=(), delta=0, kind=""):
        self.step, self.arguments = step, arguments
        self.source, self.ids, self.delta, self.kind = source, ids, delta, kind

    def apply(self, model):
        """Changes the model; the rows deleted, updated and inserted."""
        present = [i for i in (self.source or self.ids) if i in model]
        if self.step == "append":
            assert not present
            model.update(self.source)
            return 0, 0, len(self.source)
        if self.step == "delete":
            for i in present:
                del model[i]
            return len(present), 0, 0
        if self.step == "update":
            for i in present:
                model[i] = (model[i][0] + self.delta, self.kind, model[i][2])
            return 0, len(present), 0
        if self.step == "merge":
            model.update(self.source)
            return 0, len(present), len(self.source) - len(present)
        return 0, 0, 0


OPERATIONS = {"append": {"append"}, "delete": {"delete"}, "update": {"update"}, "merge": {"update", "append"}}


class Race:
    def __init__(self, lake, folder, chance, stable):
        self.lake, self.folder, self.chance = lake, folder, chance
        self.streams = 0
        self.fresh = 10_000
        self.outcomes = collections.Counter()
        lake.sql("CREATE TABLE main.t (id BIGINT)")
        described = json.loads(lake.run("table", "describe", "main.t", "--json").stdout)
        self.path = described["location"]
        shutil.rmtree(self.path)
        self.model = {i: (i * 10, f"k{i % 5}", i) for i in range(400)}
        lance.write_dataset(rows(self.model), self.path, max_rows_per_file=50, enable_stable_row_ids=stable)
        dataset = self.dataset()
        # With lake's mark upstream's table is lake's.
        dataset.update_metadata({"lake.incarnation": described["incarnation"]})
        dataset.create_scalar_index("id", "BTREE")
        dataset.create_scalar_index("kind", "BITMAP")
        dataset.create_scalar_index("v", "BTREE")
        dataset.create_index("vec", "IVF_FLAT", num_partitions=4)
        commands = {"lake": [RACE, lake.data_dir, "t"], "upstream": [sys.executable, UPSTREAM, self.path]}
        self.writers = [Writer(kind, command) for kind, command in commands.items() for _ in range(WRITERS_OF_EACH)]
        self.version = self.dataset().version

    def dataset(self, **options):
        return lance.dataset(self.path, **options)

    def stream(self, source):
        self.streams += 1
        path = self.folder / f"{self.streams}.arrow"
        table = rows(source)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return path

    def new_rows(self, most):
        source = {}
        for _ in range(self.chance.randrange(1, most + 1)):
            source[self.fresh] = (self.fresh, f"k{self.fresh % 5}", self.fresh)
            self.fresh += 1
        return source

    def choose(self, writer, hot):
        """A change by `writer`; rows of `hot` are for all, so that changes of the same row meet."""
        kinds = ["append"] * 5 + ["delete"] * 4 + ["update"] * 5 + ["merge"] * 4 + ["compact"] * 2
        step = self.chance.choice(kinds + (["index"] if writer.kind == "upstream" else []))
        some = self.chance.sample(sorted(self.model), min(len(self.model), 3))
        ids = sorted({*some, *(i for i in hot if self.chance.random() < 0.4)})
        # No row is deleted by one and merged by another: merged behind the deletion it would be added, and, as in any snapshot
        # isolation, an update that was worked out in between need not see it.
        if step in ("delete", "merge"):
            ids = [i for i in ids if i % 2 == (step == "merge")] or [next(i for i in sorted(self.model) if i % 2 == (step == "merge"))]
        listed = ",".join(map(str, ids))
        if step == "append":
            source = self.new_rows(8)
            return Change(step, [self.stream(source)], source=source)
        if step == "merge":
            source = {i: (self.chance.randrange(10**6), "merged", i + 1) for i in ids} | self.new_rows(3)
            return Change(step, [self.stream(source)], source=source)
        if step == "delete":
            return Change(step, [listed], ids=ids)
        if step == "update":
            delta, kind = self.chance.randrange(1, 10**6), self.chance.choice(["k1", "k3", "updated"])
            return Change(step, [listed, delta, kind], ids=ids, delta=delta, kind=kind)
        if step == "compact":
            return Change(step, [self.chance.choice([60, 200, 2000])])
        return Change(step, self.chance.choice([("id", "BTREE"), ("kind", "BITMAP"), ("v", "BTREE"), ("vec", "IVF_FLAT"),
                                                ("", "update"), ("", "update")]))

    def round(self):
        """True if an attempt of lake's lost."""
        hot = self.chance.sample(sorted(self.model), 6)
        changes = [self.choose(writer, hot) for writer in self.writers]
        for writer, change in zip(self.writers, changes):
            writer.send(change.step, *change.arguments)
        answers = [writer.answer() for writer in self.writers]
        waiting = [writer for writer, answer in zip(self.writers, answers) if answer == "ready"]
        for writer in waiting:
            writer.send("go")
        answers = [writer.answer() if answer == "ready" else answer for writer, answer in zip(self.writers, answers)]
        done, unknown, lost = [], [], 0
        for writer, change, answer in zip(self.writers, changes, answers):
            outcome, *parts = answer.split(" ")
            self.outcomes[f"{writer.kind} {outcome}"] += 1
            if outcome == "done":
                version, *counts = map(int, parts)
                # The version of an index or a compaction says nothing of rows.
                if version and change.step not in ("compact", "index"):
                    done.append((version, writer.kind, change, tuple(counts[:3])))
                if writer.kind == "lake":
                    lost += counts[3]
                elif version > self.version + 1:
                    self.outcomes["upstream behind others"] += 1
            else:
                print(f"{writer.kind}: {change.step} {change.arguments}: {answer[:300]}")
                assert outcome in ("failed", "unknown") and (writer.kind == "upstream" or outcome == "unknown" or change.step == "compact"), \
                    "nothing of lake's gives up here"
                if change.step in OPERATIONS and (outcome == "unknown" or not definite(answer)):
                    unknown.append((writer.kind, change))
        self.replay(done, unknown)
        return lost > 0

    def replay(self, done, unknown):
        """Does on the model what was done, in the order of versions."""
        dataset = self.dataset()
        claimed = {version for version, *_ in done}
        assert len(claimed) == len(done), f"two writers were told the same version: {sorted(v for v, *_ in done)}"
        made = self.operations()
        assert list(made) == list(range(self.version + 1, dataset.version + 1))
        for version, kind, change, _ in done:
            assert made[version] in OPERATIONS[change.step], (version, made, kind, change.step)
        free = [version for version, operation in made.items()
                if version not in claimed and operation not in ("reserve_fragments", "rewrite", "create_index")]
        for kind, change in unknown:
            match = next((version for version in free if made[version] in OPERATIONS[change.step]), None)
            if match is not None:
                free.remove(match)
                done.append((match, kind, change, None))
        assert not free, f"versions that nobody made: {free} of {made}, claimed {sorted(claimed)}"
        for version, kind, change, counts in sorted(done, key=lambda entry: entry[0]):
            expected = change.apply(self.model)
            assert counts in (None, expected), f"{kind}: {change.step} {change.arguments} in version {version}: {counts}, not {expected}"
        self.version = dataset.version

    def operations(self):
        """What made each version of this round."""
        self.writers[0].send("versions", self.version + 1)
        _, *parts = self.writers[0].answer().split()
        return dict(zip(map(int, parts[::2]), parts[1::2]))

    def lake_scan(self):
        path = self.folder / "scan.arrow"
        self.writers[0].send("scan", path)
        assert self.writers[0].answer().split()[:2] == ["done", str(self.version)]
        return pa.ipc.open_stream(pa.OSFile(str(path))).read_all()

    def check_rows(self):
        expected = rows(self.model)
        for name, table in (("upstream", self.dataset().to_table()), ("lake", self.lake_scan())):
            table = table.sort_by("id")
            if not table.equals(expected):
                ids = table["id"].to_pylist()
                assert ids == expected["id"].to_pylist(), (name, sorted(set(ids) ^ set(self.model)),
                                                           [i for i, n in collections.Counter(ids).items() if n > 1])
                for column in table.column_names:
                    assert table[column].equals(expected[column]), (name, column)

    def check_indices(self):
        dataset = self.dataset()
        some = self.chance.sample(sorted(self.model), 8)
        values = sorted(self.model[i][0] for i in some)
        predicates = [f"id = {some[0]}", f"id IN ({', '.join(map(str, some))})", f"id >= {min(some[:2])} AND id < {max(some[:2])}",
                      "id >= 10000", "kind = 'k3'", "kind IN ('merged', 'updated')", f"v >= {values[1]} AND v <= {values[-2]}",
                      f"v = {values[3]}", f"kind = 'merged' AND id > {some[1]}"]
        for predicate in predicates:
            with_index = dataset.to_table(columns=["id", "v", "kind"], filter=predicate).sort_by("id")
            plain = dataset.scanner(columns=["id", "v", "kind"], filter=predicate, use_scalar_index=False).to_table().sort_by("id")
            assert with_index.equals(plain), (predicate, set(with_index["id"].to_pylist()) ^ set(plain["id"].to_pylist()),
                                              dataset.list_indices())
            assert dataset.count_rows(predicate) == plain.num_rows, predicate
        for i in some[:3]:
            query = vector(self.model[i][2] + 1)
            nearest = {"column": "vec", "q": query, "k": 15, "nprobes": 4}
            found = dataset.to_table(columns=["id", "vec", "_distance"], nearest=nearest)
            plain = dataset.to_table(columns=["id", "vec", "_distance"], nearest={**nearest, "use_index": False})
            assert found["_distance"].to_pylist() == plain["_distance"].to_pylist()
            for row in found.to_pylist():
                assert row["vec"] == vector(self.model[row["id"]][2]).tolist()
                assert row["_distance"] == float(((vector(self.model[row["id"]][2]) - query) ** 2).sum())
            assert len(set(found["id"].to_pylist())) == len(found)

    def close(self):
        for writer in self.writers:
            writer.process.stdin.close()
        for writer in self.writers:
            writer.process.wait(timeout=60)

    def end(self):
        """Upstream and lake go on with the result."""
        dataset = self.dataset()
        dataset.validate()
        table = dataset.to_table()
        picks = self.chance.choices(range(table.num_rows), k=50)
        assert dataset.take(picks).equals(table.take(picks))
        verify(self.lake)
        dataset.optimize.compact_files(target_rows_per_fragment=300)
        self.dataset().optimize.optimize_indices()
        self.check_indices()
        self.lake.run("table", "compact", "main.t", "--quiet")
        self.dataset().validate()
        self.check_indices()
        self.dataset().optimize.optimize_indices()
        self.dataset().cleanup_old_versions(datetime.timedelta(0), delete_unverified=True)
        verify(self.lake)
        self.lake.run("table", "cleanup", "main.t", "--older-than", "0", "--superseded-for", "0", "--replay-retention", "0",
                      "--delete-unverified", "--quiet")
        verify(self.lake)
        self.check_indices()
        assert self.dataset().to_table().sort_by("id").equals(rows(self.model))
        sums = json.loads(self.lake.sql("SELECT count(*) AS n, sum(v)::BIGINT AS v, count(DISTINCT id) AS ids FROM main.t").stdout)
        assert sums == [{"n": len(self.model), "v": sum(v for v, *_ in self.model.values()), "ids": len(self.model)}]


def definite(answer):
    """Upstream says that its change will never be seen."""
    return any(word in answer for word in ("conflict", "Conflict", "retry", "preempted", "concurrent"))


def verify(lake):
    report = json.loads(lake.run("table", "verify", "main.t", "--data", "--json", "--quiet", exit_code=None).stdout)
    assert (report["errors"], report["warnings"]) == (0, 0), report["findings"]


@pytest.mark.parametrize("stable", [False, True], ids=["plain", "stable"])
def test_nothing_is_lost_or_doubled(lake, tmp_path, chance, stable):
    race = Race(lake, tmp_path, chance, stable)
    rounds_with_losers = 0
    began = time.monotonic()
    try:
        for number in range(ROUNDS):
            rounds_with_losers += race.round()
            race.check_rows()
            if number % CHECKS_INDICES_EVERY == CHECKS_INDICES_EVERY - 1:
                race.check_indices()
    finally:
        race.close()
    print(f"rounds {ROUNDS}, of which lake lost attempts in {rounds_with_losers}, outcomes {dict(sorted(race.outcomes.items()))}, "
          f"{race.version} versions, {len(race.model)} rows, {time.monotonic() - began:.0f} s")
    assert rounds_with_losers >= 0.3 * ROUNDS
    race.end()
