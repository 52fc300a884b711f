"""Random tables and what a model makes of operations on them: for test_random_tables.py.

The model is an Arrow table with a column `id` without equals; rows are compared in the order of their ids, every bit of them.
"""

import random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from type_table import READ_ONLY, TYPES

# (first file version that has it, type case). Upstream cannot read lists of structs of a fixed size beside other columns.
CASES = [*(("2.0", case) for case in TYPES), *((since, case) for since, case in READ_ONLY if "fixed_size_list_struct" not in case.name)]
# Upstream writes no nulls of structs to 2.0, and none of these later ones.
NOT_IN_20 = ("struct", "null", "map")
SETTINGS = ({}, {}, {}, {"compression": "zstd"}, {"compression": "lz4"}, {"compression": "none"}, {"compression": "fsst"},
            {"dict-values-compression": "zstd"}, {"rle-threshold": "1.0"})


class Kind:
    """A column's type, and how values of it are made."""

    def __init__(self, chance, case):
        self.case = case
        self.nulls = chance.choice([0, 0, 0.1, 0.5, 0.95, 1])
        self.shape = chance.choice(["random", "random", "few", "runs", "constant"])

    @property
    def type(self):
        return self.case.type

    def values(self, chance, count):
        rng = np.random.default_rng(chance.getrandbits(32))
        if count == 0 or self.nulls == 1:
            return pa.nulls(count, self.type)
        distinct = {"random": count, "few": min(count, 7), "runs": max(1, count // 40), "constant": 1}[self.shape]
        places = np.arange(count)
        if self.shape == "runs":
            places = places * distinct // count
        elif self.shape != "random":
            places = rng.integers(0, distinct, count)
        values = self.case.values(rng, distinct)
        return values.take(pa.array(places, mask=rng.random(count) < self.nulls)).cast(self.type)


def choose_rows(chance, kinds):
    """How many rows a table, or a part of it, gets."""
    most = min([kind.case.most_rows for kind in kinds.values()] + [5000])
    if most < 5000:
        most = min(most, 150)
    return min(most, chance.choice([0, 1, 2, 5, 17, 100, 333, 1000, 1025, 5000]))


def fits(case, since, version):
    if version == "2.0":
        return since == "2.0" and not any(word in case.name for word in NOT_IN_20)
    return since <= version


def choose_kinds(chance, version):
    cases = [case for since, case in CASES if fits(case, since, version)]
    return {f"c{i}": Kind(chance, chance.choice(cases)) for i in range(chance.choice([1, 1, 2, 3, 5, 8]))}


def make_rows(chance, kinds, ids):
    """Rows of these ids: `id`, a number `n`, and a column of each kind."""
    count = len(ids)
    columns = {"id": pa.array(ids, pa.int64()), "n": pa.array([chance.randrange(10**6) for _ in range(count)], pa.int64())}
    return pa.table(columns | {name: kind.values(chance, count) for name, kind in kinds.items()})


def with_settings(chance, table):
    """The table with field metadata that steers how upstream writes leaf columns."""
    fields = []
    for field in table.schema:
        chosen = chance.choice(SETTINGS)
        plain = not pa.types.is_nested(field.type) and not pa.types.is_dictionary(field.type) and not pa.types.is_null(field.type)
        if chosen and plain:
            field = field.with_metadata({f"lance-encoding:{key}": value for key, value in chosen.items()})
        fields.append(field)
    return pa.table(table.columns, schema=pa.schema(fields))


def solid(column):
    """The same values as an array that is no slice: of slices Arrow 26 chooses wrong rows of fixed-size lists of fixed-size lists."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.concat_arrays(chunks) if chunks else column.combine_chunks()


def solid_table(table):
    return pa.table([solid(column) for column in table.columns], schema=table.schema)


def without(table, ids):
    return solid_table(table).filter(pc.invert(in_rows(table, ids)))


def only(table, ids):
    return solid_table(table).filter(in_rows(table, ids))


def replaced(table, name, column):
    return table.set_column(table.schema.get_field_index(name), name, column)


def in_rows(table, ids):
    return pc.is_in(table["id"], value_set=pa.array(ids, pa.int64())).combine_chunks()


def with_nulls(table, name, ids):
    """`name` is null in the rows of `ids`."""
    hit = in_rows(table, ids).to_numpy(zero_copy_only=False)
    places = pa.array(np.arange(len(table)), mask=hit)
    return replaced(table, name, solid(table[name]).take(places))


def merged(table, source):
    """Rows of the source in place of those of the same id, or added; columns that it lacks stay, or are null."""
    old = only(table, source["id"].to_pylist())
    lacking = [name for name in table.column_names if name not in source.column_names]
    columns = {name: source[name].combine_chunks() for name in source.column_names}
    if lacking:
        places = {i: at for at, i in enumerate(old["id"].to_pylist())}
        found = pa.array([places.get(i) for i in source["id"].to_pylist()], pa.int64())
        for name in lacking:
            columns[name] = solid(old[name]).take(found)
    new = pa.table([columns[name] for name in table.column_names], schema=table.schema)
    return pa.concat_tables([without(table, source["id"].to_pylist()), new])


def difference(expected, actual):
    """Empty if both have the same type, nulls, and bits of each valid value at every level; else why not."""
    if isinstance(expected.type, pa.BaseExtensionType) or isinstance(actual.type, pa.BaseExtensionType):
        if expected.type != actual.type:
            return f"type {actual.type} instead of {expected.type}"
        return difference(expected.storage, actual.storage)
    if pa.types.is_dictionary(expected.type):
        if actual.type != expected.type:
            return f"type {actual.type} instead of {expected.type}"
        return difference(expected.dictionary_decode(), actual.dictionary_decode())
    if len(expected) != len(actual):
        return f"{len(actual)} values instead of {len(expected)}"
    if not expected.is_valid().equals(actual.is_valid()):
        return f"nulls differ: {actual.null_count} instead of {expected.null_count}"
    if expected.null_count:
        valid = expected.is_valid()
        expected, actual = solid(expected).filter(valid), solid(actual).filter(valid)
    if pa.types.is_struct(expected.type):
        if [f.name for f in expected.type] != [f.name for f in actual.type]:
            return f"type {actual.type} instead of {expected.type}"
        parts = ((f.name, expected.field(i), actual.field(i)) for i, f in enumerate(expected.type))
    elif pa.types.is_map(expected.type):
        if not pa.types.is_map(actual.type):
            return f"type {actual.type} instead of {expected.type}"
        if not _lengths(expected).equals(_lengths(actual)):
            return "lengths of maps differ"
        parts = (("key", _entries(expected, expected.keys), _entries(actual, actual.keys)),
                 ("value", _entries(expected, expected.items), _entries(actual, actual.items)))
    elif pa.types.is_list(expected.type) or pa.types.is_large_list(expected.type) or pa.types.is_fixed_size_list(expected.type):
        if str(type(actual)) != str(type(expected)):
            return f"type {actual.type} instead of {expected.type}"
        if not pc.list_value_length(expected).equals(pc.list_value_length(actual)):
            return "lengths of lists differ"
        parts = (("item", expected.flatten(), actual.flatten()),)
    else:
        return _leaf_difference(expected, actual)
    return next((f"{name}: {text}" for name, a, b in parts if (text := difference(a, b))), "")


def _lengths(array):
    offsets = array.offsets
    return pc.subtract(offsets[1:], offsets[:-1])


def _entries(array, children):
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return children[first:last] if len(children) != last - first else children


def _leaf_difference(expected, actual):
    if expected.type != actual.type:
        return f"type {actual.type} instead of {expected.type}"
    if pa.types.is_floating(expected.type):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[expected.type.bit_width]
        expected, actual = expected.view(bits), actual.view(bits)
    if expected.equals(actual):
        return ""
    at = next(i for i in range(len(expected)) if not expected[i:i + 1].equals(actual[i:i + 1]))
    return f"value {at} of those that are valid: {str(actual[at])[:60]!r} instead of {str(expected[at])[:60]!r}"


def compare(expected, actual):
    """What differs, one text per column. Both are sorted by id."""
    if expected.column_names != actual.column_names:
        return [f"columns {actual.column_names} instead of {expected.column_names}"]
    order = [table["id"].combine_chunks() for table in (expected, actual)]
    if len(order[0]) != len(order[1]):
        return [f"{len(order[1])} rows instead of {len(order[0])}"]
    sorted_tables = [solid_table(table).take(pc.sort_indices(ids)) for table, ids in zip((expected, actual), order)]
    return [f"{name}: {text}" for name in expected.column_names
            if (text := difference(sorted_tables[0][name].combine_chunks(), sorted_tables[1][name].combine_chunks()))]


def seeded(seed, number):
    """The choices of table `number` of a run: each can be made again alone."""
    return random.Random(f"{seed}/{number}")
