"""The one table of column types that lake reads and writes, and how to fill a column of each.

A *cell* of the interop suites is one column: a type, a null pattern, a number of rows and a shape of the
values (the shapes drive which encodings a writer chooses). `column()` is deterministic in its arguments.
"""

import zlib
from dataclasses import dataclass
from typing import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NULLS = ("none", "some", "all")
ROWS = (0, 1, 1000, 100_000)
SHAPES = ("random", "few", "sorted", "runs", "constant")


@dataclass(frozen=True)
class TypeCase:
    name: str
    type: pa.DataType
    # n values of the type, none of them null.
    values: Callable[[np.random.Generator, int], pa.Array]
    # Values are large: the full number of rows would take minutes and gigabytes.
    most_rows: int = 100_000


def _ints(arrow_type, low=None, high=None):
    """All of the integer type's range with its ends, or [low, high)."""
    dtype = arrow_type.to_pandas_dtype()

    def values(rng, n):
        if high is not None:
            return pa.array(rng.integers(low, high, n, dtype=dtype), arrow_type)
        info = np.iinfo(dtype)
        numbers = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        edges = [info.min, info.max, 0, 1]
        numbers[: len(edges)] = edges[:n]
        return pa.array(numbers, arrow_type)

    return values


def _temporal(arrow_type, low=None, high=None):
    storage = pa.int32() if arrow_type.bit_width == 32 else pa.int64()
    return lambda rng, n: _ints(storage, low, high)(rng, n).view(arrow_type)


def _floats(arrow_type):
    special = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0]

    def values(rng, n):
        numbers = rng.normal(0, 1e3, n).astype(arrow_type.to_pandas_dtype())
        if n > len(special):
            numbers[: len(special)] = special
        return pa.array(numbers, arrow_type)

    return values


def _bools(rng, n):
    return pa.array(rng.integers(0, 2, n).astype(bool))


def _decimals(arrow_type):
    def values(rng, n):
        # A decimal is 16 bytes, little-endian two's complement, below ten to its precision.
        limit = 10**arrow_type.precision
        if limit < 1 << 63:
            low = rng.integers(1 - limit, limit, n)
            high = low >> 63
        else:
            low = rng.integers(-(1 << 63), 1 << 63, n)
            high = rng.integers(1 - (limit >> 64), limit >> 64, n)
        raw = np.column_stack((low, high)).astype("<i8").tobytes()
        return pa.Array.from_buffers(arrow_type, n, [None, pa.py_buffer(raw)])

    return values


WORDS = pa.array(["lake", "Fluss", "湖", "robot", "arm", "camera", "lidar", "épisode", "grasp", "🦾", "run", "left"])


def _offsets(lengths):
    return pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())


def _texts(arrow_type, longest):
    def values(rng, n):
        lengths = rng.integers(0, longest // 6 + 1, n)
        words = WORDS.take(pa.array(rng.integers(0, len(WORDS), lengths.sum())))
        return pc.binary_join(pa.ListArray.from_arrays(_offsets(lengths), words), " ").cast(arrow_type)

    return values


def _bytes(arrow_type, shortest, longest):
    def values(rng, n):
        lengths = rng.integers(shortest, longest, n, endpoint=True)
        offsets, raw = _offsets(lengths).buffers()[1], pa.py_buffer(rng.bytes(int(lengths.sum())))
        return pa.Array.from_buffers(pa.binary(), n, [None, offsets, raw]).cast(arrow_type)

    return values


def _lists(items, size):
    return lambda rng, n: pa.FixedSizeListArray.from_arrays(items(rng, n * size), size)


def _with_nulls(items):
    return lambda rng, n: pc.if_else(pa.array(rng.random(n) < 0.8), items(rng, n), None)


def _structs(**children):
    def values(rng, n):
        return pa.StructArray.from_arrays([_with_nulls(make)(rng, n) for make in children.values()], list(children))

    return values


def _types():
    yield TypeCase("bool", pa.bool_(), _bools)
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        arrow_type = getattr(pa, name)()
        yield TypeCase(name, arrow_type, _ints(arrow_type))
    yield TypeCase("int32_small", pa.int32(), _ints(pa.int32(), 0, 1000))
    yield TypeCase("uint64_small", pa.uint64(), _ints(pa.uint64(), 0, 1 << 20))
    for arrow_type in (pa.float32(), pa.float64()):
        yield TypeCase(str(arrow_type), arrow_type, _floats(arrow_type))
    for precision, scale in ((38, 10), (5, 0), (9, -3)):
        arrow_type = pa.decimal128(precision, scale)
        yield TypeCase(f"decimal128_{precision}_{scale}", arrow_type, _decimals(arrow_type))
    for name, arrow_type in (("string", pa.string()), ("large_string", pa.large_string())):
        yield TypeCase(name, arrow_type, _texts(arrow_type, 40))
        yield TypeCase(f"{name}_tiny", arrow_type, _texts(arrow_type, 6))
        yield TypeCase(f"{name}_wide", arrow_type, _texts(arrow_type, 1200), 20_000)
    yield TypeCase("string_huge", pa.string(), _texts(pa.string(), 80_000), 500)
    for name, arrow_type in (("binary", pa.binary()), ("large_binary", pa.large_binary())):
        yield TypeCase(name, arrow_type, _bytes(arrow_type, 0, 40))
        yield TypeCase(f"{name}_wide", arrow_type, _bytes(arrow_type, 100, 700), 20_000)
    yield TypeCase("binary_huge", pa.binary(), _bytes(pa.binary(), 30_000, 90_000), 100)
    for width in (3, 16, 40, 300):
        arrow_type = pa.binary(width)
        yield TypeCase(f"fixed_size_binary_{width}", arrow_type, _bytes(arrow_type, width, width),
                       100_000 if width < 256 else 5000)
    yield TypeCase("date32", pa.date32(), _temporal(pa.date32(), 0, 20_000))
    yield TypeCase("date64", pa.date64(), lambda rng, n: pa.array(rng.integers(0, 20_000, n) * 86_400_000).view(pa.date64()))
    yield TypeCase("time32_s", pa.time32("s"), _temporal(pa.time32("s"), 0, 86_400))
    yield TypeCase("time32_ms", pa.time32("ms"), _temporal(pa.time32("ms"), 0, 86_400_000))
    yield TypeCase("time64_us", pa.time64("us"), _temporal(pa.time64("us"), 0, 86_400_000_000))
    yield TypeCase("time64_ns", pa.time64("ns"), _temporal(pa.time64("ns"), 0, 86_400_000_000_000))
    for unit in ("s", "ms", "us", "ns"):
        yield TypeCase(f"timestamp_{unit}", pa.timestamp(unit), _temporal(pa.timestamp(unit), 0, 1 << 32))
        yield TypeCase(f"duration_{unit}", pa.duration(unit), _temporal(pa.duration(unit)))
    for unit, zone in (("us", "UTC"), ("ns", "+05:30"), ("ms", "Europe/Berlin")):
        arrow_type = pa.timestamp(unit, zone)
        yield TypeCase(f"timestamp_{unit}_{zone}", arrow_type, _temporal(arrow_type))
    for items, size, most_rows in ((pa.float32(), 8, 20_000), (pa.float32(), 128, 2000), (pa.float64(), 7, 20_000)):
        yield TypeCase(f"fixed_size_list_{items}_{size}", pa.list_(items, size), _lists(_floats(items), size), most_rows)
    yield TypeCase("fixed_size_list_uint8_3", pa.list_(pa.uint8(), 3), _lists(_ints(pa.uint8()), 3), 20_000)
    yield TypeCase("fixed_size_list_int64_5_null_items", pa.list_(pa.int64(), 5),
                   _lists(_with_nulls(_ints(pa.int64())), 5), 20_000)
    yield TypeCase("fixed_size_list_double_33_null_items", pa.list_(pa.float64(), 33),
                   _lists(_with_nulls(_floats(pa.float64())), 33), 5000)
    yield TypeCase(
        "struct",
        pa.struct([("number", pa.int32()), ("text", pa.string()), ("flag", pa.bool_()), ("vector", pa.list_(pa.float32(), 4)),
                   ("wide", pa.list_(pa.float32(), 64)), ("time", pa.timestamp("us"))]),
        _structs(number=_ints(pa.int32(), 0, 5000), text=_texts(pa.string(), 30), flag=_bools,
                 vector=_lists(_floats(pa.float32()), 4), wide=_lists(_floats(pa.float32()), 64),
                 time=_temporal(pa.timestamp("us"))),
        5000)


def _some_null(items):
    """Values of any type, a fifth of them null."""
    return lambda rng, n: items(rng, n).take(pa.array(np.arange(n), mask=rng.random(n) < 0.2))


def _ends(rng, n, most):
    return np.concatenate([[0], np.cumsum(rng.integers(0, most, n, endpoint=True))])


def _var_lists(items, most=5, large=False):
    """Lists of 0 to `most` items."""

    def values(rng, n):
        ends = _ends(rng, n, most)
        make = pa.LargeListArray if large else pa.ListArray
        return make.from_arrays(pa.array(ends, pa.int64() if large else pa.int32()), items(rng, int(ends[-1])))

    return values


def _maps(keys, items, most=4):
    def values(rng, n):
        ends = _ends(rng, n, most)
        return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys(rng, int(ends[-1])), items(rng, int(ends[-1])))

    return values


def _dictionaries(key, items, distinct):
    def values(rng, n):
        return pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, distinct, n), key), items(rng, distinct))

    return values


def _distinct_texts(rng, n):
    return pa.array([f"{i} {'value' * (i % 9)}" for i in range(n)])


def _struct_of(**children):
    """A struct whose children are not null by themselves."""
    return lambda rng, n: pa.StructArray.from_arrays([make(rng, n) for make in children.values()], list(children))


def _halves(rng, n):
    return pa.array(rng.normal(0, 10, n).astype(np.float16))


def _decimals256(arrow_type):
    def values(rng, n):
        raw = b"".join(int.from_bytes(rng.bytes(20), "little").to_bytes(32, "little") for _ in range(n))
        return pa.Array.from_buffers(arrow_type, n, [None, pa.py_buffer(raw)])

    return values


def _more_types():
    """Types that are read, each with the first file version that has it."""

    def case(name, values, most_rows=5000, since="2.1"):
        return since, TypeCase(name, values(np.random.default_rng(0), 2).type, values, most_rows)

    ints, texts, small = _ints(pa.int32(), 0, 5000), _texts(pa.string(), 30), _ints(pa.int16())
    tiny = _ints(pa.int8())
    yield case("halffloat", _halves)
    yield case("decimal256", _decimals256(pa.decimal256(60, 5)))
    yield case("null", lambda rng, n: pa.nulls(n))
    yield case("fixed_size_list_halffloat_4", _lists(_halves, 4))
    yield case("fixed_size_list_bool_12", _lists(_some_null(_bools), 12))
    yield case("fixed_size_list_bool_4096", _lists(_bools, 4096), 100)
    yield case("fixed_size_list_timestamp_3", _lists(_temporal(pa.timestamp("us", "+01:00")), 3))
    yield case("fixed_size_list_decimal_2", _lists(_some_null(_decimals(pa.decimal128(20, 2))), 2))
    yield case("fixed_size_list_nested", _lists(_lists(tiny, 2), 3))
    yield case("fixed_size_list_nested_nulls", _lists(_some_null(_lists(_some_null(tiny), 2)), 3))
    yield case("fixed_size_list_nested_wide", _lists(_some_null(_lists(_some_null(_floats(pa.float32())), 40)), 3), 1000)
    yield case("fixed_size_list_all_null", _lists(lambda rng, n: pa.nulls(n, pa.float32()), 5), 500)
    yield case("fixed_size_list_nested_all_null", _lists(lambda rng, n: pa.nulls(n, pa.list_(pa.int8(), 2)), 3), 500)
    for key, distinct in ((pa.int8(), 20), (pa.uint8(), 200), (pa.int16(), 300), (pa.int32(), 2000), (pa.int64(), 9)):
        yield case(f"dictionary_{key}", _dictionaries(key, _distinct_texts, distinct))
    yield case("dictionary_int64_values", _dictionaries(pa.int16(), lambda rng, n: pa.array(np.arange(n) * 10**12), 90))
    yield case("dictionary_large_string", _dictionaries(pa.int32(), lambda rng, n: _distinct_texts(rng, n).cast(pa.large_string()), 50))
    yield case("list_int32", _var_lists(_some_null(ints)))
    yield case("list_int64_no_nulls", _var_lists(_ints(pa.int64()), 3))
    yield case("large_list_string", _var_lists(_some_null(texts), large=True))
    yield case("list_bool", _var_lists(_some_null(_bools), 20))
    yield case("list_long", _var_lists(_some_null(ints), 30_000), 60)
    yield case("list_wide_string", _var_lists(_some_null(_texts(pa.string(), 900)), 3), 800)
    yield case("list_binary", _var_lists(_some_null(_bytes(pa.binary(), 0, 40))))
    yield case("list_fixed_size_list_4", _var_lists(_some_null(_lists(_floats(pa.float32()), 4))))
    yield case("list_fixed_size_list_128", _var_lists(_some_null(_lists(_some_null(_floats(pa.float32())), 128)), 3), 600)
    yield case("list_decimal", _var_lists(_some_null(_decimals(pa.decimal128(20, 2)))))
    yield case("list_dictionary", _var_lists(_dictionaries(pa.int8(), _distinct_texts, 20)))
    yield case("list_list", _var_lists(_some_null(_var_lists(_some_null(small), 4)), 4))
    yield case("list_list_list", _var_lists(_some_null(_var_lists(_some_null(_var_lists(_some_null(small), 3)), 3)), 3), 3000)
    yield case("struct_list", _structs(number=ints, items=_var_lists(_some_null(texts))))
    yield case("struct_struct", _structs(inner=_structs(deep=_structs(number=ints, text=texts), flag=_bools), number=ints))
    yield case("list_struct", _var_lists(_some_null(_structs(number=ints, text=texts, flag=_bools))))
    yield case("list_struct_list", _var_lists(_some_null(_structs(number=ints, items=_var_lists(_some_null(small), 3))), 3))
    yield case("struct_list_struct_list",
               _structs(rows=_var_lists(_some_null(_structs(id=ints, parts=_var_lists(_some_null(_structs(a=texts, b=small)), 3))), 3), n=ints), 3000)
    yield case("struct_null", _structs(nothing=lambda rng, n: pa.nulls(n), number=ints))
    yield case("struct_dictionary", _structs(word=_dictionaries(pa.int8(), _distinct_texts, 20)))
    yield case("map_string_int32", _maps(texts, _some_null(ints)), since="2.2")
    yield case("map_int32_struct", _maps(ints, _some_null(_structs(a=texts, b=small))), since="2.2")
    yield case("map_list", _maps(ints, _some_null(_var_lists(_some_null(small)))), since="2.2")
    yield case("list_map", _var_lists(_some_null(_maps(ints, _some_null(texts)))), 3000, since="2.2")
    yield case("fixed_size_list_struct", _lists(_some_null(_structs(number=ints, text=texts)), 3), since="2.2")
    yield case("struct_fixed_size_list_struct", _structs(pair=_lists(_some_null(_structs(number=ints)), 2)), since="2.2")


# Those that lake also writes stand in TYPES.
READ_ONLY = tuple(_more_types())
# Of these, what upstream before 12 cannot write, or (lists of nothing but null items) writes so that nobody reads it.
TOO_NEW = ("fixed_size_list_timestamp_3", "fixed_size_list_all_null", "fixed_size_list_nested_all_null", "struct_null")
TYPES = tuple(_types())


def _sorted(values):
    if pa.types.is_nested(values.type) or pa.types.is_fixed_size_binary(values.type):
        return values
    if pa.types.is_dictionary(values.type) or pa.types.is_null(values.type) or values.type in (pa.float16(), pa.decimal256(60, 5)):
        return values
    return values.take(pc.sort_indices(values))


def column(case: TypeCase, nulls: str, rows: int, shape: str) -> pa.Array:
    """`rows` values (at most case.most_rows) with the given nulls."""
    rows = min(rows, case.most_rows)
    rng = np.random.default_rng(zlib.crc32(f"{case.name}/{nulls}/{rows}/{shape}".encode()))
    if nulls == "all" or rows == 0:
        return pa.nulls(rows, case.type)
    if shape == "constant":
        values, rows_of = case.values(rng, 1), np.zeros(rows, np.int64)
    elif shape == "few":
        distinct = min(rows, 20)
        values, rows_of = case.values(rng, distinct), rng.integers(0, distinct, rows)
    elif shape == "runs":
        distinct = max(1, rows // 50)
        values, rows_of = case.values(rng, distinct), np.arange(rows) * distinct // rows
    else:
        values, rows_of = case.values(rng, rows), np.arange(rows)
        if shape == "sorted":
            values = _sorted(values)
    is_null = np.zeros(rows, bool)
    if nulls == "some":
        # Stretches where most rows are valid or most are null, and single nulls in between.
        is_null = rng.random(rows) < np.where(np.arange(rows) // 3000 % 4 == 3, 0.9, 0.1)
    return values.take(pa.array(rows_of, mask=is_null)).cast(case.type)


def tables(nulls: str, rows: int, shape: str):
    """Tables that together hold one column per type: types with fewer rows at most go into tables of their own."""
    row_counts = sorted({min(rows, case.most_rows) for case in TYPES})
    for row_count in row_counts:
        cases = [case for case in TYPES if min(rows, case.most_rows) == row_count]
        yield pa.table({case.name: column(case, nulls, row_count, shape) for case in cases})


def patterns(rows=ROWS, nulls=NULLS, shapes=SHAPES):
    """(nulls, rows, shape) of every group of cells. Few rows and no values have only one shape."""
    for row_count in rows:
        for null_pattern in nulls:
            shapes_here = shapes if null_pattern != "all" and row_count >= 1000 else ("random",)
            for shape in shapes_here:
                yield null_pattern, row_count, shape


def difference(expected: pa.Array, actual: pa.Array) -> str:
    """Empty if equal in type, nulls and every bit of every valid value (NaN equals itself, -0.0 is not 0.0), else why not."""
    if expected.type != actual.type:
        return f"type {actual.type} instead of {expected.type}"
    if len(expected) != len(actual):
        return f"{len(actual)} rows instead of {len(expected)}"
    if not expected.is_valid().equals(actual.is_valid()):
        return f"nulls differ: {actual.null_count} instead of {expected.null_count}"
    if pa.types.is_floating(expected.type):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[expected.type.bit_width]
        return difference(expected.view(bits), actual.view(bits))
    if pa.types.is_struct(expected.type):
        pairs = zip(expected.type, expected.flatten(), actual.flatten())
        return next((f"{field.name}: {text}" for field, a, b in pairs if (text := difference(a, b))), "")
    if pa.types.is_fixed_size_list(expected.type):
        text = difference(expected.flatten(), actual.flatten())
        return text and f"items: {text}"
    if expected.equals(actual):
        return ""
    same, unequal = 0, len(expected)  # equal up to `same`, not up to `unequal`
    while unequal - same > 1:
        middle = (same + unequal) // 2
        same, unequal = (middle, unequal) if expected[:middle].equals(actual[:middle]) else (same, middle)
    return f"row {same}: {actual[same:unequal].to_string()[:80]!r} instead of {expected[same:unequal].to_string()[:80]!r}"


def compare(expected: pa.Table, actual: pa.Table) -> list:
    """What differs, one text per column."""
    assert expected.column_names == actual.column_names
    pairs = ((name, expected[name].combine_chunks(), actual[name].combine_chunks()) for name in expected.column_names)
    return [f"{name}: {text}" for name, a, b in pairs if (text := difference(a, b))]
