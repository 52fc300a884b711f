"""Peak memory of a compaction of eight times the budget, as the system counts it."""

import json

import lance
import numpy as np
import pyarrow as pa
import pytest

from test_memory import BUDGET, MIB, idle_bytes, peak_bytes  # noqa: F401


@pytest.mark.parametrize("decode", [(), ("--decode",)])
def test_compaction_of_512_mib_under_64_mib(lake, idle_bytes, decode):  # noqa: F811
    lake.sql("CREATE TABLE main.t (id BIGINT, x DOUBLE, name VARCHAR)")
    path = json.loads(lake.run("table", "describe", "main.t", "--json").stdout)["location"]
    random = np.random.default_rng(1)
    rows = 2_200_000
    size = 0
    for i in range(8):
        ids = np.arange(i * rows, (i + 1) * rows)
        batch = pa.table({"id": ids, "x": random.random(rows), "name": pa.array(random.integers(0, 10**12, rows))
                          .cast(pa.string())})
        size += batch.nbytes
        lance.write_dataset(batch.cast(lance.dataset(path).schema), path, mode="append", max_rows_per_file=rows)
    assert size > 8 * BUDGET
    taken = peak_bytes(lake, "table", "compact", "main.t", "--target-rows", str(4 * rows), *decode) - idle_bytes
    assert len(lance.dataset(path).get_fragments()) == 2
    assert lance.dataset(path).count_rows() == 8 * rows
    assert taken < 2 * BUDGET, f"{taken // MIB} MiB beyond the idle program"


@pytest.fixture
def wide_rows(lake):
    """A table of 512 MiB in rows of 1 MiB, in eight files."""
    lake.sql("CREATE TABLE main.images (id BIGINT, image BLOB)")
    path = json.loads(lake.run("table", "describe", "main.images", "--json").stdout)["location"]
    random = np.random.default_rng(2)
    schema = lance.dataset(path).schema
    for i in range(8):
        batch = pa.table({"id": range(i * 64, (i + 1) * 64), "image": [random.bytes(MIB) for _ in range(64)]})
        lance.write_dataset(batch.cast(schema), path, mode="append")
    return path


def test_compaction_of_rows_of_a_mib(lake, idle_bytes, wide_rows):  # noqa: F811
    taken = peak_bytes(lake, "table", "compact", "main.images", "--decode") - idle_bytes
    assert len(lance.dataset(wide_rows).get_fragments()) == 1
    assert lance.dataset(wide_rows).count_rows() == 512
    assert taken < 2 * BUDGET, f"{taken // MIB} MiB beyond the idle program"


def test_verify_of_rows_of_a_mib(lake, idle_bytes, wide_rows):  # noqa: F811
    taken = peak_bytes(lake, "table", "verify", "main.images", "--data") - idle_bytes
    assert taken < 2 * BUDGET, f"{taken // MIB} MiB beyond the idle program"
