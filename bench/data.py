"""The data of the benchmark, the same in each run."""

import numpy as np
import pyarrow as pa

RND_MAX = 1 << 40
DIMENSION = 128
BLOB_BYTES = 1 << 20
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", np.uint8)


def main_table(rows):
    """id, rnd (random int64), f64, low (100 strings), str24 (20 to 28 random letters), n32 (10 % null), ts (ascending)."""
    rng = np.random.default_rng(20261129)
    low = pa.array([f"category-{i:03d}" for i in range(100)]).take(pa.array(rng.integers(0, 100, rows)))
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(rng.integers(20, 29, rows), out=offsets[1:])
    letters = LETTERS[rng.integers(0, len(LETTERS), offsets[-1], dtype=np.uint8)]
    return pa.table({
        "id": np.arange(rows, dtype=np.int64),
        "rnd": rng.integers(0, RND_MAX, rows),
        "f64": rng.random(rows),
        "low": low,
        "str24": pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(letters)),
        "n32": pa.array(rng.integers(0, 2**31 - 1, rows).astype(np.int32), mask=rng.random(rows) < 0.1),
        "ts": pa.array((1_700_000_000_000_000 + np.cumsum(rng.integers(0, 2_000_000, rows))).astype("datetime64[us]")),
    })


def blob_table(rows):
    """id, and blobs of 1 MiB of random bytes, as Lance's extension type has them."""
    data = pa.array([np.random.default_rng(i).bytes(BLOB_BYTES) for i in range(rows)], pa.large_binary())
    blobs = pa.StructArray.from_arrays([data, pa.nulls(rows, pa.utf8())], names=["data", "uri"])
    blob = pa.field("blob", blobs.type, metadata={"ARROW:extension:name": "lance.blob.v2"})
    return pa.table([np.arange(rows, dtype=np.int64), blobs], schema=pa.schema([pa.field("id", pa.int64()), blob]))


def vector_table(rows):
    vectors = np.random.default_rng(7).standard_normal(rows * DIMENSION, dtype=np.float32)
    return pa.table({"vec": pa.FixedSizeListArray.from_arrays(pa.array(vectors), DIMENSION)})


def changing_table(rows):
    """id, k (0 to 99), v, s (1,000 strings): what updates, deletes and merges change."""
    rng = np.random.default_rng(3)
    return pa.table({
        "id": np.arange(rows, dtype=np.int64),
        "k": rng.integers(0, 100, rows),
        "v": rng.random(rows),
        "s": pa.array([f"value-{i:03d}" for i in range(1000)]).take(pa.array(np.arange(rows) % 1000)),
    })


def changes_of(table):
    """One row of a hundred of changing_table(), scattered, with v = 0."""
    rows = np.sort(np.random.default_rng(4).choice(table.num_rows, max(table.num_rows // 100, 1), replace=False))
    return table.take(pa.array(rows)).set_column(2, "v", pa.array(np.zeros(len(rows))))
