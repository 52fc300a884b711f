#!/usr/bin/env python3
"""Writes the fixtures of this folder with pylance: small Lance files, each for a set of encodings.

NAME.pylance-<version>.lance, with what must be read from it in NAME.pylance-<version>.arrow (an Arrow IPC stream). Files
under refused/ must be refused by name. lake/format/testing/fixtures.cc lists all of them, with the encodings
that each must hold. Run it in an empty copy of this folder; the values are deterministic, the bytes are
pylance's.
"""

import pathlib
import shutil
import sys

import lance
import lance.file
import numpy as np
import pyarrow as pa

VERSION = lance.__version__
random = np.random.default_rng(20261129)


def nullable(array, share=0.2):
    """The array with some of its values null."""
    mask = random.random(len(array)) < share
    return array.take(pa.array(np.arange(len(array)), mask=mask))


def integers(arrow_type, count, high=None):
    dtype = np.dtype(arrow_type.to_pandas_dtype())
    if high is None:
        return pa.array(np.frombuffer(random.bytes(count * dtype.itemsize), dtype), arrow_type)
    return pa.array(random.integers(0, high, count).astype(dtype), arrow_type)


def words(count, per_value, vocabulary=("lake", "fluss", "étang", "湖", "robot", "camera", "lidar", "grasp")):
    return [" ".join(random.choice(vocabulary, per_value)) for _ in range(count)]


def vectors(arrow_type, count, size, null_items=False):
    if arrow_type == pa.float32():
        items = pa.array(random.normal(0, 1, count * size).astype(np.float32))
    else:
        items = integers(arrow_type, count * size)
    return pa.FixedSizeListArray.from_arrays(nullable(items) if null_items else items, size)


def fixed_bytes(count, width):
    return pa.array([random.bytes(width) for _ in range(count)], pa.binary(width))


def few(values, count, arrow_type):
    return pa.array([values[i] for i in random.integers(0, len(values), count)], arrow_type)


def decimals(count):
    return [random.integers(-10**15, 10**15).item() for _ in range(count)]


def flat():
    return {
        "flag": nullable(pa.array(random.random(70) < 0.5)),
        "i8": integers(pa.int8(), 70),
        "i16": nullable(integers(pa.int16(), 70)),
        "u32": integers(pa.uint32(), 70),
        "f64": nullable(pa.array(random.normal(0, 1, 70))),
        "bytes3": fixed_bytes(70, 3),
        "decimal": nullable(pa.array(decimals(70), pa.decimal128(20, 0))),
    }


def bitpacked():
    columns = {f"u{bits}": nullable(integers(getattr(pa, f"uint{bits}")(), 1200, 7)) for bits in (8, 16, 32)}
    columns["i64"] = pa.array(random.integers(0, 1 << 20, 1200))
    columns["zero"] = pa.array([0] * 1100 + list(range(100)), pa.int32())
    return columns


def runs():
    numbers = np.repeat(random.integers(-10**9, 10**9, 12), 170)
    return {
        "i32": pa.array(numbers, pa.int32()),
        "f32": nullable(pa.array(numbers.astype(np.float32)), 0.01),
        "i16": pa.array(np.repeat(np.arange(8), 255), pa.int16()),
        "long_runs": pa.array(np.repeat([5, -7], 1020), pa.int8()),
    }


def strings():
    return {
        "text": nullable(pa.array(words(90, 2))),
        "large": pa.array(["", *words(88, 1), "\0x"], pa.large_string()),
        "bytes": nullable(pa.array([random.bytes(i % 9) for i in range(90)])),
        "large_bytes": pa.array([random.bytes(i % 5) for i in range(90)], pa.large_binary()),
    }


def fsst():
    return {"text": nullable(pa.array([" ".join(line) for line in random.choice(["the robot ", "grasps a ", "yellow ", "étang"], (1100, 6))]))}


def dictionary():
    texts = words(6, 8)
    return {
        "text": nullable(few(texts, 300, pa.string())),
        "large": few(texts, 300, pa.large_string()),
        "bytes": nullable(few([text.encode() for text in texts], 300, pa.binary())),
        "decimal": nullable(few(decimals(5), 300, pa.decimal128(38, 10))),
    }


def dictionary64():
    return {
        "wide": nullable(few(random.integers(-2**62, 2**62, 20).tolist(), 400, pa.int64())),
        "narrow": nullable(few(list(range(100)), 400, pa.int64())),
        "double": few(random.normal(0, 1, 9).tolist(), 400, pa.float64()),
    }


def dictionary64_large():
    return {
        "date": pa.array(np.sort(random.integers(0, 1300, 6000)) * 86_400_000).view(pa.date64()),
        "narrow": pa.array(random.integers(0, 900, 6000)),
    }


def lists():
    return {
        "f32": nullable(vectors(pa.float32(), 40, 4)),
        "u8": vectors(pa.uint8(), 40, 5),
        "null_items": nullable(vectors(pa.int16(), 40, 3, null_items=True)),
    }


def wide_lists():
    return {
        "plain": vectors(pa.float32(), 9, 64),
        "nulls": nullable(vectors(pa.float32(), 9, 65), 0.4),
        "null_items": nullable(vectors(pa.int64(), 9, 33, null_items=True), 0.4),
        "all_items_null": pa.FixedSizeListArray.from_arrays(pa.nulls(9 * 64, pa.float32()), 64),
        "bytes300": nullable(fixed_bytes(9, 300), 0.4),
    }


def wide_strings():
    return {
        "text": nullable(pa.array([word * 60 + str(i) for i, word in enumerate(words(12, 1))]), 0.4),
        "bytes": nullable(pa.array([random.bytes(200 + 10 * i) for i in range(12)]), 0.4),
        "large_bytes": pa.array([random.bytes(300) for _ in range(12)], pa.large_binary()),
    }


def wide_text_fsst():
    return {"text": nullable(pa.array([f"{i}-lake-of-tables-" * 16 for i in range(190)]))}


def huge_strings():
    return {
        "text": nullable(pa.array([str(i) * 40_000 for i in range(4)]), 0.3),
        "bytes": pa.array([bytes([i]) * 50_000 for i in range(4)]),
    }


def constants():
    def some(value, arrow_type, nulls):
        return pa.array([None if nulls and i % 3 == 0 else value for i in range(200)], arrow_type)

    columns = {}
    for nulls in (False, True):
        end = "_nulls" if nulls else ""
        columns["i32" + end] = some(42, pa.int32(), nulls)
        columns["flag" + end] = some(True, pa.bool_(), nulls)
        columns["text" + end] = some("hello, étang", pa.string(), nulls)
        columns["large" + end] = some("x" * 100, pa.large_string(), nulls)
        columns["bytes" + end] = some(b"\1\2", pa.binary(), nulls)
        columns["bytes40" + end] = some(b"0123456789" * 4, pa.binary(40), nulls)
        columns["decimal" + end] = some(7, pa.decimal128(9, 2), nulls)
    return columns


def all_null():
    types = [pa.int32(), pa.bool_(), pa.string(), pa.large_binary(), pa.binary(40), pa.list_(pa.float32(), 8), pa.list_(pa.float32(), 128)]
    return {f"c{i}": pa.nulls(50, arrow_type) for i, arrow_type in enumerate(types)}


def structs():
    children = {
        "number": nullable(integers(pa.int32(), 300, 100)),
        "text": nullable(pa.array(words(300, 2))),
        "flag": pa.array(random.random(300) < 0.5),
        "vector": nullable(vectors(pa.float32(), 300, 2)),
        "nothing": pa.nulls(300, pa.int16()),
    }

    def struct(null_share):
        mask = pa.array(random.random(300) < null_share)
        return pa.StructArray.from_arrays(list(children.values()), list(children), mask=mask)

    return {"none": struct(0), "some": struct(0.3), "all": struct(1)}


def tagged(columns, **metadata):
    """A table whose fields carry lance-encoding settings; a column named here may add its own: (array, settings)."""
    fields, arrays = [], []
    for name, column in columns.items():
        array, own = column if isinstance(column, tuple) else (column, {})
        settings = {"lance-encoding:" + key.replace("_", "-"): value for key, value in {**metadata, **own}.items()}
        fields.append(pa.field(name, array.type, metadata=settings))
        arrays.append(array)
    return pa.table(arrays, schema=pa.schema(fields))


def compressed(scheme):
    floats = pa.array(np.round(np.cumsum(random.normal(0, 1, 1100)), 2).astype(np.float32))
    columns = {
        "text": nullable(pa.array([f"{i} {text}" for i, text in enumerate(words(1100, 2))])),
        "f32": (floats, {"bss": "on"}),
        "f64": (floats.cast(pa.float64()), {"bss": "on"}),
        "f64_flat": (floats.cast(pa.float64()), {"bss": "off"}),
    }
    return tagged(columns, compression=scheme)


def forced_full_zip():
    return tagged({"i32": nullable(integers(pa.int32(), 60)), "text": nullable(pa.array(words(60, 2)))}, structural_encoding="fullzip")


def full_chunks():
    return tagged({"bytes": fixed_bytes(16, 300)}, structural_encoding="miniblock")


def lz4_values():
    return tagged({"text": pa.array([str(i % 10) * 40_000 for i in range(3)])}, compression="lz4")


def empty():
    return {"i32": pa.array([], pa.int32()), "text": pa.array([], pa.string())}


def one_row():
    return {"i32": pa.array([7], pa.int32()), "text": pa.array(["only"]), "null": pa.nulls(1, pa.int64()), "vector": vectors(pa.float32(), 1, 3)}


FIXTURES = {
    "flat": flat, "bitpacked": bitpacked, "runs": runs, "strings": strings, "fsst": fsst, "dictionary": dictionary,
    "dictionary64": dictionary64, "dictionary64_large": dictionary64_large, "lists": lists, "wide_lists": wide_lists,
    "wide_strings": wide_strings, "wide_text_fsst": wide_text_fsst, "huge_strings": huge_strings, "constants": constants,
    "all_null": all_null, "structs": structs, "compressed_zstd": lambda: compressed("zstd"),
    "compressed_lz4": lambda: compressed("lz4"), "forced_full_zip": forced_full_zip, "lz4_values": lz4_values, "full_chunks": full_chunks,
    "empty": empty, "one_row": one_row,
}


def write(table, path, version, batches=1):
    with lance.file.LanceFileWriter(str(path), table.schema, version=version) as writer:
        step = max(1, -(-table.num_rows // batches))
        for start in range(0, table.num_rows, step):
            writer.write_batch(table.slice(start, step))


def write_fixture(folder, name, table, version):
    stem = f"{name}-{version}.pylance-{VERSION}"
    write(table, folder / f"{stem}.lance", version)
    with pa.OSFile(str(folder / f"{stem}.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)


def write_refused(folder):
    folder.mkdir()
    plain = pa.table({"number": pa.array([1, 2, 3])})
    for version in ("2.0", "2.3"):
        write(plain, folder / f"version-{version}.pylance-{VERSION}.lance", version)
    dataset = folder / "dataset"
    lance.write_dataset(plain, str(dataset), data_storage_version="legacy")
    shutil.move(next((dataset / "data").iterdir()), folder / f"version-0.1.pylance-{VERSION}.lance")
    shutil.rmtree(dataset)
    packed = pa.StructArray.from_arrays([pa.array([1, 2]), pa.array([3, 4])], ["a", "b"])
    columns = {
        "float16": pa.array([1.5, 2.5], pa.float16()),
        "decimal256": pa.array([1, 2], pa.decimal256(40, 0)),
        "list": pa.array([[1], [2, 3]]),
        "dictionary": pa.array(["a", "b"]).dictionary_encode(),
        "null": pa.nulls(2),
        "nested_struct": pa.array([{"a": {"b": 1}}, {"a": {"b": 2}}]),
        "fixed_size_list_bool": pa.array([[True, False], [False, True]], pa.list_(pa.bool_(), 2)),
    }
    for name, array in columns.items():
        write(pa.table({"c": array}), folder / f"{name}.pylance-{VERSION}.lance", "2.2")
    write(tagged({"c": packed}, packed="true"), folder / f"packed_struct.pylance-{VERSION}.lance", "2.2")
    write(tagged({"c": pa.array([b"a", b"b"], pa.large_binary())}, blob="true"), folder / f"blob.pylance-{VERSION}.lance", "2.1")


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, make in FIXTURES.items():
        made = make()
        table = made if isinstance(made, pa.Table) else pa.table(made)
        for version in ("2.1", "2.2"):
            write_fixture(folder, name, table, version)
    write_refused(folder / "refused")


if __name__ == "__main__":
    main()
