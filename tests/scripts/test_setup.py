"""scripts/setup on a tree of its own, with stand-ins for the programs that reach out."""

import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def archive(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return buffer.getvalue()


NPM = archive({"package/libduckdb.so": b"library", "package/LICENSE": b"licence"})
SDIST = archive({"duckdb-1.2.3/external/duckdb/src/include/duckdb.hpp": b"header"})


class Tree:
    def __init__(self, folder):
        self.folder = folder
        self.programs = folder / "programs"
        (folder / "scripts").mkdir()
        self.programs.mkdir()
        shutil.copy(ROOT / "scripts/setup", folder / "scripts/setup")
        self.pins()
        # Arrow is there already: no test here downloads a wheel.
        (folder / ".deps/arrow").mkdir(parents=True)
        (folder / ".deps/downloads").mkdir()
        (folder / ".deps/.arrow.stamp").write_text("pyarrow 1 aa")
        (folder / ".deps/downloads/duckdb-1.2.3.tar.gz").write_bytes(SDIST)
        self.program("npm", f"cp {folder}/npm.tgz some-name.tgz; echo called >> {folder}/npm.log")
        (folder / "npm.tgz").write_bytes(NPM)

    def pins(self, npm=NPM, package="bash"):
        rows = ["pip venv pyarrow 1 any aa", f"apt build {package} - any -",
                f"npm duckdb @scope/node-bindings 1.2.3-r.1 any {hashlib.sha256(npm).hexdigest()}",
                f"sdist duckdb duckdb 1.2.3 any {hashlib.sha256(SDIST).hexdigest()}"]
        (self.folder / "scripts/pins.txt").write_text("\n".join(rows) + "\n")

    def program(self, name, text):
        path = self.programs / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def setup(self, *parts):
        environment = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}"}
        return subprocess.run(["scripts/setup", *parts], cwd=self.folder, env=environment, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, check=False, timeout=60)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_unpacks_what_is_pinned_and_is_silent_afterwards(tree):
    first = tree.setup("build")
    assert first.returncode == 0, first.stderr
    assert "unpacking DuckDB 1.2.3" in first.stdout
    assert (tree.folder / ".deps/duckdb/lib/libduckdb.so").read_text() == "library"
    assert (tree.folder / ".deps/duckdb/include/duckdb.hpp").read_text() == "header"
    assert (tree.folder / ".deps/duckdb/VERSION").read_text() == "1.2.3\n"
    second = tree.setup("build")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_goes_on_where_it_was_interrupted(tree):
    assert tree.setup("build").returncode == 0
    # As if killed between unpacking and the stamp: the folder is made again, the archive is not fetched again.
    (tree.folder / ".deps/.duckdb.stamp").unlink()
    (tree.folder / ".deps/duckdb/lib/libduckdb.so").write_text("half")
    (tree.folder / ".deps/duckdb.new").mkdir()
    (tree.folder / ".deps/duckdb.new/rest").write_text("of the interrupted run")
    result = tree.setup("build")
    assert result.returncode == 0, result.stderr
    assert (tree.folder / ".deps/duckdb/lib/libduckdb.so").read_text() == "library"
    assert not (tree.folder / ".deps/duckdb/rest").exists()
    assert (tree.folder / "npm.log").read_text() == "called\n"


def test_another_pin_is_unpacked_anew(tree):
    assert tree.setup("build").returncode == 0
    other = archive({"package/libduckdb.so": b"other library", "package/LICENSE": b"licence"})
    (tree.folder / "npm.tgz").write_bytes(other)
    tree.pins(npm=other)
    result = tree.setup("build")
    assert result.returncode == 0, result.stderr
    assert (tree.folder / ".deps/duckdb/lib/libduckdb.so").read_text() == "other library"


def test_an_archive_with_another_digest_is_refused(tree):
    (tree.folder / "npm.tgz").write_bytes(b"something else")
    result = tree.setup("build")
    assert result.returncode == 1
    assert "has the SHA-256" in result.stderr and "but scripts/pins.txt says" in result.stderr
    assert not (tree.folder / ".deps/duckdb").exists()


def test_says_what_is_missing_without_the_rights_to_install(tree):
    tree.pins(package="no-such-package-of-debian")
    tree.program("id", "echo 1000")
    tree.program("sudo", "exit 1")
    result = tree.setup("build")
    assert result.returncode == 1
    assert "apt-get install --no-install-recommends no-such-package-of-debian" in result.stderr


def test_unknown_parts_are_refused(tree):
    result = tree.setup("everything")
    assert result.returncode == 1 and "unknown part 'everything'" in result.stderr
