"""Writes Lance files with upstream, beside Arrow IPC streams of what they hold: a process of its own for each suite.

    format_cells.py FOLDER cells NULLS ROWS SHAPE    one column per type of the type table
    format_cells.py FOLDER pages                     columns of many pages
    format_cells.py FOLDER settings                  encodings that a user asks for by field metadata

Every table is written in versions 2.1 and 2.2. Prints one line per table: the IPC stream, then the Lance files.
"""

import pathlib
import sys

import lance
import lance.file
import numpy as np
import pyarrow as pa
from type_table import TYPES, tables

VERSIONS = ("2.1", "2.2")


def write(folder, name, table, batches=None):
    stream = folder / f"{name}.arrow"
    with pa.OSFile(str(stream), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    paths = [stream]
    for version in VERSIONS:
        path = folder / f"{name}-{version}.lance"
        with lance.file.LanceFileWriter(str(path), table.schema, version=version) as writer:
            for batch in batches or (table.to_batches() if table.num_rows else ()):
                writer.write_batch(batch)
        paths.append(path)
    print(*paths)


# Old versions cut a time zone at its colon.
UNWRITABLE = [case.name for case in TYPES if int(lance.__version__.split(".")[0]) < 12 and pa.types.is_timestamp(case.type) and ":" in (case.type.tz or "")]


def cells(folder, nulls, rows, shape):
    for i, table in enumerate(tables(nulls, int(rows), shape)):
        write(folder, f"{nulls}-{rows}-{shape}-{i}", table.drop_columns([name for name in UNWRITABLE if name in table.column_names]))


def pages(folder):
    rng = np.random.default_rng(5)
    rows = 1_300_000
    numbers = rng.integers(-(2**62), 2**62, rows)
    # Parts of a column that are encoded differently: constant, few values, null, random.
    mixed = np.concatenate([np.full(rows // 4, 3), np.repeat(rng.integers(0, 9, rows // 400), 100), np.zeros(rows // 4, np.int64), numbers[: rows // 4]])
    mask = np.zeros(rows, bool)
    mask[rows // 2 : rows * 3 // 4] = True
    texts = [f"{n % 977} pages of text" for n in numbers[:50_000].tolist()] * (rows // 50_000)
    table = pa.table({"numbers": pa.array(numbers), "mixed": pa.array(mixed, mask=mask), "texts": pa.array(texts)})
    write(folder, "large", table, table.to_batches(max_chunksize=200_000))
    # Upstream charges a slice with the memory of its whole parent: many small pages.
    write(folder, "slices", table.slice(0, 300_000), [b for i in range(0, 300_000, 10_000) for b in table.slice(i, 10_000).combine_chunks().to_batches()])
    batches = [batch for batch in table.select(["mixed"]).slice(rows // 4 - 700, rows // 2 + 1400).to_batches(max_chunksize=999)]
    write(folder, "odd", pa.Table.from_batches(batches), batches)


SETTINGS = (
    {"compression": "none"},
    {"compression": "zstd", "bss": "off"},
    {"compression": "zstd", "bss": "on", "compression-level": "3"},
    {"compression": "lz4"},
    {"compression": "fsst"},
    {"structural-encoding": "fullzip"},
    {"structural-encoding": "miniblock"},
    {"dict-values-compression": "zstd"},
    {"rle-threshold": "1.0"},
)


def settings(folder):
    for number, chosen in enumerate(SETTINGS):
        metadata = {f"lance-encoding:{key}": value for key, value in chosen.items()}
        for nulls, shape in (("none", "random"), ("some", "few" if number % 2 else "sorted")):
            for i, table in enumerate(tables(nulls, 2000, shape)):
                # Wide values in mini-blocks are beyond what upstream can write; a struct takes no settings.
                names = [name for name in table.column_names
                         if name != "struct" and not (chosen.get("structural-encoding") == "miniblock" and ("huge" in name or "wide" in name))
                         and not (chosen.get("structural-encoding") == "fullzip" and name == "bool")]
                table = table.select(names)
                schema = pa.schema([field.with_metadata(metadata) for field in table.schema])
                if names:
                    write(folder, f"{number}-{nulls}-{shape}-{i}", table.cast(schema))


if __name__ == "__main__":
    {"cells": cells, "pages": pages, "settings": settings}[sys.argv[2]](pathlib.Path(sys.argv[1]), *sys.argv[3:])
