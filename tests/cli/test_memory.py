"""Peak memory of imports and ingests that are larger than the budget, as the system counts it.

The program itself takes about 50 MiB before it does anything (libraries, most of it DuckDB and Arrow). What it takes
beyond must not grow with the input.
"""

import subprocess
import sys

import pytest

MIB = 1 << 20
BUDGET = 64 * MIB


# The peak of a child counts what its parent held when it forked, so that a small process has to stand between.
MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def peak_bytes(lake, *arguments):
    """Runs the program under the budget and returns its largest resident size; it must succeed."""
    command = lake.command("--memory-limit", "64 MiB", "--quiet", *arguments)
    result = subprocess.run([sys.executable, "-c", MEASURE, *command], stdout=subprocess.PIPE, text=True, check=True,
                            timeout=600)
    return int(result.stdout) * 1024


@pytest.fixture
def idle_bytes(lake):
    lake.sql("CREATE TABLE main.idle (n INTEGER)")
    return peak_bytes(lake, "table", "list")


def test_import_of_512_mib_under_64_mib(lake, tmp_path, idle_bytes):
    root = tmp_path / "large"
    root.mkdir()
    with (root / "large.bin").open("wb") as file:
        file.truncate(512 * MIB)
    lake.sql("CREATE TABLE main.files (path VARCHAR, size BIGINT, content FILE)")
    taken = peak_bytes(lake, "file", "import", "main.files", root) - idle_bytes
    assert taken < BUDGET, f"{taken // MIB} MiB beyond the idle program"
    assert lake.run("file", "verify", "main.files").returncode == 0


def test_verify_of_512_mib_under_64_mib(lake, tmp_path, idle_bytes):
    root = tmp_path / "large"
    root.mkdir()
    with (root / "large.bin").open("wb") as file:
        file.truncate(512 * MIB)
    lake.sql("CREATE TABLE main.files (path VARCHAR, size BIGINT, content FILE)")
    lake.run("file", "import", "main.files", root)
    taken = peak_bytes(lake, "file", "verify", "main.files") - idle_bytes
    assert taken < BUDGET, f"{taken // MIB} MiB beyond the idle program"


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_ingest_memory_does_not_grow_with_the_input(lake, tmp_path, idle_bytes, suffix):
    """Four times the rows take about the same: what is allowed beyond is the allocator's slack."""
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet

    taken = []
    for num_rows in (1_000_000, 4_000_000):
        path = tmp_path / f"rows-{num_rows}.{suffix}"
        numbers = pa.array(range(num_rows), pa.int64())
        table = pa.table({"n": numbers, "s": pa.compute.binary_join_element_wise(
            numbers.cast(pa.string()), "a text of some length", " ")})
        if suffix == "csv":
            pa.csv.write_csv(table, path)
        elif suffix == "parquet":
            pa.parquet.write_table(table, path, row_group_size=num_rows, compression="none")
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=100_000)
        taken.append(peak_bytes(lake, "ingest", f"main.t{num_rows}", path, "--create") - idle_bytes)
    assert taken[1] < 1.5 * taken[0] + 32 * MIB, [size // MIB for size in taken]
    assert taken[1] < 4 * BUDGET, [size // MIB for size in taken]


def test_scan_memory_does_not_grow_with_the_table(lake, idle_bytes):
    """512 MiB under a budget of 64: no more than an eighth of them takes."""
    taken = []
    for name, num_rows in (("small", 500_000), ("large", 4_000_000)):
        lake.sql(f"CREATE TABLE main.{name} AS SELECT i AS n, md5(i::VARCHAR) || md5('a' || i) || md5('b' || i) || md5('c' || i)"
                 f" AS s FROM range({num_rows}) t(i)")
        query = f"SELECT count(*), sum(length(s)), max(s), sum(n) FROM main.{name} WHERE n % 10 < 8"
        taken.append(peak_bytes(lake, "sql", query) - idle_bytes)
    assert taken[1] < taken[0] + BUDGET // 2, [size // MIB for size in taken]
    assert taken[1] < 2 * BUDGET, [size // MIB for size in taken]
