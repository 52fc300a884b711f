"""`lake ingest`: Parquet, CSV, Arrow IPC into tables."""

import datetime
import decimal
import json
import uuid

import lance
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest


def uuid7():
    value = uuid.uuid4().int & ~(0xF << 76) | (7 << 76)
    return str(uuid.UUID(int=value & ~(0x3 << 62) | (0x2 << 62)))


def rows(lake, text):
    return json.loads(lake.sql(text).stdout)


def location(lake, table):
    return json.loads(lake.run("table", "describe", table, "--json").stdout)["location"]


def sample():
    return pa.table({"id": pa.array(range(1000), pa.int64()),
                     "name": pa.array([None if i % 7 == 0 else f"name {i}" for i in range(1000)]),
                     "score": pa.array([i / 3 for i in range(1000)])})


def write(path, table):
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif path.suffix == ".arrows":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    else:
        pa.csv.write_csv(table, path)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows", ".csv"])
def test_every_format_creates_and_appends(lake, tmp_path, suffix):
    source = tmp_path / f"rows{suffix}"
    write(source, sample())
    result = json.loads(lake.run("ingest", "main.t", source, "--create", "--json").stdout)
    assert (result["rows"], result["version"]) == (1000, 1)
    result = json.loads(lake.run("ingest", "main.t", source, source, "--json").stdout)
    assert (result["rows"], result["version"]) == (2000, 2)
    assert rows(lake, "SELECT count(*) AS n, count(name) AS names, sum(id) AS s FROM main.t") == [
        {"n": 3000, "names": 3 * 857, "s": 3 * 499500}]
    assert lance.dataset(location(lake, "main.t")).count_rows() == 3000


def test_create_refuses_an_existing_table_and_append_a_missing_one(lake, tmp_path):
    source = tmp_path / "rows.parquet"
    write(source, sample())
    lake.run("ingest", "main.t", source, exit_code=1)
    lake.run("ingest", "main.t", source, "--create")
    assert "exist" in lake.run("ingest", "main.t", source, "--create", exit_code=1).stderr


def test_values_that_sql_cannot_hold_stay_exact(lake, tmp_path):
    table = pa.table({
        "ns_zone": pa.array([1_700_000_000_123_456_789, None], pa.timestamp("ns", "Europe/Berlin")),
        "time_ns": pa.array([86_399_999_999_999, 1], pa.time64("ns")),
        "duration": pa.array([1, -5], pa.duration("ns")),
        "ms_zone": pa.array([1_700_000_000_123, 0], pa.timestamp("ms", "UTC")),
        "decimal": pa.array([decimal.Decimal("99999999999999999999999999999999999.999"), None], pa.decimal128(38, 3)),
        "date64": pa.array([datetime.date(2024, 5, 1), None], pa.date64()),
        "fixed": pa.array([b"abc", b"\x00\xff\x01"], pa.binary(3)),
        "vector": pa.array([[1.5, 2.5], [3.5, 4.5]], pa.list_(pa.float32(), 2)),
        "large": pa.array(["x" * 100_000, ""], pa.large_string()),
        "struct": pa.array([{"a": 1, "b": "x"}, None], pa.struct([("a", pa.int8()), ("b", pa.string())])),
    })
    source = tmp_path / "exact.arrow"
    write(source, table)
    lake.run("ingest", "main.t", source, "--create")
    assert lance.dataset(location(lake, "main.t")).to_table().equals(table)
    refused = lake.sql("SELECT ns_zone FROM main.t", exit_code=1).stderr
    assert "ns_zone" in refused


@pytest.mark.parametrize("field", [
    pa.field("half", pa.float16()), pa.field("list", pa.list_(pa.int32())), pa.field("map", pa.map_(pa.string(), pa.int32())),
    pa.field("big", pa.decimal256(50, 2)), pa.field("deep", pa.struct([("s", pa.struct([("x", pa.int32())]))]))])
def test_rarer_and_nested_types_are_taken(lake, tmp_path, field):
    source = tmp_path / "rows.arrow"
    table = pa.table({field.name: pa.nulls(2, field.type)})
    write(source, table)
    lake.run("ingest", "main.t", source, "--create")
    assert lance.dataset(location(lake, "main.t")).to_table().equals(table)


def test_a_type_that_is_not_written_is_refused_by_name(lake, tmp_path):
    source = tmp_path / "rows.arrow"
    write(source, pa.table({"months": pa.nulls(2, pa.month_day_nano_interval())}))
    assert "months" in lake.run("ingest", "main.t", source, "--create", exit_code=1).stderr
    assert lake.run("table", "list").stdout == ""


def test_columns_are_matched_by_name_and_converted_exactly(lake, tmp_path):
    lake.sql("CREATE TABLE main.t (a INTEGER, b VARCHAR, c DOUBLE)")
    source = tmp_path / "rows.parquet"
    write(source, pa.table({"c": pa.array([1, 2], pa.int32()), "a": pa.array([3, 4], pa.int64())}))
    lake.run("ingest", "main.t", source)
    assert rows(lake, "SELECT * FROM main.t ORDER BY a") == [
        {"a": 3, "b": None, "c": 1.0}, {"a": 4, "b": None, "c": 2.0}]
    write(source, pa.table({"a": pa.array([1, 1 << 40], pa.int64())}))
    refused = lake.run("ingest", "main.t", source, exit_code=1).stderr
    assert "a" in refused
    write(source, pa.table({"a": [1], "extra": [1]}))
    assert "extra" in lake.run("ingest", "main.t", source, exit_code=1).stderr
    assert rows(lake, "SELECT count(*) AS n FROM main.t") == [{"n": 2}]


def test_bad_csv_rows_are_reported_with_row_and_column(lake, tmp_path):
    lake.sql("CREATE TABLE main.t (a INTEGER, b VARCHAR)")
    source = tmp_path / "bad.csv"
    source.write_text("a,b\n1,x\n2,y\nthree,z\n")
    refused = lake.run("ingest", "main.t", source, exit_code=1).stderr
    assert "bad.csv" in refused
    assert "a" in refused
    assert "3" in refused or "4" in refused
    source.write_text("a,b\n1,x\n2\n")
    refused = lake.run("ingest", "main.t", source, exit_code=1).stderr
    assert "bad.csv" in refused
    assert rows(lake, "SELECT count(*) AS n FROM main.t") == [{"n": 0}]


def test_a_file_column_cannot_be_ingested(lake, tmp_path):
    lake.sql("CREATE TABLE main.t (id INTEGER, f FILE)")
    forged = pa.array([{"uri": "file:///etc/passwd", "content_type": "text/plain", "size_bytes": 1, "sha256": "0" * 64}],
                      pa.struct([("uri", pa.string()), ("content_type", pa.string()), ("size_bytes", pa.uint64()), ("sha256", pa.string())]))
    source = tmp_path / "forged.parquet"
    write(source, pa.table({"id": pa.array([1], pa.int32()), "f": forged}))
    assert "f" in lake.run("ingest", "main.t", source, exit_code=1).stderr
    lake.run("ingest", "main.forged", source, "--create", exit_code=1)


def test_an_operation_replays(lake, tmp_path):
    source = tmp_path / "rows.parquet"
    write(source, sample())
    operation = uuid7()
    lake.run("ingest", "main.t", source, "--create")
    first = json.loads(lake.run("ingest", "main.t", source, "--operation-id", operation, "--json").stdout)
    again = json.loads(lake.run("ingest", "main.t", source, "--operation-id", operation, "--json").stdout)
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert first["version"] == again["version"] == 2
    other = tmp_path / "other.parquet"
    write(other, sample().slice(1))
    assert operation in lake.run("ingest", "main.t", other, "--operation-id", operation, exit_code=1).stderr
    assert rows(lake, "SELECT count(*) AS n FROM main.t") == [{"n": 2000}]


def test_missing_and_damaged_sources(lake, tmp_path):
    lake.sql("CREATE TABLE main.t (id BIGINT, name VARCHAR, score DOUBLE)")
    assert "missing.parquet" in lake.run("ingest", "main.t", tmp_path / "missing.parquet", exit_code=1).stderr
    source = tmp_path / "cut.parquet"
    write(source, sample())
    source.write_bytes(source.read_bytes()[:-20])
    assert "cut.parquet" in lake.run("ingest", "main.t", source, exit_code=1).stderr
    lake.run("ingest", "main.t", tmp_path, exit_code=1)
    assert rows(lake, "SELECT count(*) AS n FROM main.t") == [{"n": 0}]
