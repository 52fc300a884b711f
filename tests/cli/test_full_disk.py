"""A disk without room, and writes that end short: an error that says so, the old version whole, and as soon as there is
room again the same command does its work.
"""

import os
import resource
import subprocess

import lance
import pytest

from killing import location
from operations import OPERATIONS, command, make_table, state_of
from test_bad_days import small_disk  # noqa: F401

# Free bytes on the disk, and the size at which files end: each stops the work at another place.
ROOM = [0, 4 << 10, 16 << 10, 48 << 10]
LIMITS = [1, 300, 3000, 20_000]

UPKEEP = {
    "compact": ["compact", "main.t", "--quiet"],
    "restore": ["restore", "main.t", "--version", "2"],
    "tag": ["tag", "create", "main.t", "new"],
    "move tag": ["tag", "move", "main.t", "kept", "--version", "2"],
    "delete tag": ["tag", "delete", "main.t", "kept"],
    "branch": ["branch", "create", "main.t", "new"],
    "delete branch": ["branch", "delete", "main.t", "line"],
    "clone": ["clone", "main.t", "main.c", "--quiet"],
    "copy": ["clone", "main.t", "main.c", "--copy", "--quiet"],
    "clean up": ["cleanup", "main.t", "--older-than", "0", "--superseded-for", "0", "--replay-retention", "0", "--quiet"],
}


class Disk:
    """A disk that can be filled up."""

    def __init__(self, folder):
        self.folder = folder
        self.filler = folder / "filler"

    def fill(self, room):
        with self.filler.open("wb", buffering=0) as file:
            block = b"x" * (1 << 20)
            while block:
                try:
                    file.write(block)
                except OSError:
                    block = block[:len(block) // 2]
        size = self.filler.stat().st_size
        os.truncate(self.filler, max(0, size - room))

    def free(self):
        self.filler.unlink()


def outside(small_disk, path):  # noqa: F811
    """A path of the program's, as this process sees it."""
    return str(small_disk).partition("/root")[0] + "/root" + path


def rows(path):
    return sorted(map(str, lance.dataset(path).to_table().to_pylist()))


def without_version(state):
    return {key: value for key, value in state.items() if key != "version"}


def check_whole(lake, path):
    """Nothing is wrong with the table, for lake and upstream; what is left of failed work can be removed."""
    lake.run("table", "verify", "main.t", "--data", "--quiet")
    lance.dataset(path).validate()


def end(path, before, after, result, what):
    """The state is what the exit code says."""
    assert result.returncode in (0, 1, 3), f"{what}: {result.returncode} {result.stderr}"
    state = without_version(state_of(path))
    if result.returncode == 1:
        assert any(word in result.stderr.lower() for word in ("space", "full", "too large", "disk i/o")), f"{what}: {result.stderr}"
        assert state == before, what
    elif result.returncode == 0:
        assert state == after, what
    else:
        assert state in (before, after), what
    return result.returncode


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_full_disk_fails_every_operation_and_spoils_none(lake, small_disk, tmp_path, name):  # noqa: F811
    disk = Disk(small_disk)
    path = outside(small_disk, make_table(lake, len(ROOM)))
    outcomes = []
    for i, room in enumerate(ROOM):
        before = state_of(path)
        after = without_version(OPERATIONS[name][1](before, i))
        before = without_version(before)
        run = command(name, i, tmp_path)
        disk.fill(room)
        result = lake.run(*run, exit_code=None)
        outcomes.append(end(path, before, after, result, f"{name} with {room} bytes free"))
        disk.free()
        check_whole(lake, path)
        if outcomes[-1] != 0 and without_version(state_of(path)) != after:
            lake.run(*run)
        assert without_version(state_of(path)) == after
    assert outcomes[0] == 1


def make_history(lake):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    for x in range(3):
        lake.sql(f"INSERT INTO main.t VALUES ({x})")
    lake.run("table", "tag", "create", "main.t", "kept")
    lake.run("table", "branch", "create", "main.t", "line")


@pytest.mark.parametrize("name", UPKEEP)
def test_a_full_disk_spoils_no_upkeep(lake, small_disk, name):  # noqa: F811
    make_history(lake)
    disk = Disk(small_disk)
    path = outside(small_disk, location(lake, "main.t"))
    whole = rows(path)
    restored = rows(path)[:1]
    disk.fill(0)
    result = lake.run("table", *UPKEEP[name], exit_code=None)
    disk.free()
    assert result.returncode in ((0, 1) if name in ("clean up", "delete tag", "delete branch") else (1,)), result.stderr
    assert rows(path) == whole
    check_whole(lake, path)
    if result.returncode == 1:
        lake.run("table", *UPKEEP[name])
    assert rows(path) == (restored if name == "restore" else whole)
    check_whole(lake, path)


def limited(lake, limit, *arguments):
    """Runs a command that can make no file larger than `limit`: the write that passes it ends short."""
    return subprocess.run(lake.command(*arguments), capture_output=True, text=True, check=False, timeout=120,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_short_writes_spoil_no_operation(lake, tmp_path, name):
    path = make_table(lake, len(LIMITS))
    for i, limit in enumerate(LIMITS):
        before = state_of(path)
        after = without_version(OPERATIONS[name][1](before, i))
        before = without_version(before)
        run = command(name, i, tmp_path)
        outcome = end(path, before, after, limited(lake, limit, *run), f"{name} with files of {limit} bytes")
        check_whole(lake, path)
        if outcome != 0 and without_version(state_of(path)) != after:
            lake.run(*run)
        assert without_version(state_of(path)) == after
    lake.run("table", "cleanup", "main.t", "--older-than", "0", "--superseded-for", "0", "--replay-retention", "0",
             "--delete-unverified", "--quiet")
    check_whole(lake, path)


@pytest.mark.parametrize("name", UPKEEP)
def test_short_writes_spoil_no_upkeep(lake, name):
    make_history(lake)
    path = location(lake, "main.t")
    whole = rows(path)
    restored = rows(path)[:1]
    done = False
    for limit in LIMITS:
        result = limited(lake, limit, "table", *UPKEEP[name])
        assert result.returncode in (0, 1, 3), result.stderr
        done |= result.returncode == 0
        assert rows(path) in ((whole, restored) if name == "restore" else (whole,))
        check_whole(lake, path)
        if done:
            break
    if not done:
        lake.run("table", *UPKEEP[name], exit_code=None)
    check_whole(lake, path)
