"""Every row of the tables of docs/sql-types.md, both ways: SQL writes and upstream reads, upstream writes and SQL reads.

Lake is the real program. Each type has four values, the third of them null, the others ascending; nested ones have nulls at
every level. Expectations are Python values and upstream's own reading, never lake's.
"""

import decimal
import json
import re
import shutil
import uuid
from dataclasses import dataclass, field

import lance
import pyarrow as pa
import pytest
from conftest import ROOT
from lance._arrow.bf16 import BFloat16Type
from type_table import difference

D = decimal.Decimal
UUIDS = [uuid.UUID(int=1), uuid.UUID("123e4567-e89b-12d3-a456-426614174000"), None, uuid.UUID(int=(1 << 128) - 1)]


@dataclass
class Case:
    """A column of CREATE TABLE."""

    sql: str
    type: pa.DataType
    # SQL of the values but the null, and what they are.
    literals: list
    values: list
    # Where a part of the value equals that of the first row only: (expression, literal).
    part: tuple = None

    def literal(self, row):
        return "NULL" if row == 2 else f"CAST({self.literals[min(row, 2)]} AS {self.sql})"

    def array(self, rows=(0, 1, 2, 3)):
        values = [*self.values[:2], None, *self.values[2:]]
        return make(self.type, [values[row] for row in rows])


def make(arrow_type, values):
    if arrow_type == pa.uuid():
        return pa.ExtensionArray.from_storage(arrow_type, pa.array([v and v.bytes for v in values], pa.binary(16)))
    if pa.types.is_list(arrow_type) and arrow_type.value_type == pa.uuid():
        storage = pa.array([v and [u and u.bytes for u in v] for v in values], pa.list_(pa.binary(16)))
        return pa.ListArray.from_arrays(storage.offsets, make(pa.uuid(), [u for v in values for u in v or []]), type=arrow_type,
                                        mask=storage.is_null())
    return pa.array(values, arrow_type)


def integers(name, arrow_type, low, high):
    return Case(name, arrow_type, [str(low), "0" if low else "7", str(high)], [low, 0 if low else 7, high])


def timestamps(name, unit):
    scale, fraction = {"s": (1, ""), "ms": (1000, ".999"), "us": (10**6, ".999999"), "ns": (10**9, ".999999999")}[unit]
    literals = [f"'1969-12-31 23:59:59{fraction}'", "'1970-01-02 00:00:00'", "'2026-11-30 12:00:00'"]
    return Case(name, pa.timestamp(unit), literals, [-1, 86400 * scale, 1796040000 * scale])


CREATED = {
    "`BOOLEAN`": [Case("BOOLEAN", pa.bool_(), ["false", "true", "true"], [False, True, True])],
    "`TINYINT`, `SMALLINT`, `INTEGER`, `BIGINT`": [
        integers(name, getattr(pa, f"int{bits}")(), -(1 << bits - 1), (1 << bits - 1) - 1)
        for name, bits in (("TINYINT", 8), ("SMALLINT", 16), ("INTEGER", 32), ("BIGINT", 64))],
    "`UTINYINT`, `USMALLINT`, `UINTEGER`, `UBIGINT`": [
        integers(name, getattr(pa, f"uint{bits}")(), 0, (1 << bits) - 1)
        for name, bits in (("UTINYINT", 8), ("USMALLINT", 16), ("UINTEGER", 32), ("UBIGINT", 64))],
    "`FLOAT`, `DOUBLE`": [Case(name, arrow_type, ["-1.5", "'-0.0'", "'nan'"], [-1.5, -0.0, float("nan")])
                          for name, arrow_type in (("FLOAT", pa.float32()), ("DOUBLE", pa.float64()))],
    "`DECIMAL(p, s)`, p ≤ 38": [
        Case(f"DECIMAL({p}, {s})", pa.decimal128(p, s), [f"-{top}", "0.1", str(top)], [top.copy_negate(), D("0.1"), top])
        for p, s, top in ((4, 1, D("999.9")), (9, 2, D("9999999.99")), (18, 3, D("999999999999999.999")),
                          (38, 10, D("1234567890123456789012345678.0123456789")))],
    "`VARCHAR`": [Case("VARCHAR", pa.string(), ["''", "'Fluss'", "'ünï' || chr(10) || '🦾'"], ["", "Fluss", "ünï\n🦾"])],
    "`BLOB`": [Case("BLOB", pa.binary(), ["''::BLOB", "'\\x00\\xFF'::BLOB", "'\\xFF'::BLOB"], [b"", b"\0\xff", b"\xff"])],
    "`DATE`": [Case("DATE", pa.date32(), ["'0001-01-01'", "'1970-01-01'", "'9999-12-31'"], [-719162, 0, 2932896])],
    "`TIME`": [Case("TIME", pa.time64("us"), ["'00:00:00'", "'12:00:00.000001'", "'23:59:59.999999'"],
                    [0, 43200000001, 86399999999])],
    "`TIMESTAMP_S`, `TIMESTAMP_MS`, `TIMESTAMP`, `TIMESTAMP_NS`": [
        timestamps("TIMESTAMP_S", "s"), timestamps("TIMESTAMP_MS", "ms"), timestamps("TIMESTAMP", "us"),
        timestamps("TIMESTAMP_NS", "ns")],
    "`TIMESTAMPTZ`": [Case("TIMESTAMPTZ", pa.timestamp("us", "UTC"),
                           ["'1969-12-31 23:59:59.999999+00'", "'2026-07-01 12:00:00+02'", "'2026-07-01 10:00:01Z'"],
                           [-1, 1782900000000000, 1782900001000000])],
    "`UUID`": [Case("UUID", pa.uuid(), [f"'{u}'" for u in UUIDS if u], [u for u in UUIDS if u])],
    "`JSON`": [Case("JSON", pa.json_(), ["'[1,null]'", "'{\"a\":[1,2]}'", "'{\"b\":null}'"],
                    ["[1,null]", '{"a":[1,2]}', '{"b":null}'])],
    "`T[n]`": [
        Case("FLOAT[3]", pa.list_(pa.float32(), 3), ["[-1, '-0.0'::FLOAT, 2]", "[0, NULL, 1]", "[0.5, 'nan'::FLOAT, 1]"],
             [[-1, -0.0, 2], [0, None, 1], [0.5, float("nan"), 1]], ("{}[3]", "2")),
        Case("DOUBLE[2]", pa.list_(pa.float64(), 2), ["[1, 2]", "[1, 3]", "[NULL, NULL]"], [[1, 2], [1, 3], [None, None]],
             ("{}[2]", "2")),
        Case("BIGINT[2]", pa.list_(pa.int64(), 2), ["[1, 2]", "[1, 3]", "[2, NULL]"], [[1, 2], [1, 3], [2, None]], ("{}[2]", "2")),
        Case("BOOLEAN[3]", pa.list_(pa.bool_(), 3), ["[false, false, true]", "[false, true, NULL]", "[true, true, false]"],
             [[False, False, True], [False, True, None], [True, True, False]], ("NOT {}[2]", "true")),
        Case("INTEGER[2][2]", pa.list_(pa.list_(pa.int32(), 2), 2), ["[[1, 2], [3, 4]]", "[[2, NULL], [3, 4]]", "[[3, 2], [0, 0]]"],
             [[[1, 2], [3, 4]], [[2, None], [3, 4]], [[3, 2], [0, 0]]], ("{}[1][1]", "1")),
    ],
    "`T[]`": [
        Case("INTEGER[]", pa.list_(pa.int32()), ["[]", "[1, NULL]", "[2]"], [[], [1, None], [2]], ("len({})", "0")),
        Case("VARCHAR[]", pa.list_(pa.string()), ["['a', NULL, '']", "['b']", "['c', 'ç']"], [["a", None, ""], ["b"], ["c", "ç"]],
             ("{}[1]", "'a'")),
        Case("DOUBLE[][]", pa.list_(pa.list_(pa.float64())), ["[[1, NULL], [], NULL]", "[[2]]", "[[3, 'nan'::DOUBLE], ['-0.0'::DOUBLE]]"],
             [[[1, None], [], None], [[2]], [[3, float("nan")], [-0.0]]], ("{}[1][1]", "1")),
        Case("STRUCT(a INTEGER, b VARCHAR[])[]", pa.list_(pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])),
             ["[{'a': 1, 'b': ['x', NULL]}]", "[{'a': 2, 'b': NULL}, NULL]", "[{'a': 3, 'b': []}, {'a': NULL, 'b': ['y']}]"],
             [[{"a": 1, "b": ["x", None]}], [{"a": 2, "b": None}, None], [{"a": 3, "b": []}, {"a": None, "b": ["y"]}]],
             ("{}[1].b[1]", "'x'")),
        Case("UUID[]", pa.list_(pa.uuid()), [f"['{UUIDS[0]}', NULL]", f"['{UUIDS[1]}']", f"['{UUIDS[3]}', '{UUIDS[0]}']"],
             [[UUIDS[0], None], [UUIDS[1]], [UUIDS[3], UUIDS[0]]], ("{}[1]", f"'{UUIDS[0]}'")),
        Case("TIMESTAMP[]", pa.list_(pa.timestamp("us")), ["[TIMESTAMP '1970-01-01']", "[TIMESTAMP '1970-01-02', NULL]",
                                                            "[TIMESTAMP '1970-01-03']"],
             [[0], [86400000000, None], [2 * 86400000000]], ("{}[1]", "TIMESTAMP '1970-01-01'")),
    ],
    "`STRUCT(a T, …)`": [
        Case("STRUCT(a INTEGER, b VARCHAR)", pa.struct([("a", pa.int32()), ("b", pa.string())]),
             ["{'a': 1, 'b': NULL}", "{'a': 2, 'b': 'x'}", "{'a': NULL, 'b': NULL}"],
             [{"a": 1, "b": None}, {"a": 2, "b": "x"}, {"a": None, "b": None}], ("{}.a", "1")),
        Case("STRUCT(p STRUCT(q DOUBLE, r DECIMAL(9, 2)), s BIGINT[])",
             pa.struct([("p", pa.struct([("q", pa.float64()), ("r", pa.decimal128(9, 2))])), ("s", pa.list_(pa.int64()))]),
             ["{'p': {'q': 1, 'r': 0.25}, 's': [7]}", "{'p': {'q': 2, 'r': NULL}, 's': []}", "{'p': NULL, 's': NULL}"],
             [{"p": {"q": 1, "r": D("0.25")}, "s": [7]}, {"p": {"q": 2, "r": None}, "s": []}, {"p": None, "s": None}],
             ("{}.p.r", "0.25")),
    ],
    "`MAP(K, V)`": [
        Case("MAP(VARCHAR, INTEGER)", pa.map_(pa.string(), pa.int32()), ["MAP {}", "MAP {'k': 1, 'l': NULL}", "MAP {'m': 2}"],
             [[], [("k", 1), ("l", None)], [("m", 2)]], ("cardinality({})", "0")),
        Case("MAP(BIGINT, STRUCT(x VARCHAR[]))", pa.map_(pa.int64(), pa.struct([("x", pa.list_(pa.string()))])),
             ["MAP {1: {'x': ['a', NULL]}}", "MAP {2: NULL}", "MAP {3: {'x': NULL}, 4: {'x': []}}"],
             [[(1, {"x": ["a", None]})], [(2, None)], [(3, {"x": None}), (4, {"x": []})]], ("{}[1].x[1]", "'a'")),
    ],
    "`FILE`": [],
}
COLUMNS = [case for cases in CREATED.values() for case in cases]


def cells_of(heading):
    """The first cells of the table under this heading."""
    lines = (ROOT / "docs/sql-types.md").read_text().split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith(f"| {heading} |")) + 2
    cells = []
    for line in lines[first:]:
        if not line.startswith("|"):
            return cells
        cells.append(line.split("|")[1].strip())
    return cells


def test_every_row_of_the_page_is_tested_here():
    assert cells_of("in `CREATE TABLE`") == list(CREATED)
    shown = cells_of("stored as")
    assert [cell for cell in shown if not cell.startswith("blob")] == list(SHOWN)
    assert any(cell.startswith("blob") for cell in shown)
    refused = re.search(r"`NOT NULL` makes.*? are refused by name", (ROOT / "docs/sql-types.md").read_text(), re.S).group()
    assert set(re.findall(r"`([A-Z]+)`", refused)) - {"VARCHAR"} == set(REFUSED)


def describe(lake, table):
    return json.loads(lake.run("table", "describe", table, "--json").stdout)


def upstream(lake, table="main.t"):
    return lance.dataset(describe(lake, table)["location"])


def select(lake, sql):
    result = lake.run("sql", sql, "--format", "arrow", text=False)
    return pa.ipc.open_stream(result.stdout).read_all()


def names(cases):
    return [f"c{i}" for i in range(len(cases))]


def plain(array):
    """The array with types that SQL has no result type of its own for as what a result shows."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.type == pa.uuid() or array.type == pa.binary(16):
        storage = array.storage if isinstance(array, pa.ExtensionArray) else array
        return pa.array([v and str(uuid.UUID(bytes=v)) for v in storage.to_pylist()], pa.string())
    if isinstance(array.type, pa.JsonType) or getattr(array.type, "extension_name", "") == "lance.json":
        return array.storage.cast(pa.string())
    if pa.types.is_list(array.type) and (array.type.value_type in (pa.uuid(), pa.binary(16))):
        return pa.ListArray.from_arrays(array.offsets, plain(array.values), mask=array.is_null())
    return array


def equal(expected, actual, what):
    expected, actual = plain(expected), plain(actual)
    if pa.types.is_nested(expected.type):
        # Offsets, names of items and what lies below nulls do not matter; NaN and -0.0 do.
        assert repr(actual.to_pylist()) == repr(expected.to_pylist()), what
    else:
        assert not difference(expected, actual), (what, difference(expected, actual))


@pytest.fixture
def created(lake):
    """A table with a column of every type, filled by lake."""
    columns = ", ".join(f"{name} {case.sql}" for name, case in zip(names(COLUMNS), COLUMNS))
    rows = []
    for row in range(4):
        rows.append(f"({row}, {', '.join(case.literal(row) for case in COLUMNS)})")
    lake.sql(f"CREATE TABLE main.t (id BIGINT, {columns})")
    lake.sql(f"INSERT INTO main.t VALUES {', '.join(rows)}")
    return lake


def upstream_rows(first=0, rows=(0, 1, 2, 3)):
    return pa.table({"id": pa.array([first + i for i in range(len(rows))], pa.int64()),
                     **{name: case.array(rows) for name, case in zip(names(COLUMNS), COLUMNS)}})


def test_sql_writes_and_upstream_reads(created):
    dataset = upstream(created)
    dataset.validate()
    table = dataset.to_table()
    for name, case in zip(names(COLUMNS), COLUMNS):
        stored = dataset.schema.field(name).type
        if case.type not in (pa.uuid(), pa.json_()) and case.sql != "UUID[]":
            assert stored == case.type, case.sql
        equal(case.array(), table[name], case.sql)


def test_upstream_writes_and_sql_reads(lake):
    columns = ", ".join(f"{name} {case.sql}" for name, case in zip(names(COLUMNS), COLUMNS))
    lake.sql(f"CREATE TABLE main.t (id BIGINT, {columns})")
    lance.write_dataset(upstream_rows(), upstream(lake).uri, mode="append")
    table = select(lake, "SELECT * FROM main.t ORDER BY id")
    for name, case in zip(names(COLUMNS), COLUMNS):
        equal(case.array(), table[name], case.sql)
    # Rows of both, side by side, are the same.
    rows = []
    for row in range(4):
        rows.append(f"({row}, {', '.join(case.literal(row) for case in COLUMNS)})")
    lake.sql(f"INSERT INTO main.t VALUES {', '.join(rows)}")
    assert select(lake, "SELECT * FROM main.t GROUP BY ALL").num_rows == 4
    assert upstream(lake).count_rows() == 8


def test_filters_order_and_groups(created):
    """One statement for each: filters by value and by part, order, groups, on every column."""
    for kind, make_query in {
        "value": lambda name, case: f"{name} = {case.literal(0)}",
        "other": lambda name, case: f"{name} <> {case.literal(0)}",
        "null": lambda name, case: f"{name} IS NULL",
        "part": lambda name, case: f"{case.part[0].format(name)} = {case.part[1]}" if case.part else "id = 0",
    }.items():
        query = " UNION ALL ".join(f"(SELECT {i} AS c, list(id ORDER BY id) AS ids FROM main.t WHERE {make_query(name, case)})"
                                   for i, (name, case) in enumerate(zip(names(COLUMNS), COLUMNS)))
        found = {row["c"]: row["ids"] for row in select(created, query).to_pylist()}
        expected = {"value": [0], "part": [0], "null": [2], "other": [1, 3]}[kind]
        for i, case in enumerate(COLUMNS):
            assert found[i] == expected, (kind, case.sql)
    query = ", ".join(f"list(id ORDER BY {name} NULLS LAST, id) AS {name}" for name in names(COLUMNS))
    ordered = select(created, f"SELECT {query} FROM main.t").to_pylist()[0]
    for name, case in zip(names(COLUMNS), COLUMNS):
        assert ordered[name] == [0, 1, 3, 2] or case.sql in UNORDERED, case.sql
    query = " UNION ALL ".join(f"SELECT {i} AS c, count(*) AS n FROM (SELECT {name} FROM main.t GROUP BY {name})"
                               for i, name in enumerate(names(COLUMNS)))
    groups = {row["c"]: row["n"] for row in select(created, query).to_pylist()}
    for i, case in enumerate(COLUMNS):
        assert groups[i] == (3 if case.sql == "BOOLEAN" else 4), case.sql


# What is null inside sorts by DuckDB's own rules.
UNORDERED = {case.sql for case in COLUMNS if pa.types.is_nested(case.type)}


def test_nested_values_are_updated_and_upstream_reads_them(created):
    sets = ", ".join(f"{name} = {case.literal(0)}" for name, case in zip(names(COLUMNS), COLUMNS))
    created.sql(f"UPDATE main.t SET {sets} WHERE id = 3")
    created.sql("UPDATE main.t SET " + ", ".join(f"{name} = NULL" for name in names(COLUMNS)) + " WHERE id = 1")
    created.sql("MERGE INTO main.t USING (SELECT * FROM main.t WHERE id = 0) s ON t.id = s.id + 2 WHEN MATCHED THEN UPDATE SET "
                + ", ".join(f"{name} = s.{name}" for name in names(COLUMNS)))
    dataset = upstream(created)
    dataset.validate()
    table = dataset.to_table().sort_by("id")
    for name, case in zip(names(COLUMNS), COLUMNS):
        equal(case.array((0, 2, 0, 0)), table[name], case.sql)
    # And copied whole, into a table of lake's making.
    created.sql("CREATE TABLE main.copy AS SELECT * FROM main.t")
    copied = upstream(created, "main.copy").to_table().sort_by("id")
    for name, case in zip(names(COLUMNS), COLUMNS):
        equal(case.array((0, 2, 0, 0)), copied[name], case.sql)
        assert copied.schema.field(name).type == table.schema.field(name).type, case.sql


def test_files_both_ways(lake, tmp_path):
    (tmp_path / "a.txt").write_text("text")
    lake.sql("CREATE TABLE main.t (id BIGINT, f FILE)")
    lake.sql("INSERT INTO main.t VALUES (1, ?), (2, NULL)", f"file:{tmp_path}/a.txt")
    dataset = upstream(lake)
    assert [f.name for f in dataset.schema.field("f").type] == ["uri", "content_type", "size_bytes", "sha256"]
    rows = dataset.to_table().to_pylist()
    assert (rows[0]["f"]["size_bytes"], rows[0]["f"]["content_type"], rows[1]["f"]) == (4, "text/plain", None)
    lance.write_dataset(pa.Table.from_pylist([{"id": 3, "f": rows[0]["f"]}, {"id": 4, "f": None}], schema=dataset.schema),
                        dataset.uri, mode="append")
    assert select(lake, "SELECT id, f.size_bytes AS n FROM main.t ORDER BY id").to_pylist() == [
        {"id": 1, "n": 4}, {"id": 2, "n": None}, {"id": 3, "n": 4}, {"id": 4, "n": None}]


REFUSED = {
    "INTERVAL": "INTERVAL", "HUGEINT": "HUGEINT", "UHUGEINT": "UHUGEINT", "TIMETZ": "TIMETZ", "ENUM": "ENUM('a', 'b')", "BIT": "BIT",
    "UNION": "UNION(a INTEGER, b VARCHAR)"}


def test_other_types_are_refused_by_name(lake):
    lake.sql("CREATE TABLE main.t (id BIGINT)")
    for sql in REFUSED.values():
        for wrapped in ("{}", "{}[]", "STRUCT(a {})", "MAP(VARCHAR, {})", "{}[2]"):
            error = lake.sql(f"CREATE TABLE main.x (c {wrapped.format(sql)})", exit_code=1).stderr
            assert "unsupported column type" in error and "'c" in error, (sql, wrapped)
    assert "collation" in lake.sql("CREATE TABLE main.x (c VARCHAR COLLATE NOCASE)", exit_code=1).stderr
    assert "HUGEINT" in lake.sql("CREATE TABLE main.x AS SELECT sum(id::INTEGER) AS c FROM main.t", exit_code=1).stderr
    assert lake.run("table", "list").stdout == "main.t\n"


@dataclass
class Foreign:
    """A column that another program made."""

    array: pa.Array
    shown: str
    values: pa.Array
    # A SQL value that can be stored, what it is then, and one that cannot.
    insert: tuple = None
    inexact: str = None
    metadata: dict = field(default_factory=dict)


def bfloat16(raw):
    return pa.ExtensionArray.from_storage(BFloat16Type(), pa.array(raw, pa.binary(2)))


def zoned(unit, zone):
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    arrow_type = pa.timestamp(unit, zone)
    return Foreign(pa.array([0, None, 1782900000 * scale], arrow_type), "TIMESTAMP WITH TIME ZONE",
                   pa.array([0, None, 1782900000 * 10**6], pa.timestamp("us", "UTC")),
                   ("TIMESTAMPTZ '1970-01-02 00:00:00+00'", pa.array([86400 * scale], arrow_type)))


def times(arrow_type, scale):
    return Foreign(pa.array([0, None, 43201 * scale], arrow_type), "TIME", pa.array([0, None, 43201 * 10**6], pa.time64("us")),
                   ("TIME '00:00:02'", pa.array([2 * scale], arrow_type)))


SHOWN = {
    "large string, large binary, fixed-size binary": [
        Foreign(pa.array(["a", None, "湖"], pa.large_string()), "VARCHAR", pa.array(["a", None, "湖"]), ("'b'", pa.array(["b"], pa.large_string()))),
        Foreign(pa.array([b"a", None, b""], pa.large_binary()), "BLOB", pa.array([b"a", None, b""]), ("'b'::BLOB", pa.array([b"b"], pa.large_binary()))),
        Foreign(pa.array([b"abc", None, b"\0\1\2"], pa.binary(3)), "BLOB", pa.array([b"abc", None, b"\0\1\2"]),
                ("'xyz'::BLOB", pa.array([b"xyz"], pa.binary(3))), "'xy'::BLOB")],
    "large list": [
        Foreign(pa.array([[1, None], None, []], pa.large_list(pa.int32())), "INTEGER[]", pa.array([[1, None], None, []], pa.list_(pa.int32())),
                ("[5, NULL]", pa.array([[5, None]], pa.large_list(pa.int32()))))],
    "float16, bfloat16": [
        Foreign(pa.array([1.5, None, -0.0], pa.float16()), "FLOAT", pa.array([1.5, None, -0.0], pa.float32()),
                ("0.25", pa.array([0.25], pa.float16())), "0.1"),
        Foreign(bfloat16([b"\xc0\x3f", None, b"\x00\x80"]), "FLOAT", pa.array([1.5, None, -0.0], pa.float32()),
                ("0.25", bfloat16([b"\x80\x3e"])), "0.1")],
    "decimal256 of at most 38 digits": [
        Foreign(pa.array([D("1.25"), None, D("-3")], pa.decimal256(38, 2)), "DECIMAL(38,2)",
                pa.array([D("1.25"), None, D("-3")], pa.decimal128(38, 2)), ("7.5", pa.array([D("7.5")], pa.decimal256(38, 2))))],
    "dictionary": [
        Foreign(pa.array(["x", None, "y"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())), "VARCHAR",
                pa.array(["x", None, "y"]), ("'z'", pa.array(["z"]).cast(pa.dictionary(pa.int8(), pa.string()))))],
    "date64": [Foreign(pa.array([0, None, 86400000], pa.date64()), "DATE", pa.array([0, None, 1], pa.date32()),
                       ("DATE '1970-01-03'", pa.array([2 * 86400000], pa.date64())))],
    "time32, time64[ns]": [times(pa.time32("s"), 1), times(pa.time32("ms"), 10**3), times(pa.time64("ns"), 10**9)],
    "timestamp with a zone, in any unit": [zoned("s", "UTC"), zoned("ms", "Europe/Berlin"), zoned("us", "+05:30"), zoned("ns", "America/Lima")],
    "duration": [],
}
OTHERS = [column for columns in SHOWN.values() for column in columns]


def foreign(lake, table, name="main.f", **options):
    """Makes a table of lake whose columns and rows are upstream's: with lake's mark it is lake's."""
    lake.sql(f"CREATE TABLE {name} (id BIGINT)")
    described = describe(lake, name)
    shutil.rmtree(described["location"])
    dataset = lance.write_dataset(table, described["location"], **options)
    dataset.update_metadata({"lake.incarnation": described["incarnation"]})
    return described["location"]


def below(array):
    """The plain values of an extension or a dictionary."""
    if isinstance(array, pa.ExtensionArray):
        return array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def foreign_rows():
    columns = {f"c{i}": column.array for i, column in enumerate(OTHERS)}
    return pa.table({"id": pa.array([0, 1, 2], pa.int64()), **columns})


def test_types_of_other_programs_are_shown(lake):
    foreign(lake, foreign_rows())
    types = {row["column_name"]: row["data_type"] for row in select(
        lake, "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'f'").to_pylist()}
    table = select(lake, "SELECT * FROM main.f ORDER BY id")
    for i, column in enumerate(OTHERS):
        assert types[f"c{i}"] == column.shown, column.array.type
        equal(column.values, table[f"c{i}"], column.array.type)
    # A filter by the shown value finds its row.
    query = " UNION ALL ".join(f"SELECT {i} AS c, a.id FROM main.f a JOIN main.f b ON a.c{i} = b.c{i} WHERE b.id = 0" for i in range(len(OTHERS)))
    assert {(row["c"], row["id"]) for row in select(lake, query).to_pylist()} == {(i, 0) for i in range(len(OTHERS))}


def test_types_of_other_programs_are_written(lake):
    path = foreign(lake, foreign_rows())
    literals = ", ".join(column.insert[0] for column in OTHERS)
    lake.sql(f"INSERT INTO main.f VALUES (3, {literals})")
    lake.sql("UPDATE main.f SET id = id + 10 WHERE id = 0")
    lake.sql("UPDATE main.f SET " + ", ".join(f"c{i} = {column.insert[0]}" for i, column in enumerate(OTHERS)) + " WHERE id = 1")
    dataset = lance.dataset(path)
    dataset.validate()
    table = dataset.to_table().sort_by("id")
    assert table["id"].to_pylist() == [1, 2, 3, 10]
    for i, column in enumerate(OTHERS):
        actual = table[f"c{i}"].combine_chunks()
        assert actual.type == column.array.type
        new, old = below(column.insert[1]), below(column.array)
        expected = pa.concat_arrays([new, old[2:3], new, old[0:1]])
        assert not difference(expected, below(actual)), (column.array.type, difference(expected, below(actual)))
    before = dataset.version
    for i, column in enumerate(OTHERS):
        if column.inexact:
            error = lake.sql(f"INSERT INTO main.f (id, c{i}) VALUES (9, {column.inexact})", exit_code=1).stderr
            assert f"c{i}" in error, column.array.type
    assert lance.dataset(path).version == before


def test_values_that_sql_cannot_hold_are_errors(lake):
    """They name the column, and the other columns are not concerned."""
    columns = {
        "day": pa.array([1, 86400000], pa.date64()),
        "clock": pa.array([1, 1000], pa.time64("ns")),
        "instant": pa.array([1, 1000], pa.timestamp("ns", "UTC")),
        "far": pa.array([1 << 62, 0], pa.timestamp("s", "UTC")),
        "span": pa.array([1, 1000], pa.duration("ns")),
        "inside": pa.array([[{"t": 1}], [{"t": 1000}]], pa.list_(pa.struct([("t", pa.time64("ns"))]))),
    }
    foreign(lake, pa.table({"id": pa.array([0, 1], pa.int64()), **columns}))
    for name in columns:
        error = lake.sql(f"SELECT {name} FROM main.f", exit_code=1).stderr
        assert "cannot hold exactly" in error and name in error
    assert select(lake, "SELECT id FROM main.f").num_rows == 2


def test_what_is_not_written_is_refused_by_name(lake):
    rows = pa.table({"id": pa.array([0], pa.int64()), "span": pa.array([5 * 10**6], pa.duration("us"))})
    path = foreign(lake, rows, "main.spans")
    assert json.loads(lake.sql("SELECT span::VARCHAR AS s FROM main.spans").stdout) == [{"s": "00:00:05"}]
    blobs = pa.table({"id": pa.array([0], pa.int64()), "b": pa.array([b"bytes"], pa.large_binary())}, schema=pa.schema(
        [pa.field("id", pa.int64()), pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})]))
    foreign(lake, blobs, "main.blobs", data_storage_version="2.1")
    assert "STRUCT" in json.loads(lake.sql("SELECT typeof(b) AS t FROM main.blobs").stdout)[0]["t"]
    for table, column in (("spans", "span"), ("blobs", "b")):
        for statement in (f"INSERT INTO main.{table} (id) VALUES (1)", f"INSERT INTO main.{table} SELECT * FROM main.{table}",
                          f"UPDATE main.{table} SET {column} = NULL"):
            error = lake.sql(statement, exit_code=1).stderr
            assert "unsupported" in error and column in error, statement
    assert lance.dataset(path).count_rows() == 1
    lake.sql("DELETE FROM main.spans")
    assert lance.dataset(path).count_rows() == 0
    foreign(lake, pa.table({"id": [1], "d": pa.array([D(1)], pa.decimal256(60, 5))}), "main.digits")
    error = lake.sql("SELECT id FROM main.digits", exit_code=1).stderr
    assert "unsupported" in error and "'d'" in error and "38 digits" in error
    foreign(lake, pa.table({"id": [1], "Name": ["x"], "name": ["y"]}), "main.cases")
    error = lake.sql("SELECT id FROM main.cases", exit_code=1).stderr
    assert "'Name'" in error and "'name'" in error
