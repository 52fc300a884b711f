"""Signals, missing rights, a full disk: the table stays as it was."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

SLOW_QUERY = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3"


def count(lake, table="main.t"):
    return json.loads(lake.sql(f"SELECT count(*) AS n FROM {table}").stdout)[0]["n"]


def temporaries(lake):
    return [path for path in (lake.data_dir / "tmp").rglob("*")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_cancels_and_removes_temporaries(lake, number):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    with subprocess.Popen(lake.command("sql", SLOW_QUERY), stderr=subprocess.PIPE, text=True) as process:
        time.sleep(1.0)
        process.send_signal(number)
        process.wait(timeout=15)
        assert process.returncode == 128 + number
        assert "cancelled" in process.stderr.read().lower()
    assert temporaries(lake) == []


def test_a_cancelled_insert_changes_nothing(lake):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    insert = f"INSERT INTO main.t {SLOW_QUERY.replace('count(*)', 'a.range')}"
    with subprocess.Popen(lake.command("sql", insert), stderr=subprocess.PIPE) as process:
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=15) == 128 + signal.SIGINT
    assert count(lake) == 0
    assert json.loads(lake.run("selftest", "--json").stdout)["leftovers"] == []


def test_missing_rights_are_an_error_that_names_the_place(lake_program, tmp_path):
    # Root may write everywhere, but for these capabilities.
    prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    command = [*prefix, str(lake_program), "--data-dir", str(folder / "data"), "sql", "SELECT 1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert result.returncode == 1
    assert str(folder / "data") in result.stderr
    assert "ermission denied" in result.stderr


@pytest.fixture
def small_disk(lake, tmp_path):
    """Gives the program a data folder on a file system of 32 MiB; yields the folder as this process sees it.

    Mounted in a namespace of the program's own, where an ordinary user may mount, too.
    """
    folder = tmp_path / "disk"
    folder.mkdir()
    ordinary = os.geteuid() != 0
    mount = ["unshare", *(["--user", "--map-root-user"] if ordinary else []), "--mount", "sh", "-c",
             'mount -t tmpfs -o size=32m tmpfs "$1" && echo mounted && read -r _', "sh", str(folder)]
    with subprocess.Popen(mount, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "mounted\n"
        lake.prefix = ["nsenter", f"--target={holder.pid}", "--mount",
                       *(["--user", "--preserve-credentials"] if ordinary else [])]
        lake.data_dir = folder / "data"
        yield pathlib.Path(f"/proc/{holder.pid}/root{folder}")


def test_a_full_disk_is_an_error_and_the_table_is_unchanged(lake, small_disk):
    lake.sql("CREATE TABLE main.t (x BIGINT, y VARCHAR); INSERT INTO main.t VALUES (1, 'a')")
    result = lake.sql("INSERT INTO main.t SELECT range, md5(range::VARCHAR) || sha256(range::VARCHAR) FROM range(2000000)",
                      exit_code=1)
    assert "space" in result.stderr.lower()
    assert count(lake) == 1
    lake.sql("INSERT INTO main.t VALUES (2, 'b')")
    assert count(lake) == 2
    assert (small_disk / "data").is_dir() and not (pathlib.Path(lake.data_dir)).exists()


def test_a_full_disk_stops_an_upload_and_leaves_nothing(lake, small_disk, tmp_path):
    lake.sql("CREATE TABLE main.t (f FILE)")
    big = tmp_path / "big.bin"
    big.write_bytes(os.urandom(1 << 20) * 64)
    result = lake.sql("INSERT INTO main.t VALUES (?)", f"file:{big}", exit_code=1)
    assert "space" in result.stderr.lower()
    assert count(lake) == 0
    assert [path for path in small_disk.rglob("*") if path.is_file() and path.stat().st_size > 1 << 20] == []


def test_temporaries_of_a_killed_process_are_swept_at_the_next_start(lake):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    with subprocess.Popen(lake.command("sql", SLOW_QUERY)) as process:
        deadline = time.monotonic() + 20
        while temporaries(lake) == [] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert temporaries(lake) != []
        process.kill()
    assert temporaries(lake) != []
    lake.sql("SELECT 1")
    assert temporaries(lake) == []
