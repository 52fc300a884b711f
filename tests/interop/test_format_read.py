"""lake's format reader reads what upstream wrote: every type, null pattern, row count and shape of values, at 2.1 and 2.2.

What must come out is an Arrow IPC stream that the writing process made of its input.
"""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import BUILD_DIR, ROOT
from type_table import READ_ONLY, TOO_NEW, TYPES, patterns

CHECK = BUILD_DIR / "bin/lake_interop_check"
CELLS = pathlib.Path(__file__).with_name("format_cells.py")
# A pylance of the time when version 2.2 was young; scripts/setup makes it.
OLD_PYTHON = pathlib.Path(os.environ.get("LAKE_OLD_LANCE_PYTHON", ROOT / ".deps/venv-lance4/bin/python"))


@functools.cache
def upstream(python):
    """The process of format_cells.py under that interpreter."""
    return subprocess.Popen([python, CELLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def upstream_writes(python, *request):
    """The files that upstream wrote as it was asked."""
    process = upstream(python)
    print(json.dumps([str(word) for word in request]), file=process.stdin, flush=True)
    files = []
    while (line := process.stdout.readline()).strip():
        files += line.split()
    if not line:
        upstream.cache_clear()
    assert line, f"upstream died writing {request}"
    return files


def check(folder, *arguments, python=sys.executable, options=()):
    """Has upstream write into `folder` and lake read it; returns the number of cells, all of them equal."""
    folder.mkdir()
    files = upstream_writes(python, folder, *arguments)
    result = subprocess.run([CHECK, *options, *files], capture_output=True, text=True, timeout=600, check=False)
    shutil.rmtree(folder)
    *texts, last = result.stdout.splitlines()
    print(*texts, last, sep="\n")
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr
    equal, cells = last.removeprefix("cells ").split("/")
    assert equal == cells
    return int(cells)


# 4096 rows fill every chunk to its end.
PATTERNS = [*patterns(), ("none", 4096, "random"), ("some", 4096, "few"), ("none", 4096, "runs")]


@pytest.mark.parametrize("pattern", PATTERNS, ids=["-".join(map(str, pattern)) for pattern in PATTERNS])
def test_lake_reads_every_cell(pattern, tmp_path):
    assert check(tmp_path / "cells", "cells", *pattern) == 2 * len(TYPES)


def test_lake_reads_columns_of_many_pages(tmp_path):
    assert check(tmp_path / "pages", "pages") == 14


def test_lake_reads_encodings_that_a_user_asks_for(tmp_path):
    assert check(tmp_path / "settings", "settings") > 1500


NESTED_PATTERNS = [("none", 5000, "random"), ("some", 5000, "random"), ("some", 5000, "few"), ("some", 5000, "runs"), ("none", 5000, "constant"), ("some", 1000, "constant"),
                   ("all", 1000, "random"), ("none", 1, "random"), ("all", 1, "random"), ("none", 1000, "few"), ("none", 0, "random")]


@pytest.mark.parametrize("pattern", NESTED_PATTERNS, ids=["-".join(map(str, pattern)) for pattern in NESTED_PATTERNS])
def test_lake_reads_nested_types(pattern, tmp_path):
    assert check(tmp_path / "nested", "nested", *pattern) == sum(2 if since == "2.1" else 1 for since, _ in READ_ONLY)


@pytest.mark.parametrize("pattern", NESTED_PATTERNS, ids=["-".join(map(str, pattern)) for pattern in NESTED_PATTERNS])
def test_lake_reads_version_20(pattern, tmp_path):
    assert check(tmp_path / "oldest", "oldest", *pattern) > len(TYPES) + 15


def test_lake_reads_encodings_of_nested_types_that_a_user_asks_for(tmp_path):
    assert check(tmp_path / "settings", "nested_settings") > 150


def test_of_version_2_3_lake_reads_what_is_laid_out_as_2_2(tmp_path, capsys):
    cells = check(tmp_path / "next", "next", options=("--refused", "not read"))
    assert cells == 5 * (len(TYPES) + len(READ_ONLY))
    refused = int(capsys.readouterr().out.split("refused ")[1].split()[0])
    # Sparse pages (nulls only, constants, wide lists) and the encodings that only 2.3 has.
    assert 0 < refused < cells / 2


def test_lake_reads_packed_structs_blobs_json_and_bfloat16(tmp_path):
    assert check(tmp_path / "stored", "stored") == 21


@pytest.mark.parametrize("pattern", [("none", 1000, "random"), ("some", 1000, "few"), ("some", 20_000, "runs"), ("all", 1000, "random"),
                                     ("none", 20_000, "few"), ("some", 20_000, "sorted"), ("none", 1, "random"), ("some", 20_000, "constant")],
                         ids=lambda pattern: "-".join(map(str, pattern)))
def test_lake_reads_every_cell_of_an_old_upstream(pattern, tmp_path):
    assert OLD_PYTHON.exists(), f"{OLD_PYTHON} is missing: run scripts/setup"
    assert check(tmp_path / "cells", "cells", *pattern, python=OLD_PYTHON) == 2 * (len(TYPES) - 1)


@pytest.mark.parametrize("pattern", [("some", 1000, "random"), ("some", 1000, "few"), ("none", 5000, "runs")], ids=lambda pattern: "-".join(map(str, pattern)))
def test_lake_reads_nested_types_of_an_old_upstream(pattern, tmp_path):
    assert OLD_PYTHON.exists(), f"{OLD_PYTHON} is missing: run scripts/setup"
    assert check(tmp_path / "nested", "nested", *pattern, python=OLD_PYTHON) == sum(
        2 if since == "2.1" else 1 for since, case in READ_ONLY if case.name not in TOO_NEW)
