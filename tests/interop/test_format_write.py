"""Upstream reads what lake's format writer wrote: every type, null pattern, row count and shape of values."""

import os
import pathlib
import random
import subprocess
import sys

import lance.file
import pyarrow as pa
import pytest
from conftest import BUILD_DIR, LONG_FORMS, ROOT
from type_table import TYPES, column, compare, difference, patterns, tables

WRITE = BUILD_DIR / "bin/lake_interop_write"
# A pylance of the time when version 2.2 was young; scripts/setup makes it.
OLD_PYTHON = pathlib.Path(os.environ.get("LAKE_OLD_LANCE_PYTHON", ROOT / ".deps/venv-lance4/bin/python"))
# Files this small are mostly metadata.
TINY = 16 * 1024
DEFAULT_BUFFERED_BYTES = 256 << 20
MOST_RELATIVE_SIZE = 1.5


def write(table, path, max_buffered_bytes=None, batch_rows=None, exit_code=0, version="2.2"):
    """Writes `table` by lake; returns (rows, bytes, peak KiB), or the error's text."""
    stream = path.with_suffix(".arrow")
    with pa.OSFile(str(stream), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=batch_rows)
    result = subprocess.run([WRITE, stream, path.parent, path.name, str(max_buffered_bytes or DEFAULT_BUFFERED_BYTES), version], capture_output=True, text=True, timeout=600, check=False)
    stream.unlink()
    assert result.returncode == exit_code, result.stderr
    return result.stderr if exit_code else tuple(map(int, result.stdout.split()))


def read(path):
    return lance.file.LanceFileReader(str(path)).read_all().to_table()


def upstream_size(column, path, field=None, version="2.2"):
    table = pa.table([column], schema=pa.schema([field or pa.field("c", column.type)]))
    with lance.file.LanceFileWriter(str(path), table.schema, version=version) as writer:
        writer.write_batch(table)
    return path.stat().st_size


PATTERNS = list(patterns())
PATTERN_IDS = ["-".join(map(str, pattern)) for pattern in PATTERNS]


@pytest.mark.parametrize("case", TYPES, ids=[case.name for case in TYPES])
def test_the_comparison_sees_one_changed_row(case):
    array = column(case, "some", 100, "random")
    assert not difference(array, array)
    valid = [row for row in range(len(array)) if array[row].is_valid]
    other = next(row for row in valid if difference(array[row:row + 1], array[valid[0]:valid[0] + 1]))
    rows = list(range(len(array)))
    rows[valid[0]] = other
    assert difference(array, array.take(pa.array(rows)))
    rows[valid[0]] = None
    assert difference(array, array.take(pa.array(rows)))


@pytest.mark.parametrize("pattern", PATTERNS, ids=PATTERN_IDS)
def test_upstream_reads_every_cell(pattern, tmp_path):
    cells = failed = 0
    for i, table in enumerate(tables(*pattern)):
        path = tmp_path / f"{i}.lance"
        rows, size, _ = write(table, path, batch_rows=random.Random(i).randrange(500, 50_000))
        assert rows == table.num_rows and size == path.stat().st_size
        differences = compare(table, read(path))
        cells += table.num_columns
        failed += len(differences)
        for text in differences:
            print("differs:", text)
    print(f"cells {cells - failed}/{cells}")
    assert failed == 0 and cells == len(TYPES)


OLD_READER = """
import sys, lance, pyarrow as pa
from lance.file import LanceFileReader
sys.path.insert(0, sys.argv[1])
from type_table import compare
cells = failed = 0
for stem in sys.argv[2:]:
    expected = pa.ipc.open_stream(stem + ".arrow").read_all()
    differences = compare(expected, LanceFileReader(stem + ".lance").read_all().to_table())
    for text in differences: print("differs:", stem, text)
    cells += expected.num_columns
    failed += len(differences)
print(f"pylance {lance.__version__}: cells {cells - failed}/{cells}")
sys.exit(failed != 0)
"""


def test_old_upstream_reads_every_cell(tmp_path):
    assert OLD_PYTHON.exists(), f"{OLD_PYTHON} is missing: run scripts/setup"
    stems = []
    for nulls, rows, shape in patterns(rows=(0, 1, 1000, 20_000)):
        for i, table in enumerate(tables(nulls, rows, shape)):
            # Upstream 4 itself does not read a zone that holds a colon.
            table = table.select([name for name in table.column_names if "+05:30" not in name])
            stem = tmp_path / f"{nulls}-{rows}-{shape}-{i}"
            write(table, stem.with_suffix(".lance"))
            with pa.OSFile(f"{stem}.arrow", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            stems.append(str(stem))
    result = subprocess.run([OLD_PYTHON, "-c", OLD_READER, pathlib.Path(__file__).parent, *stems], capture_output=True, text=True,
                            timeout=600, check=False)
    print(result.stdout)
    assert result.returncode == 0, result.stderr[-2000:]


@pytest.mark.parametrize("nulls", ["none", "some", "all"])
def test_size_is_near_upstreams(nulls, tmp_path):
    """The sum over the types of each shape, and over all; prints the outliers among single cells."""
    all_ours = all_theirs = 0
    for _, rows, shape in patterns(rows=(100_000,), nulls=(nulls,)):
        ours = theirs = 0
        for table in tables(nulls, rows, shape):
            for name in table.column_names:
                mine = write(table.select([name]), tmp_path / "ours.lance")[1]
                (tmp_path / "ours.lance").unlink()
                upstream = upstream_size(table[name].combine_chunks(), tmp_path / "theirs.lance")
                if max(mine, upstream) < TINY:
                    continue
                ours, theirs = ours + mine, theirs + upstream
                if not 0.8 < mine / upstream < 1.1:
                    print(f"  {shape} {name}: {mine} / {upstream} = {mine / upstream:.2f}")
        print(f"size {nulls} {shape}: {ours} / {theirs} = {ours / max(theirs, 1):.3f}")
        assert ours <= theirs * MOST_RELATIVE_SIZE
        all_ours, all_theirs = all_ours + ours, all_theirs + theirs
    print(f"size {nulls}: {all_ours} / {all_theirs} = {all_ours / max(all_theirs, 1):.3f}")
    assert all_ours <= all_theirs * 1.05


def test_a_null_in_a_column_without_nulls_is_refused_by_column_and_row(tmp_path):
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    cases = [
        (pa.field("n", pa.int64(), nullable=False), [1, 2, None], "'n', row 2"),
        (pa.field("s", inner, nullable=False), [{"x": 1}, None], "'s', row 1"),
        (pa.field("s", inner), [None, {"x": 1}, {"x": None}], "'s.x', row 2"),
    ]
    for field, values, text in cases:
        if pa.types.is_struct(field.type):
            array = pa.StructArray.from_arrays([pa.array([v and v["x"] for v in values], pa.int32())], fields=[*inner],
                                               mask=pa.array([v is None for v in values]))
        else:
            array = pa.array(values, field.type)
        table = pa.table([array], schema=pa.schema([field]))
        assert text in write(table, tmp_path / "x.lance", exit_code=1)
        assert list(tmp_path.iterdir()) == []


def test_memory_stays_within_the_budget_for_many_columns(tmp_path):
    """5,000 columns of 2,000 rows, 77 MiB, under 8 MiB."""
    budget, columns, rows = 8 << 20, 5000, 2000
    table = pa.table({f"c{i}": pa.array(range(i, i + rows), pa.int64()) for i in range(columns)})
    path = tmp_path / "wide.lance"
    base = write(table.slice(0, 1), tmp_path / "one.lance", budget)[2]
    _, _, peak = write(table, path, budget, batch_rows=50)
    print(f"5000 columns: peak {peak} KiB, with one row {base} KiB, budget {budget >> 10} KiB")
    assert peak - base < 3 * budget >> 10
    assert not compare(table, read(path))


def test_memory_stays_within_the_budget_for_one_large_column(tmp_path):
    """512 MiB of strings under 64 MiB; the short form keeps the ratio: 128 MiB under 16 MiB."""
    scale = 4 if LONG_FORMS else 1
    budget, rows = scale * 16 << 20, scale * 128 << 10
    text = "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz     ", k=1 << 20))
    table = pa.table({"s": pa.array([text[i % 5000 * 200:][:1000 + i % 7] for i in range(rows)])})
    path = tmp_path / "large.lance"
    base = write(table.slice(0, 1), tmp_path / "one.lance", budget)[2]
    _, _, peak = write(table, path, budget, batch_rows=1000)
    print(f"{table.nbytes >> 20} MiB in one column: peak {peak} KiB, with one row {base} KiB, budget {budget >> 10} KiB")
    assert peak - base < 2 * budget >> 10
    assert not compare(table, read(path))


def test_slices_of_one_table_are_charged_by_what_they_hold(tmp_path):
    """Many small slices of a big table become few large pages."""
    table = pa.table({"n": pa.array(random.Random(1).choices(range(1 << 40), k=1_000_000), pa.int64())})
    path = tmp_path / "sliced.lance"
    write(table, path, batch_rows=1000)
    pages = lance.file.LanceFileReader(str(path)).metadata().columns[0].pages
    assert len(pages) == 1
    assert not compare(table, read(path))


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-s"]))
