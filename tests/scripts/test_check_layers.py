"""scripts/check-layers must notice each include that goes against the table."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

TABLE = """base:
storage: base
format: base storage
table: base storage format
commit: base storage format table
query: base table commit
"""
FILES = {
    "lake/base/error.h": "",
    "lake/storage/store.h": '#include "lake/base/error.h"\n',
    "lake/format/pages_internal.h": '#include "lake/format/file.pb.h"\n',
    "lake/format/file.proto": "",
    "lake/table/commit.h": '#include "lake/storage/store.h"\n#include "lake/format/pages_internal.h"\n',
    "lake/commit/loop.cc": '#include "lake/table/commit.h"\n',
    "lake/query/engine.cc": "#include <duckdb.hpp>\n",
    "lake/query/plan_internal.h": "#include <duckdb.hpp>\n",
}


def check(folder, name=None, text=None):
    files = dict(FILES)
    if name:
        files[name] = text
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    (folder / "scripts").mkdir()
    (folder / "scripts/layers.txt").write_text(TABLE)
    return subprocess.run([ROOT / "scripts/check-layers", folder], capture_output=True, text=True, check=False)


def test_a_clean_tree_passes(tmp_path):
    result = check(tmp_path)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("name, text, message", [
    ("lake/base/up.cc", '#include "lake/storage/store.h"', "base may not include lake/storage/store.h"),
    ("lake/table/rows.cc", "auto kept = arrow::compute::Filter(batch, mask);", "may call Arrow's Filter"),
    ("lake/base/up_test.cc", '#include "lake/storage/store.h"', "base may not include"),
    ("lake/base/testing/up.h", '#include "lake/storage/store.h"', "base may not include"),
    ("lake/query/x.cc", '#include "lake/table/commit.h"', "only table and commit may include"),
    ("lake/commit/x.cc", "#include <duckdb.hpp>", "only lake/query may include"),
    ("lake/commit/x.cc", '#include "duckdb/main/config.hpp"', "only lake/query may include"),
    ("lake/query/x.h", "#include <duckdb.hpp>", "a public header must not include duckdb.hpp"),
    ("lake/storage/x.h", "#include <openssl/evp.h>", "a public header must not include openssl/evp.h"),
    ("lake/storage/x.h", "#include <sqlite3.h>", "a public header must not include sqlite3.h"),
    ("lake/format/x.h", '#include "lake/format/file.pb.h"', "a public header must not include"),
    ("lake/commit/x.cc", '#include "lake/format/pages_internal.h"', "internal to format"),
    ("lake/base/x.cc", '#include "lake/base/gone.h"', "does not exist"),
    ("lake/base/x.cc", '#include "error.h"', "is not a path from the source root"),
    ("lake/unknown/x.cc", "", "not in scripts/layers.txt"),
])
def test_each_offence_is_named(tmp_path, name, text, message):
    result = check(tmp_path, name, text + "\n")
    assert result.returncode == 1
    assert f"{name}:1: " in result.stdout and message in result.stdout
