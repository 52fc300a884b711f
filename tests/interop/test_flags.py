"""Tables with feature flags that lake does not know, beside what upstream does with them.

An unknown reader flag refuses to open the table; an unknown writer flag leaves it readable, and every operation that
would change it is refused by the flag's name.
"""

import json
import pathlib
import struct

import lance
import pyarrow as pa
import pytest

# Unknown to lake and to upstream's newest release alike.
OVERLAYS = 64
DRAFTS = (512, 4096, 1 << 20)

READER, WRITER = 9, 10


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def set_flags(path, reader, writer):
    """Sets both flag words of the newest manifest: of a field that stands twice in a message, the last one counts."""
    manifest = min(pathlib.Path(path, "_versions").glob("*.manifest"))
    data = manifest.read_bytes()
    position = struct.unpack("<Q", data[-16:-8])[0]
    length = struct.unpack("<I", data[position:position + 4])[0]
    message = data[position + 4:position + 4 + length]
    message += varint(READER << 3) + varint(reader) + varint(WRITER << 3) + varint(writer)
    manifest.chmod(0o600)
    manifest.write_bytes(data[:position] + struct.pack("<I", len(message)) + message + data[position + 4 + length:])


@pytest.fixture
def table(lake):
    lake.sql("CREATE TABLE main.t (id BIGINT NOT NULL, name VARCHAR)")
    lake.sql("INSERT INTO main.t SELECT x, 'n' || x FROM range(10) r(x)")
    lake.run("table", "tag", "create", "main.t", "kept")
    lake.run("table", "branch", "create", "main.t", "line")
    return json.loads(lake.run("table", "describe", "main.t", "--json").stdout)["location"]


def files(path):
    return {str(file): file.read_bytes() for file in pathlib.Path(path).rglob("*") if file.is_file()}


@pytest.mark.parametrize("flag", [OVERLAYS, *DRAFTS])
def test_unknown_reader_flags_refuse_to_open(lake, table, flag):
    set_flags(table, flag, flag)
    with pytest.raises((OSError, ValueError)):
        lance.dataset(table)
    before = files(table)
    for arguments in (["sql", "SELECT * FROM main.t"], ["sql", "INSERT INTO main.t VALUES (1, 'x')"],
                      ["table", "describe", "main.t"], ["table", "compact", "main.t"], ["table", "cleanup", "main.t"],
                      ["table", "tag", "create", "main.t", "x"]):
        result = lake.run(*arguments, exit_code=1)
        assert f"flag {flag} (" in result.stderr, arguments
    assert files(table) == before
    # Other tables are as they were.
    lake.sql("CREATE TABLE main.other (x BIGINT)")


CHANGES = [
    "INSERT INTO main.t VALUES (100, 'x')",
    "INSERT INTO main.t SELECT * FROM main.t",
    "UPDATE main.t SET name = 'x' WHERE id = 3",
    "UPDATE main.t SET name = 'x' WHERE id = 300",
    "DELETE FROM main.t WHERE id = 3",
    "TRUNCATE main.t",
    "MERGE INTO main.t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "ALTER TABLE main.t ADD COLUMN more BIGINT",
    "ALTER TABLE main.t DROP COLUMN name",
    "ALTER TABLE main.t RENAME COLUMN name TO title",
    "ALTER TABLE main.t ALTER COLUMN id TYPE INTEGER",
    "ALTER TABLE main.t ALTER COLUMN id DROP NOT NULL",
    "COMMENT ON TABLE main.t IS 'x'",
    "COMMENT ON COLUMN main.t.id IS 'x'",
    "CREATE OR REPLACE TABLE main.t AS SELECT 1 AS id",
]
COMMANDS = [
    ["restore", "main.t", "--version", "1"],
    ["compact", "main.t"],
    ["cleanup", "main.t", "--older-than", "0", "--superseded-for", "0", "--replay-retention", "0"],
    ["tag", "create", "main.t", "new"],
    ["tag", "move", "main.t", "kept"],
    ["tag", "delete", "main.t", "kept"],
    ["branch", "create", "main.t", "new"],
    ["branch", "delete", "main.t", "line"],
    ["clone", "main.t", "main.c"],
    ["clone", "main.t", "main.c", "--copy"],
]


@pytest.mark.parametrize("flag", [OVERLAYS, DRAFTS[-1]])
def test_unknown_writer_flags_leave_the_table_readable(lake, table, tmp_path, flag):
    set_flags(table, 0, flag)
    upstream = lance.dataset(table)
    assert upstream.count_rows() == 10
    with pytest.raises((OSError, ValueError)):
        lance.write_dataset(pa.table({"id": [1], "name": ["x"]}, upstream.schema), table, mode="append")

    before = files(table)
    for statement in CHANGES:
        result = lake.sql(statement, exit_code=1)
        assert f"flag {flag} (" in result.stderr, f"{statement}: {result.stderr}"
    for command in COMMANDS:
        result = lake.run("table", *command, exit_code=1)
        assert f"flag {flag} (" in result.stderr, f"{command}: {result.stderr}"
    csv = tmp_path / "rows.csv"
    csv.write_text("id,name\n1,x\n")
    assert f"flag {flag} (" in lake.run("ingest", "main.t", csv, exit_code=1).stderr
    assert files(table) == before
    assert lake.run("table", "list").stdout.split() == ["main.t"]

    assert json.loads(lake.sql("SELECT count(*) AS n, sum(id) AS s FROM main.t").stdout) == [{"n": 10, "s": 45}]
    assert json.loads(lake.sql("SELECT name FROM main.t WHERE id = 7").stdout) == [{"name": "n7"}]
    assert json.loads(lake.run("table", "describe", "main.t", "--json").stdout)["row_count"] == 10
    assert lake.run("table", "tag", "list", "main.t").stdout.startswith("kept")
    report = json.loads(lake.run("table", "verify", "main.t", "--json", "--quiet").stdout)
    assert report["errors"] == 0 and report["warnings"] == 1
    # A name is not the table: it can go and come back.
    lake.run("table", "rename", "main.t", "main.u")
    lake.run("table", "drop", "main.u")
    lake.run("table", "undrop", "main.u")
    assert json.loads(lake.sql("SELECT count(*) AS n FROM main.u").stdout) == [{"n": 10}]
