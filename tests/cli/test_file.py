"""`lake file import`, `get` and `verify`."""

import datetime
import hashlib
import json
import os
import socket
import subprocess
import threading
import time

import pytest

COLUMNS = "path VARCHAR, kind VARCHAR, size BIGINT, modified TIMESTAMP, content FILE"


@pytest.fixture
def folder(tmp_path):
    """A folder of files (nested, empty, oddly named, of several kinds) and what is in them."""
    root = tmp_path / "in put"
    (root / "sub" / "deep").mkdir(parents=True)
    contents = {
        "a.mp4": b"video" * 1000,
        "b.txt": b"text",
        "empty.bin": b"",
        "sub/c.PNG": os.urandom(3000),
        "sub/deep/ünïcode #1 %20.wav": os.urandom(100_000),
    }
    for name, content in contents.items():
        (root / name).write_bytes(content)
    return root, contents


def rows(lake, text):
    return json.loads(lake.sql(text).stdout)


def imported(lake, folder, table="main.files", **options):
    return json.loads(lake.run("file", "import", table, folder, "--json", **options).stdout)


def test_import_fills_the_columns(lake, folder):
    root, contents = folder
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
    modified = datetime.datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=datetime.timezone.utc)
    os.utime(root / "a.mp4", ns=(0, int(modified.timestamp()) * 10**9 + 123456789))
    result = imported(lake, root)
    assert result["files_imported"] == len(contents)
    assert result["bytes_imported"] == sum(map(len, contents.values()))
    found = rows(lake, "SELECT path, kind, size, modified, content FROM main.files ORDER BY path")
    assert [row["path"] for row in found] == sorted(contents, key=lambda name: name.encode())
    kinds = {row["path"]: row["kind"] for row in found}
    assert kinds["a.mp4"] == "video"
    assert kinds["b.txt"] == "text"
    assert kinds["sub/c.PNG"] == "image"
    assert kinds["empty.bin"] == "application"
    assert found[0]["modified"] == "2024-05-01 12:00:00.123456"
    for row in found:
        content = contents[row["path"]]
        assert row["size"] == row["content"]["size_bytes"] == len(content)
        assert row["content"]["sha256"] == hashlib.sha256(content).hexdigest()


def test_missing_columns_are_skipped_and_others_must_be_nullable(lake, folder):
    root, contents = folder
    lake.sql("CREATE TABLE main.few (path VARCHAR, content FILE, note VARCHAR)")
    assert imported(lake, root, "main.few")["files_imported"] == len(contents)
    assert rows(lake, "SELECT count(*) AS n FROM main.few WHERE note IS NULL") == [{"n": len(contents)}]
    lake.sql("CREATE TABLE main.strict (path VARCHAR, content FILE, note VARCHAR NOT NULL)")
    assert "note" in lake.run("file", "import", "main.strict", root, exit_code=1).stderr
    assert rows(lake, "SELECT count(*) AS n FROM main.strict") == [{"n": 0}]


def test_a_rerun_imports_only_what_is_new_or_changed(lake, folder):
    root, contents = folder
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
    imported(lake, root)
    again = imported(lake, root)
    assert (again["files_imported"], again["files_unchanged"], again["commits"]) == (0, len(contents), 0)
    (root / "new.bin").write_bytes(b"new")
    (root / "b.txt").write_bytes(b"changed text")
    again = imported(lake, root)
    assert (again["files_imported"], again["files_unchanged"]) == (2, len(contents) - 1)


def test_links_devices_and_odd_names_are_reported_and_the_rest_imported(lake, folder):
    root, contents = folder
    (root / "link").symlink_to("a.mp4")
    (root / "folder link").symlink_to("sub")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(root / "socket"))
        (root / os.fsdecode(b"bad\xff.bin")).write_bytes(b"x")
        lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
        result = lake.run("file", "import", "main.files", root, "--json", exit_code=1)
    report = json.loads(result.stdout)
    assert report["files_imported"] == len(contents)
    assert report["problems"] == 5
    for name in ("link", "folder link", "fifo", "socket", "bad\\xFF.bin"):
        assert any(line.startswith(f"lake: not imported: {name}: ") for line in result.stderr.splitlines()), name


def test_import_commits_in_pieces(lake, tmp_path):
    root = tmp_path / "many"
    root.mkdir()
    for i in range(2100):
        (root / f"{i:05}.txt").write_bytes(str(i).encode())
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
    result = imported(lake, root)
    assert (result["files_imported"], result["commits"]) == (2100, 3)


def test_a_file_that_changes_while_it_is_read_is_an_error_for_that_file(lake, tmp_path):
    root = tmp_path / "growing"
    root.mkdir()
    (root / "steady.bin").write_bytes(b"steady")
    growing = root / "growing.bin"
    growing.write_bytes(os.urandom(1 << 20) * 64)
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
    stop = threading.Event()

    def keep_growing():
        while not stop.is_set():
            with growing.open("ab") as file:
                file.write(b"more")
            time.sleep(0.001)

    thread = threading.Thread(target=keep_growing)
    thread.start()
    try:
        result = lake.run("file", "import", "main.files", root, exit_code=1)
    finally:
        stop.set()
        thread.join()
    assert "growing.bin" in result.stderr
    assert "changed" in result.stderr
    assert rows(lake, "SELECT path FROM main.files") == [{"path": "steady.bin"}]


def test_a_folder_that_holds_or_lies_in_the_data_folder_is_refused(lake):
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
    for folder in (lake.data_dir, lake.data_dir.parent, lake.data_dir / "managed-objects"):
        assert "data folder" in lake.run("file", "import", "main.files", folder, exit_code=1).stderr
    lake.run("file", "import", "main.files", lake.data_dir.parent / "missing", exit_code=1)


def test_get_whole_and_by_range(lake, folder, tmp_path):
    root, contents = folder
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
    imported(lake, root)
    get = ["file", "get", "main.files", "--column", "content", "--where"]
    for name, content in contents.items():
        out = tmp_path / "out"
        quoted = name.replace("'", "''")
        assert "verified" in lake.run(*get, f"path = '{quoted}'", "-o", out).stdout
        assert out.read_bytes() == content
    name = "sub/c.PNG"
    piped = lake.run(*get, f"path = '{name}'", "-o", "-", text=False).stdout
    assert piped == contents[name]
    piped = lake.run(*get, f"path = '{name}'", "-o", "-", "--range", "10..20", text=False).stdout
    assert piped == contents[name][10:20]
    for bad in ("20..10", "10..10", "0..999999", "10", "a..b"):
        assert lake.run(*get, f"path = '{name}'", "-o", tmp_path / "bad", "--range", bad, exit_code=None).returncode in (1, 2)
        assert not (tmp_path / "bad").exists()


def test_get_needs_one_row_and_a_file_column(lake, folder, tmp_path):
    root, _ = folder
    lake.sql(f"CREATE TABLE main.files ({COLUMNS}); INSERT INTO main.files (path) VALUES ('nothing')")
    imported(lake, root)
    get = ["file", "get", "main.files", "-o", tmp_path / "out"]
    for column, where in [("content", "true"), ("content", "path = 'absent'"), ("content", "path = 'nothing'"),
                          ("size", "path = 'b.txt'"), ("content", "path = 'b.txt'); DROP TABLE main.files; --"),
                          ("absent", "path = 'b.txt'")]:
        lake.run(*get, "--column", column, "--where", where, exit_code=1)
        assert not (tmp_path / "out").exists()
    assert rows(lake, "SELECT count(*) AS n FROM main.files") == [{"n": 6}]


def damaged_object(lake, where):
    uri = rows(lake, f"SELECT content.uri AS uri FROM main.files WHERE {where}")[0]["uri"]
    path = next((lake.data_dir / "managed-objects").rglob(uri.rsplit("/", 1)[1]))
    path.chmod(0o600)
    return path


def test_a_flipped_byte_a_cut_and_an_addition_are_found(lake, folder, tmp_path):
    root, contents = folder
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
    imported(lake, root)
    assert json.loads(lake.run("file", "verify", "main.files", "--json").stdout)["failures"] == []
    where = "path = 'sub/c.PNG'"
    path = damaged_object(lake, where)
    whole = path.read_bytes()
    for damaged in (bytes([whole[0] ^ 1]) + whole[1:], whole[:-1], whole + b"x"):
        path.write_bytes(damaged)
        result = lake.run("file", "get", "main.files", "--column", "content", "--where", where,
                          "-o", tmp_path / "out", exit_code=1)
        assert result.stderr.startswith("lake: ")
        assert not (tmp_path / "out").exists()
        report = lake.run("file", "verify", "main.files", "--json", exit_code=1)
        assert [failure["column"] for failure in json.loads(report.stdout)["failures"]] == ["content"]
    path.unlink()
    lake.run("file", "verify", "main.files", exit_code=1)


def test_a_data_folder_moved_to_an_odd_path_verifies(lake, folder):
    root, contents = folder
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
    imported(lake, root)
    moved = lake.data_dir.parent / "über 100%25 #1 moved"
    lake.data_dir.rename(moved)
    lake.data_dir = moved
    assert json.loads(lake.run("file", "verify", "main.files", "--json").stdout)["values"] == len(contents)
    (root / "late.txt").write_bytes(b"late")
    assert imported(lake, root)["files_imported"] == 1
    copy = moved.parent / "copy of it"
    subprocess.run(["cp", "-a", moved, copy], check=True)
    lake.data_dir = copy
    assert json.loads(lake.run("file", "verify", "main.files", "--json").stdout)["values"] == len(contents) + 1


def test_objects_are_read_only_and_folders_private(lake, folder):
    root, _ = folder
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
    imported(lake, root)
    for path in (lake.data_dir / "managed-objects").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o400), path


def test_a_sparse_file_over_4_gib_works(lake, tmp_path):
    root = tmp_path / "large"
    root.mkdir()
    with (root / "large.bin").open("wb") as file:
        file.truncate((4 << 30) + 4096)
        file.seek(4 << 30)
        file.write(b"end")
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")
    try:
        assert imported(lake, root, timeout=600)["bytes_imported"] == (4 << 30) + 4096
        piped = lake.run("file", "get", "main.files", "--column", "content", "--where", "true", "-o", "-",
                         "--range", f"{4 << 30}..{(4 << 30) + 3}", text=False).stdout
        assert piped == b"end"
    finally:
        for path in (lake.data_dir / "managed-objects").rglob("*-*"):
            path.unlink()


def test_the_import_of_a_large_file_keeps_to_a_small_budget(lake, tmp_path):
    """512 MiB under a budget of 64 MiB: the memory of the process, read from the system, beside that of one which does nothing."""
    root = tmp_path / "large"
    root.mkdir()
    with (root / "large.bin").open("wb") as file:
        file.truncate(512 << 20)
    lake.sql(f"CREATE TABLE main.files ({COLUMNS})")

    def peak(*arguments):
        process = subprocess.Popen(lake.command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_maxrss << 10

    base = peak("table", "list")
    used = peak("--memory-limit", "64 MiB", "file", "import", "main.files", root)
    print(f"peak {used >> 20} MiB, {base >> 20} MiB of it without an import")
    assert used - base < 64 << 20
    verified = peak("--memory-limit", "64 MiB", "file", "verify", "main.files")
    assert verified - base < 64 << 20
