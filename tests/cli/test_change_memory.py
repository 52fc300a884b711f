"""Peak memory of statements that change eight times the budget, as the system counts it."""

import json

import lance
import numpy as np
import pyarrow as pa
import pytest

from killing import location
from test_memory import BUDGET, MIB, idle_bytes, peak_bytes  # noqa: F401

FRAGMENTS = 8
ROWS = 700_000  # in each


def write(path, first_id):
    """More than eight times the budget, by upstream."""
    random = np.random.default_rng(first_id)
    size = 0
    for i in range(FRAGMENTS):
        ids = np.arange(first_id + i * ROWS, first_id + (i + 1) * ROWS)
        texts = pa.array(random.integers(10**15, 10**16, ROWS)).cast(pa.string())
        name = pa.compute.binary_join_element_wise(*[texts] * 5, "")
        batch = pa.table({"id": ids, "x": random.random(ROWS), "name": name}, lance.dataset(path).schema)
        size += batch.nbytes
        lance.write_dataset(batch, path, mode="append", max_rows_per_file=ROWS)
    assert size > 8 * BUDGET


@pytest.fixture
def table(lake):
    lake.sql("CREATE TABLE main.t (id BIGINT, x DOUBLE, name VARCHAR)")
    path = location(lake, "main.t")
    write(path, 0)
    return path


def sums(lake):
    return json.loads(lake.sql("SELECT count(*) AS n, sum(id) AS ids, count(x) AS x FROM main.t").stdout)[0]


def test_update_and_delete_of_512_mib_under_64_mib(lake, table, idle_bytes):  # noqa: F811
    rows = FRAGMENTS * ROWS
    taken = peak_bytes(lake, "sql", "UPDATE main.t SET x = NULL WHERE id % 8 <> 0") - idle_bytes
    assert sums(lake) == {"n": rows, "ids": rows * (rows - 1) // 2, "x": rows // 8}
    assert taken < 2 * BUDGET, f"update: {taken // MIB} MiB beyond the idle program"
    taken = peak_bytes(lake, "sql", "DELETE FROM main.t WHERE id % 2 = 1") - idle_bytes
    assert sums(lake) == {"n": rows // 2, "ids": rows * (rows - 2) // 4, "x": rows // 8}
    assert taken < 2 * BUDGET, f"delete: {taken // MIB} MiB beyond the idle program"


MERGE = ("MERGE INTO main.t USING main.s ON t.id = s.id WHEN MATCHED THEN UPDATE SET x = NULL "
         "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.x, s.name)")


def merge(lake, idle_bytes, budgets=2):  # noqa: F811
    taken = peak_bytes(lake, "sql", MERGE) - idle_bytes
    assert taken < budgets * BUDGET, f"merge: {taken // MIB} MiB beyond the idle program"


def test_merge_of_512_mib_under_64_mib(lake, table, idle_bytes):  # noqa: F811
    rows = FRAGMENTS * ROWS
    lake.sql("CREATE TABLE main.s (id BIGINT, x DOUBLE, name VARCHAR)")
    # Half of it meets rows of the table, half is new.
    write(location(lake, "main.s"), rows // 2)
    # The allocators of scan, join and writer each keep some of what they had.
    merge(lake, idle_bytes, budgets=3)
    assert sums(lake) == {"n": rows * 3 // 2, "ids": rows * 3 // 2 * (rows * 3 // 2 - 1) // 2, "x": rows}


STEP = FRAGMENTS * ROWS // 1000


def make_small(lake, name):
    """2,000 rows, of which 1,000 meet rows of a table of 512 MiB."""
    lake.sql(f"CREATE TABLE main.{name} AS SELECT i * {STEP} AS id, 0.5::DOUBLE AS x, 'new' AS name FROM range(2000) t(i)")


# Whichever of the two goes into the other: 1,000 rows have no x any more, 1,000 come to the many.
AFTER_SMALL = {"n": 1000 * STEP + 1000, "ids": sum(range(1000 * STEP)) + sum(range(1000 * STEP, 2000 * STEP, STEP)),
               "x": 1000 * STEP}


def test_merge_of_few_rows_into_512_mib_under_64_mib(lake, table, idle_bytes):  # noqa: F811
    make_small(lake, "s")
    merge(lake, idle_bytes)
    assert sums(lake) == AFTER_SMALL


def test_merge_of_512_mib_into_few_rows_under_64_mib(lake, idle_bytes):  # noqa: F811
    make_small(lake, "t")
    lake.sql("CREATE TABLE main.s (id BIGINT, x DOUBLE, name VARCHAR)")
    write(location(lake, "main.s"), 0)
    merge(lake, idle_bytes)
    assert sums(lake) == AFTER_SMALL
