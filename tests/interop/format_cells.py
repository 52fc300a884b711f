"""Writes Lance files with upstream, beside Arrow IPC streams of what they hold: a process of its own, which is asked for one
suite after the other, as starting it takes longer than most of them. A request is a line of JSON, a list of these words:

    FOLDER cells NULLS ROWS SHAPE    one column per type of the type table
    FOLDER pages                     columns of many pages
    FOLDER settings                  encodings that a user asks for by field metadata
    FOLDER nested NULLS ROWS SHAPE   one file per type that is read but not written
    FOLDER oldest NULLS ROWS SHAPE   what version 2.0 can hold, in that version
    FOLDER nested_settings           encodings of such types that a user asks for
    FOLDER next                      one file per type in version 2.3
    FOLDER stored                    columns that are read as something else than they were given as

Tables are written in versions 2.1 and 2.2 unless it says otherwise. Prints one line per table, the IPC stream, then the Lance files;
and an empty line at the end of each suite.
"""

import json
import pathlib
import sys

import lance
import lance.file
import numpy as np
import pyarrow as pa
from type_table import READ_ONLY, TOO_NEW, TYPES, column, tables

VERSIONS = ("2.1", "2.2")
OLD = int(lance.__version__.split(".")[0]) < 12


def write(folder, name, table, batches=None, versions=VERSIONS):
    stream = folder / f"{name}.arrow"
    with pa.OSFile(str(stream), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    paths = [stream]
    for version in versions:
        path = folder / f"{name}-{version}.lance"
        with lance.file.LanceFileWriter(str(path), table.schema, version=version) as writer:
            for batch in batches or (table.to_batches() if table.num_rows else ()):
                writer.write_batch(batch)
        paths.append(path)
    print(*paths)


# Old versions cut a time zone at its colon.
UNWRITABLE = [case.name for case in TYPES if OLD and pa.types.is_timestamp(case.type) and ":" in (case.type.tz or "")]


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


def versions_since(first):
    return tuple(version for version in VERSIONS if version >= first)


def nested(folder, nulls, rows, shape):
    for since, case in READ_ONLY:
        if OLD and case.name in TOO_NEW:
            continue
        array = column(case, nulls, int(rows), shape)
        write(folder, case.name, pa.table({case.name: array}), versions=versions_since(since))


def next_version(folder):
    for nulls, shape in (("none", "random"), ("some", "sorted"), ("some", "few"), ("none", "constant"), ("all", "random")):
        for case in [*TYPES, *(case for _, case in READ_ONLY)]:
            write(folder, f"{nulls}-{shape}-{case.name}".replace("/", "-"), pa.table({case.name: column(case, nulls, 1000, shape)}), versions=("2.3",))


def oldest(folder, nulls, rows, shape):
    for i, table in enumerate(tables(nulls, int(rows), shape)):
        # A struct's nulls are lost in 2.0, so upstream does not write them.
        names = [name for name in table.column_names if name != "struct" or nulls == "none"]
        write(folder, f"cells-{i}", table.select(names), versions=("2.0",))
    for since, case in READ_ONLY:
        if since != "2.1" or ("struct" in case.name and (nulls != "none" or not case.name.startswith("struct_") or case.name in ("struct_struct", "struct_list_struct_list"))):
            continue
        write(folder, case.name, pa.table({case.name: column(case, nulls, int(rows), shape)}), versions=("2.0",))


NESTED_SETTINGS = (
    {"compression": "zstd"},
    {"compression": "lz4"},
    {"compression": "none"},
    {"structural-encoding": "fullzip"},
    {"structural-encoding": "miniblock"},
)


def annotated(field, metadata):
    """The field with the metadata on every leaf below it, where upstream looks for it."""
    arrow_type = field.type
    if pa.types.is_struct(arrow_type):
        arrow_type = pa.struct([annotated(child, metadata) for child in arrow_type])
    elif pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        make = pa.large_list if pa.types.is_large_list(arrow_type) else pa.list_
        arrow_type = make(annotated(arrow_type.value_field, metadata))
    else:
        return field.with_metadata(metadata)
    return pa.field(field.name, arrow_type, field.nullable)


def nested_settings(folder):
    for number, chosen in enumerate(NESTED_SETTINGS):
        metadata = {f"lance-encoding:{key}": value for key, value in chosen.items()}
        for since, case in READ_ONLY:
            if not case.name.startswith(("list_", "large_list_", "struct_")) or "map" in case.name or "fixed_size_list_struct" in case.name:
                continue
            # What upstream cannot write: bits and dictionaries in full-zip pages, wide values in mini-blocks.
            if chosen.get("structural-encoding") == "fullzip" and case.name in ("list_bool", "list_struct", "struct_struct", "struct_null"):
                continue
            if chosen.get("structural-encoding") == "miniblock" and ("wide" in case.name or "128" in case.name):
                continue
            array = column(case, "some", 2000, "random")
            schema = pa.schema([annotated(pa.field(case.name, array.type), metadata)])
            write(folder, f"{number}-{case.name}", pa.table([array.cast(schema.field(0).type)], schema=schema), versions=versions_since(since))


def stored(folder):
    """Packed structs, blobs, JSON, bfloat16, and lists of nothing (which pyarrow cannot take rows of)."""
    # Old versions lack them.
    import lance.blob  # noqa: PLC0415
    from lance._arrow.bf16 import BFloat16Type  # noqa: PLC0415
    nothing = pa.array([None if n % 5 == 1 else [None] * (n % 4) for n in range(3000)], pa.list_(pa.null()))
    write(folder, "list-null", pa.table({"list": nothing}))
    rng = np.random.default_rng(9)
    rows = 3000
    packed = {"lance-encoding:packed": "true"}
    numbers = {"a": pa.array(rng.integers(0, 99, rows), pa.int8()), "b": pa.array(rng.random(rows)), "c": pa.array([rng.bytes(3) for _ in range(rows)], pa.binary(3))}
    mixed = {"a": numbers["a"], "text": pa.array([f"{n} words of text" * (n % 5) for n in range(rows)]), "b": numbers["b"],
             "bytes": pa.array([rng.bytes(n % 90) for n in range(rows)], pa.large_binary()),
             "pair": pa.FixedSizeListArray.from_arrays(pa.array(rng.integers(0, 9, 2 * rows), pa.int16()), 2)}
    for name, children, versions in (("fixed", numbers, VERSIONS), ("mixed", mixed, ("2.2",))):
        for mask in (None, pa.array(rng.random(rows) < 0.2)):
            array = pa.StructArray.from_arrays(list(children.values()), list(children), mask=mask)
            schema = pa.schema([pa.field("packed", array.type, metadata=packed)])
            write(folder, f"packed-{name}-{mask is None}", pa.table([array], schema=schema), versions=versions)
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, rows + 1, 3), pa.int32()), pa.StructArray.from_arrays(list(numbers.values()), list(numbers)))
    schema = pa.schema([pa.field("lists", pa.list_(pa.field("item", lists.type.value_type, metadata=packed)))])
    write(folder, "packed-lists", pa.table([lists.cast(schema.field(0).type)], schema=schema))

    blobs = [None if n % 7 == 3 else rng.bytes(0 if n % 7 == 5 else n * 13) for n in range(500)]
    schema = pa.schema([pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    write(folder, "blob-v1", pa.table([pa.array(blobs, pa.large_binary())], schema=schema))
    inner = pa.StructArray.from_arrays([pa.array(blobs, pa.large_binary()), pa.array(range(500))], fields=[schema.field(0), pa.field("n", pa.int64())],
                                       mask=pa.array([n % 11 == 2 for n in range(500)]))
    write(folder, "blob-v1-struct", pa.table({"s": inner}))
    # Version 2 exists in tables only; bytes of up to 64 KiB lie in the data file.
    table = pa.table([lance.blob.blob_array(blobs)], schema=pa.schema([lance.blob.blob_field("blob")]))
    lance.write_dataset(table, str(folder / "blob-v2"), data_storage_version="2.2")
    stream = folder / "blob-v2.arrow"
    plain = pa.table({"blob": pa.array(blobs, pa.large_binary())})
    with pa.OSFile(str(stream), "wb") as sink, pa.ipc.new_stream(sink, plain.schema) as writer:
        writer.write_table(plain)
    print(stream, *(folder / "blob-v2" / "data").glob("*.lance"))

    raw = pa.array([None if n % 9 == 2 else rng.bytes(2) for n in range(3000)], pa.binary(2))
    small = pa.ExtensionArray.from_storage(BFloat16Type(), raw)
    write(folder, "bfloat16", pa.table({"number": small}))
    write(folder, "bfloat16-lists", pa.table({"vector": pa.FixedSizeListArray.from_arrays(small, 8)}))

    values = [None if n % 6 == 4 else json.dumps({"id": n, "x": [n / 3, None, n % 2 == 0], "é": "text" * (n % 50), "y": {"z": -n}},
                                                 separators=(",", ":"), sort_keys=True, ensure_ascii=False) for n in range(4000)]
    write(folder, "json", pa.table({"json": pa.array(values, pa.json_())}))


SUITES = {"cells": cells, "pages": pages, "settings": settings, "nested": nested, "nested_settings": nested_settings, "next": next_version,
          "oldest": oldest, "stored": stored}

if __name__ == "__main__":
    for request in sys.stdin:
        folder, suite, *arguments = json.loads(request)
        SUITES[suite](pathlib.Path(folder), *arguments)
        print(flush=True)
