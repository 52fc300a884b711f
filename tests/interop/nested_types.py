"""Nested column types and the rarer leaf types, and how to fill a column of each with nulls at every level.

`nested_column()` is deterministic in its arguments; values come from a generator of Python objects that follows the type.
"""

import decimal
import functools
import random
import zlib

import pyarrow as pa

# How often a value is null, a list empty, and how long lists get.
SHAPES = {
    "full": (0, 0, 4),
    "mixed": (0.2, 0.2, 6),
    "sparse": (0.85, 0.6, 3),
    "long": (0.05, 0.05, 700),
    "empty": (0.3, 1, 1),
    "null": (1, 0, 1),
}
WORDS = ["lake", "Fluss", "湖", "robot", "", "camera front left", "épisode", "🦾"]


def _leaf(rng, arrow_type):
    """A function that makes one value."""
    if pa.types.is_boolean(arrow_type):
        return lambda: rng.random() < 0.5
    if pa.types.is_integer(arrow_type):
        return lambda: rng.randrange(100)
    if pa.types.is_floating(arrow_type):
        return lambda: rng.randrange(-500, 500) / 4
    if pa.types.is_decimal(arrow_type):
        return lambda: decimal.Decimal(rng.randrange(-10**12, 10**12)).scaleb(-arrow_type.scale)
    if pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type) or pa.types.is_string_view(arrow_type):
        return lambda: " ".join(rng.choices(WORDS, k=rng.randrange(4)))
    if pa.types.is_fixed_size_binary(arrow_type):
        return lambda: rng.randbytes(arrow_type.byte_width)
    if pa.types.is_binary(arrow_type) or pa.types.is_large_binary(arrow_type) or pa.types.is_binary_view(arrow_type):
        return lambda: rng.randbytes(rng.randrange(12))
    if pa.types.is_timestamp(arrow_type) or pa.types.is_date64(arrow_type):
        return lambda: rng.randrange(20_000) * 86_400_000
    raise AssertionError(arrow_type)


class _Maker:
    """Makes functions that make values, so that a type is looked at once and not for each value."""

    def __init__(self, rng, shape):
        self.rng = rng
        self.nulls, self.empties, self.longest = SHAPES[shape]

    def length(self, depth):
        """Lists of lists would multiply: only the outermost are long."""
        if self.rng.random() < self.empties:
            return 0
        longest = self.longest if depth == 0 and self.rng.random() < 0.1 else min(self.longest, 4)
        return self.rng.randrange(longest + 1)

    def value(self, field_type, nullable=True, depth=0):
        if pa.types.is_null(field_type):
            return lambda: None
        make = self.valid(field_type, depth)
        return (lambda: None if self.rng.random() < self.nulls else make()) if nullable and self.nulls else make

    def valid(self, field_type, depth):
        if pa.types.is_struct(field_type):
            fields = [(field.name, self.value(field.type, field.nullable, depth)) for field in field_type]
            return lambda: {name: make() for name, make in fields}
        if pa.types.is_map(field_type):
            key = "k{}".format if pa.types.is_string(field_type.key_type) else int
            make = self.value(field_type.item_type, depth=depth + 1)
            return lambda: [(key(i), make()) for i in range(self.length(depth))]
        if pa.types.is_fixed_size_list(field_type):
            items = self.items(field_type.value_field, depth)
            return lambda: items(field_type.list_size)
        if pa.types.is_list(field_type) or pa.types.is_large_list(field_type):
            items = self.items(field_type.value_field, depth + 1)
            return lambda: items(self.length(depth))
        return _leaf(self.rng, field_type)

    def items(self, field, depth):
        """A function that makes so many items of a list."""
        make = self.value(field.type, field.nullable, depth)
        if not (pa.types.is_floating(field.type) or pa.types.is_integer(field.type)):
            return lambda count: [make() for _ in range(count)]
        # There are many numbers in lists, and these take less time to choose than to make.
        numbers = [make() for _ in range(1000)]
        return lambda count: self.rng.choices(numbers, k=count)


@functools.cache
def nested_column(name, arrow_type, rows, shape):
    make = _Maker(random.Random(zlib.crc32(f"{name}/{rows}/{shape}".encode())), shape).value(arrow_type)
    return pa.array([make() for _ in range(rows)], arrow_type)


_point = pa.struct([("x", pa.int32()), ("name", pa.string())])

# What 2.1 files hold too.
NESTED_21 = {
    "list_int": pa.list_(pa.int32()),
    "list_bool": pa.list_(pa.bool_()),
    "list_double": pa.list_(pa.float64()),
    "large_list_string": pa.large_list(pa.string()),
    "list_binary": pa.list_(pa.binary()),
    "list_not_null_items": pa.list_(pa.field("item", pa.int64(), nullable=False)),
    "list_fsl": pa.list_(pa.list_(pa.float32(), 3)),
    "list_wide_fsl": pa.list_(pa.list_(pa.float32(), 80)),
    "list_fsb300": pa.list_(pa.binary(300)),
    "list_list": pa.list_(pa.list_(pa.int16())),
    "list_list_list": pa.list_(pa.list_(pa.list_(pa.string()))),
    "list_struct": pa.list_(_point),
    "list_struct_list": pa.list_(pa.struct([("a", pa.int32()), ("b", pa.list_(pa.int64())), ("c", pa.string())])),
    "struct_list": pa.struct([("a", pa.list_(pa.int32())), ("b", pa.int32())]),
    "struct_struct": pa.struct([("a", pa.struct([("b", pa.struct([("c", pa.int32()), ("d", pa.string())]))])), ("e", pa.bool_())]),
    "struct_struct_list": pa.struct([("a", pa.struct([("b", pa.list_(pa.struct([("c", pa.float32())])))]))]),
    "fsl_bool": pa.list_(pa.bool_(), 5),
    "fsl_bool_8": pa.list_(pa.bool_(), 8),
    "fsl_fsl": pa.list_(pa.list_(pa.int32(), 3), 2),
    "fsl_fsl_wide": pa.list_(pa.list_(pa.float32(), 16), 8),
    "fsl_half": pa.list_(pa.float16(), 4),
    "half": pa.float16(),
    "decimal256": pa.decimal256(60, 4),
    "null": pa.null(),
    "string_view": pa.string_view(),
    "binary_view": pa.binary_view(),
}
NESTED_22 = {
    "map_string_int": pa.map_(pa.string(), pa.int32()),
    "map_int_list": pa.map_(pa.int64(), pa.list_(pa.string())),
    "list_map": pa.list_(pa.map_(pa.string(), pa.float64())),
    "struct_map": pa.struct([("m", pa.map_(pa.string(), pa.struct([("x", pa.int32())])))]),
    "fsl_struct": pa.list_(_point, 3),
}
