"""Operations and their replays while upstream works on the same table, and a metastore that lost a day.

Lake is a program of its own (commit_main.cc), killed where LAKE_TEST_KILL_AT says; upstream is pylance in this process.
"""

import datetime
import os
import shutil
import signal
import subprocess
import uuid

import lance
import pyarrow as pa
import pytest
from conftest import BUILD_DIR

PROGRAM = BUILD_DIR / "bin/lake_interop_commit"
UNKNOWN = 3


def new_operation():
    value = uuid.uuid4().int & ~(0xF << 76) | (7 << 76)
    return str(uuid.UUID(int=value))


class Lakehouse:
    def __init__(self, data_dir):
        self.data_dir = data_dir

    def run(self, step, *arguments, exit_code=0, kill_at=None):
        environment = {**os.environ, "LAKE_TEST_KILL_AT": kill_at or ""}
        result = subprocess.run([PROGRAM, step, self.data_dir, *map(str, arguments)], capture_output=True, text=True,
                                timeout=120, check=False, env=environment)
        assert result.returncode == (-signal.SIGKILL if kill_at else exit_code), result.stderr
        return result.stderr if exit_code else result.stdout.strip()

    def write(self, step, name, values, *operation, **options):
        output = self.run(step, name, ",".join(map(str, values)), *operation, **options)
        if options:
            return output
        version, rows, replayed = map(int, output.split())
        return version, rows, bool(replayed)

    def append(self, values, *operation, **options):
        return self.write("append", "t", values, *operation, **options)

    def replay(self, values, operation, exit_code=0):
        return self.run("replay", ",".join(map(str, values)), operation, exit_code=exit_code)

    def read(self, *version, exit_code=0):
        output = self.run("read", "t", *version, exit_code=exit_code)
        return output if exit_code else [int(value) for value in output.split()]

    def upstream(self):
        return lance.dataset(self.run("location", "t"))


def upstream_append(dataset, values):
    return lance.write_dataset(pa.table({"x": pa.array(values, pa.int64())}), dataset.uri, mode="append")


def clean_up(dataset):
    """Keeps nothing but the newest version."""
    return dataset.cleanup_old_versions(older_than=datetime.timedelta(0), delete_unverified=True)


def check(lake, version, values):
    """Both readers see these values, each once."""
    seen = lake.read()
    assert (seen[0], sorted(seen[1:])) == (version, sorted(values))
    upstream = lake.upstream()
    assert (upstream.version, sorted(upstream.to_table()["x"].to_pylist())) == (version, sorted(values))


@pytest.fixture
def lake(tmp_path):
    lake = Lakehouse(tmp_path / "data")
    lake.write("create", "t", [1, 2])
    return lake


@pytest.mark.parametrize("phase", ["manifest_visible", "manifest_synced", "hint_published"])
def test_a_commit_that_happened_replays_as_the_first_outcome(lake, phase):
    operation = new_operation()
    lake.append([3, 4], operation, kill_at=phase)
    upstream_append(lake.upstream(), [5])
    assert lake.append([3, 4], operation) == (2, 2, True)
    assert lake.replay([3, 4], operation) == "2 2 1"
    check(lake, 3, [1, 2, 3, 4, 5])


@pytest.mark.parametrize("phase", ["operation_recorded", "data_written", "references_written", "transaction_written",
                                   "manifest_staged"])
def test_a_commit_that_did_not_happen_happens_at_the_replay(lake, phase):
    operation = new_operation()
    lake.append([3, 4], operation, kill_at=phase)
    check(lake, 1, [1, 2])
    assert "not_found" in lake.replay([3, 4], operation, exit_code=1)
    upstream_append(lake.upstream(), [5])
    assert lake.append([3, 4], operation) == (3, 2, False)
    assert lake.append([3, 4], operation) == (3, 2, True)
    check(lake, 3, [1, 2, 3, 4, 5])


def test_a_replay_after_upstreams_compaction(lake):
    done, lost = new_operation(), new_operation()
    lake.append([3], done, kill_at="manifest_visible")
    lake.append([4], lost, kill_at="data_written")
    lake.upstream().optimize.compact_files()
    before = lake.upstream().version
    assert lake.append([3], done) == (2, 1, True)
    version, rows, replayed = lake.append([4], lost)
    assert (version, rows, replayed) == (before + 1, 1, False)
    check(lake, version, [1, 2, 3, 4])


def test_a_replay_after_upstreams_clean_up_is_unknown_and_adds_nothing(lake):
    done, lost = new_operation(), new_operation()
    lake.append([3], done, kill_at="manifest_visible")
    lake.append([4], lost, kill_at="data_written")
    upstream_append(lake.upstream(), [5])
    upstream_append(lake.upstream(), [6])
    clean_up(lake.upstream())
    for values, operation in [([3], done), ([4], lost)]:
        for _ in range(2):
            assert operation in lake.append(values, operation, exit_code=UNKNOWN)
            assert operation in lake.replay(values, operation, exit_code=UNKNOWN)
    check(lake, 4, [1, 2, 3, 5, 6])


def test_a_recorded_outcome_outlives_upstreams_clean_up(lake):
    operation = new_operation()
    assert lake.append([3], operation) == (2, 1, False)
    upstream_append(lake.upstream(), [4])
    clean_up(lake.upstream())
    assert lake.append([3], operation) == (2, 1, True)
    check(lake, 3, [1, 2, 3, 4])


def test_a_fresh_commit_goes_on_over_a_tagged_version_and_a_cleaned_middle(lake):
    for value in range(3, 7):
        lake.append([value])
    upstream = lake.upstream()
    upstream.tags.create("keep", 2)
    upstream.cleanup_old_versions(older_than=datetime.timedelta(0), delete_unverified=True,
                                  error_if_tagged_old_versions=False)
    assert [version["version"] for version in lake.upstream().versions()] == [2, 5]
    operation = new_operation()
    assert lake.append([7], operation) == (6, 1, False)
    assert lake.append([7], operation) == (6, 1, True)
    assert lake.read(2) == [2, 1, 2, 3]
    assert "not_found" in lake.read(3, exit_code=1)
    check(lake, 6, range(1, 8))


def test_a_metastore_rolled_back_to_yesterday(lake, tmp_path):
    for name in ["metastore.db", "metastore.db-wal"]:
        if (lake.data_dir / name).exists():
            shutil.copy(lake.data_dir / name, tmp_path / name)
    for value in [3, 4, 5]:
        lake.append([value])
    for name in ["metastore.db", "metastore.db-wal", "metastore.db-shm"]:
        (lake.data_dir / name).unlink(missing_ok=True)
        if (tmp_path / name).exists():
            shutil.copy(tmp_path / name, lake.data_dir / name)
    check(lake, 4, [1, 2, 3, 4, 5])
    assert lake.append([6]) == (5, 1, False)
    check(lake, 5, [1, 2, 3, 4, 5, 6])


def test_a_table_that_upstream_changes_stays_ours(lake):
    upstream = lake.upstream()
    upstream.update_config({"owner": "upstream"})
    upstream.delete("x = 1")
    lake.append([3])
    check(lake, 4, [2, 3])
    overwritten = lance.write_dataset(pa.table({"x": pa.array([7], pa.int64())}), upstream.uri, mode="overwrite")
    check(lake, overwritten.version, [7])
    lake.append([8])
    check(lake, overwritten.version + 1, [7, 8])


def test_a_folder_that_upstream_made_anew_is_refused(lake):
    location = lake.run("location", "t")
    shutil.rmtree(location)
    assert "table_replaced" in lake.read(exit_code=1)
    lance.write_dataset(pa.table({"x": pa.array([7], pa.int64())}), location)
    assert "table_replaced" in lake.read(exit_code=1)
    assert "table_replaced" in lake.append([8], exit_code=1)
    assert lance.dataset(location).to_table()["x"].to_pylist() == [7]


@pytest.mark.parametrize("phase, exists", [("row_creating", False), ("data_written", False), ("manifest_staged", False),
                                           ("manifest_visible", True), ("manifest_synced", True), ("row_live", True)])
def test_a_killed_create_replays(tmp_path, phase, exists):
    lake = Lakehouse(tmp_path / "data")
    operation = new_operation()
    lake.write("create", "t", [1], operation, kill_at=phase)
    if exists:
        assert lake.write("create", "t", [1], operation) == (1, 1, True)
        check(lake, 1, [1])
    elif phase == "row_creating":
        # No record was written yet: to the metastore it is a new operation, on a name that is taken.
        assert "already_exists" in lake.write("create", "t", [1], operation, exit_code=1)
    else:
        assert "lease" in lake.write("create", "t", [1], operation, exit_code=UNKNOWN)


def test_files_of_a_killed_writer_are_leftovers_and_its_temporaries_are_swept(lake):
    lake.append([3], kill_at="data_written")
    # Whoever opens the folder next sweeps.
    (leftover,) = lake.run("leftovers").splitlines()
    assert leftover.startswith("tables/main/t/") and "possibly in use" in leftover
    assert list((lake.data_dir / "tmp").rglob("*")) == []
    check(lake, 1, [1, 2])
