"""`lake sql`: statements, parameters, formats, operation ids."""

import io
import json
import uuid

import pyarrow as pa
import pytest


def uuid7():
    """A UUID of version 7; its time is long ago, which nothing minds."""
    value = uuid.uuid4().int & ~(0xF << 76) | (7 << 76)
    return str(uuid.UUID(int=value & ~(0x3 << 62) | (0x2 << 62)))


def rows(lake, text, *params):
    return json.loads(lake.sql(text, *params).stdout)


def test_several_statements_run_in_order_and_stop_at_an_error(lake):
    lake.sql("CREATE TABLE main.t (x INTEGER); INSERT INTO main.t VALUES (1); INSERT INTO main.t VALUES (2)")
    assert rows(lake, "SELECT sum(x) AS s FROM main.t") == [{"s": 3}]
    lake.sql("INSERT INTO main.t VALUES (3); SELECT nonsense; INSERT INTO main.t VALUES (4)", exit_code=1)
    assert rows(lake, "SELECT sum(x) AS s FROM main.t") == [{"s": 6}]


def test_parameters_are_cast_to_the_column(lake):
    lake.sql("CREATE TABLE main.t (x INTEGER, y VARCHAR, z DOUBLE)")
    lake.sql("INSERT INTO main.t VALUES (?, ?, ?)", "42", "it's", "2.5")
    assert rows(lake, "SELECT * FROM main.t WHERE x = ?", "42") == [{"x": 42, "y": "it's", "z": 2.5}]
    assert "parameter" in lake.sql("INSERT INTO main.t VALUES (?, ?, ?)", "42", exit_code=1).stderr
    lake.sql("INSERT INTO main.t VALUES (?, ?, ?)", "no number", "a", "1", exit_code=1)
    assert rows(lake, "SELECT count(*) AS n FROM main.t") == [{"n": 1}]


def test_every_format_shows_the_same_rows(lake):
    query = "SELECT 1 AS a, 'x,y' AS b UNION ALL SELECT 2, NULL ORDER BY a"
    assert lake.sql(query, format="csv").stdout == 'a,b\n1,"x,y"\n2,\n'
    assert rows(lake, query) == [{"a": 1, "b": "x,y"}, {"a": 2, "b": None}]
    lines = lake.sql(query, format="jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == rows(lake, query)
    table = lake.sql(query, format="table").stdout
    assert "(2 rows)" in table
    assert "NULL" in table
    binary = lake.run("sql", query, "--format", "arrow", text=False).stdout
    read = pa.ipc.open_stream(io.BytesIO(binary)).read_all()
    assert read.to_pylist() == rows(lake, query)
    assert lake.sql(query, format="xml", exit_code=2).stdout == ""


def test_ddl_prints_nothing_and_dml_counts_rows_on_standard_error(lake):
    result = lake.sql("CREATE TABLE main.t (x INTEGER)")
    assert (result.stdout, result.stderr) == ("", "")
    result = lake.sql("INSERT INTO main.t VALUES (1), (2)")
    assert (result.stdout, result.stderr) == ("", "2 rows changed\n")


def test_an_operation_replays_with_the_same_input_and_refuses_another(lake):
    lake.sql("CREATE TABLE main.t (x INTEGER)")
    operation = uuid7()
    insert = ["sql", "INSERT INTO main.t VALUES (?)", "--operation-id", operation, "--param"]
    lake.run(*insert, "7")
    replay = lake.run(*insert, "7")
    assert "already committed" in replay.stderr
    assert rows(lake, "SELECT * FROM main.t") == [{"x": 7}]
    refused = lake.run(*insert, "8", exit_code=1)
    assert operation in refused.stderr
    assert rows(lake, "SELECT * FROM main.t") == [{"x": 7}]


def test_operation_ids_are_checked(lake):
    lake.sql("CREATE TABLE main.t (x INTEGER)")
    for bad in ("nonsense", str(uuid.uuid4())):
        lake.run("sql", "INSERT INTO main.t VALUES (1)", "--operation-id", bad, exit_code=1)
    lake.run("sql", "INSERT INTO main.t VALUES (1); SELECT 1", "--operation-id", uuid7(), exit_code=1)
    assert rows(lake, "SELECT count(*) AS n FROM main.t") == [{"n": 0}]


def test_a_file_parameter_is_uploaded_and_its_type_guessed_or_given(lake, tmp_path):
    lake.sql("CREATE TABLE main.episodes (id INTEGER, video FILE)")
    video = tmp_path / "clip one.mp4"
    video.write_bytes(b"not really a video" * 1000)
    insert = "INSERT INTO main.episodes (id, video) VALUES (?, ?)"
    lake.sql(insert, "1", f"file:{video}")
    lake.sql(insert, "2", f"file:{video};type=application/x-test")
    found = rows(lake, "SELECT id, video.content_type AS t, video.size_bytes AS s FROM main.episodes ORDER BY id")
    assert found == [{"id": 1, "t": "video/mp4", "s": 18000}, {"id": 2, "t": "application/x-test", "s": 18000}]


def test_an_operation_with_a_file_is_the_same_for_the_same_bytes(lake, tmp_path):
    lake.sql("CREATE TABLE main.t (f FILE)")
    first, second = tmp_path / "a.bin", tmp_path / "b.bin"
    first.write_bytes(b"same")
    second.write_bytes(b"same")
    operation = uuid7()
    insert = ["sql", "INSERT INTO main.t VALUES (?)", "--operation-id", operation, "--param"]
    lake.run(*insert, f"file:{first}")
    objects = list((lake.data_dir / "managed-objects").rglob("*-*"))
    assert "already committed" in lake.run(*insert, f"file:{second}").stderr
    assert list((lake.data_dir / "managed-objects").rglob("*-*")) == objects
    second.write_bytes(b"other")
    lake.run(*insert, f"file:{second}", exit_code=1)


@pytest.mark.parametrize("statement,params", [
    ("INSERT INTO main.t VALUES (?, ?)", ["1", "file:{missing}"]),
    ("INSERT INTO main.t VALUES (?, ?)", ["1", "file:{folder}"]),
    ("INSERT INTO main.t VALUES (?, ?)", ["1", "file:{good};type=nonsense"]),
    ("INSERT INTO main.t VALUES (?, ?)", ["1", "{good}"]),
    ("INSERT INTO main.t VALUES (?, ?)", ["file:{good}"]),
    ("INSERT INTO main.t VALUES (?, ?, 1)", ["1", "file:{good}"]),
    ("INSERT INTO main.nothing VALUES (?, ?)", ["1", "file:{good}"]),
    ("INSERT INTO main.t (nothing, f) VALUES (?, ?)", ["1", "file:{good}"]),
    ("INSERT INTO main.t VALUES (?, upper(?))", ["1", "file:{good}"]),
])
def test_all_validation_precedes_any_upload(lake, tmp_path, statement, params):
    lake.sql("CREATE TABLE main.t (x INTEGER, f FILE)")
    good = tmp_path / "good.bin"
    good.write_bytes(b"x" * 100)
    names = {"good": good, "missing": tmp_path / "missing", "folder": tmp_path}
    result = lake.sql(statement, *[param.format(**names) for param in params], exit_code=1)
    assert result.stderr.startswith("lake: ")
    assert [path for path in (lake.data_dir / "managed-objects").rglob("*") if path.is_file()] == []
    assert rows(lake, "SELECT count(*) AS n FROM main.t") == [{"n": 0}]


def test_time_zone_decides_times_without_zone(lake):
    query = "SELECT TIMESTAMP '2024-05-01 12:00:00'::TIMESTAMPTZ = TIMESTAMPTZ '2024-05-01 12:00:00+00' AS utc"
    assert rows(lake, query) == [{"utc": True}]
    assert json.loads(lake.run("--timezone", "Asia/Tokyo", "sql", query, "--format", "json").stdout) == [{"utc": False}]
    assert "Nowhere" in lake.run("--timezone", "Nowhere/Land", "sql", "SELECT 1", exit_code=1).stderr


def test_statements_from_standard_input(lake):
    text = "CREATE TABLE main.t (x INTEGER);\nINSERT INTO main.t VALUES (1),\n (2); -- done;\nSELECT ';' AS a\n, x\nFROM main.t\nORDER BY x;"
    result = lake.run("sql", "--format", "csv", input=text)
    assert result.stdout == "a,x\n;,1\n;,2\n"
    result = lake.run("sql", input="SELECT 1 AS one; SELECT broken; SELECT 2 AS two;", exit_code=1)
    assert "two" not in result.stdout
