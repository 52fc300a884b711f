"""Blob columns: lake and upstream write, read, change and damage the same tables.

Lake is the programs of this folder and `lake` itself; upstream is pylance in this process. What bytes are right is what went
in; how they are stored is compared with what upstream does with the same rows.
"""

import datetime
import json
import pathlib
import random
import shutil
import subprocess

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import BUILD_DIR
from lance import DatasetBasePath
from lance.blob import Blob, blob_array, blob_field
from table_ops import Ops

TABLE = BUILD_DIR / "bin/lake_interop_table"
SMALL = {"inline_size_threshold": 50, "dedicated_size_threshold": 400, "pack_file_size_threshold": 700}


def rows(blobs, first=0, field=None, **thresholds):
    field = field or blob_field("b", **(thresholds or SMALL))
    ids = pa.array(range(first, first + len(blobs)), pa.int64())
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("n", pa.int64()), field])
    return pa.table([ids, ids, blob_array(blobs)], schema=schema)


def some_blobs(seed, count=60):
    rng = random.Random(seed)
    sizes = [rng.choice([0, 1, 50, 51, 300, 400, 401, 2000, rng.randrange(700)]) for _ in range(count)]
    return [None if rng.random() < 0.15 else rng.randbytes(size) for size in sizes]


class Tables:
    """Lake's steps on tables of one folder."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, step, name, *arguments, exit_code=0):
        command = [TABLE, step, self.folder / name, *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert result.returncode == exit_code, result.stderr
        return result.stderr if exit_code else result.stdout

    def write(self, step, name, table, *options, exit_code=0):
        stream = self.folder / f"{name}.in.arrow"
        with pa.OSFile(str(stream), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return self.run(step, name, stream, *options, exit_code=exit_code)

    def blobs(self, name, addresses, *options, column="b", exit_code=0):
        stream = self.folder / f"{name}.out.arrow"
        error = self.run("blobs", name, column, ",".join(map(str, addresses)), stream, *options, exit_code=exit_code)
        return error if exit_code else pa.ipc.open_stream(pa.OSFile(str(stream))).read_all()["blob"].to_pylist()

    def upstream(self, name):
        return lance.dataset(str(self.folder / name))


@pytest.fixture
def tables(tmp_path):
    return Tables(tmp_path)


def addresses(dataset):
    return dataset.to_table(columns=[], with_row_address=True)["_rowaddr"].to_pylist()


def upstream_blobs(dataset, column="b"):
    return [blob for _, blob in dataset.read_blobs(column, addresses=addresses(dataset))]


def by_id(dataset):
    return dict(zip(dataset.to_table(columns=["id"])["id"].to_pylist(), upstream_blobs(dataset), strict=True))


def files(path):
    return {str(file.relative_to(path)): file.stat().st_size for file in pathlib.Path(path, "data").rglob("*") if file.is_file()}


def described(dataset, column="b"):
    """Kind, size and number of the file of each blob."""
    parts = dataset.to_table(columns=[column])[column].to_pylist()
    return [part and (part["kind"], part["size"], part["blob_id"], part["blob_uri"]) for part in parts]


def test_upstream_reads_what_lake_stores_where_upstream_stores_it(tables):
    blobs = some_blobs(1)
    table = rows(blobs)
    tables.write("create", "ours", table)
    lance.write_dataset(table, str(tables.folder / "theirs"), data_storage_version="2.2")
    ours, theirs = tables.upstream("ours"), tables.upstream("theirs")
    ours.validate()
    assert ours.schema == theirs.schema
    assert upstream_blobs(ours) == blobs
    assert described(ours) == described(theirs)
    assert {kind for kind, *_ in filter(None, described(ours))} == {0, 1, 2}
    sidecars = [sorted((pathlib.Path(name).name, size) for name, size in files(dataset.uri).items() if name.endswith(".blob"))
                for dataset in (ours, theirs)]
    assert sidecars[0] == sidecars[1]
    assert [handle and handle.readall() for handle in ours.take_blobs("b", addresses=addresses(ours))] == blobs
    assert ours.to_table(columns=["b"], blob_handling="all_binary")["b"].to_pylist() == blobs
    wanted = [(row, len(blob) // 3, len(blob) // 2) for row, blob in enumerate(blobs) if blob]
    got = ours.read_blob_ranges("b", requests=wanted, selector="indices")
    assert [part[-1] for part in got] == [blobs[row][at:at + count] for row, at, count in wanted]
    assert ours.to_table(filter="b IS NULL").num_rows == blobs.count(None)


def test_default_thresholds_are_upstreams(tables):
    sizes = [65_536, 65_537, 4_194_304, 4_194_305, 0, 70_000]
    blobs = [random.Random(size).randbytes(size) for size in sizes]
    table = rows(blobs, field=blob_field("b"))
    tables.write("create", "ours", table)
    lance.write_dataset(table, str(tables.folder / "theirs"), data_storage_version="2.2")
    assert described(tables.upstream("ours")) == described(tables.upstream("theirs"))
    assert upstream_blobs(tables.upstream("ours")) == blobs


@pytest.mark.parametrize("type_", [pa.large_binary(), pa.binary()])
def test_bytes_with_the_old_metadata_become_blobs(tables, type_):
    blobs = [b"one", None, b"", b"x" * 70_000]
    schema = pa.schema([pa.field("b", type_, metadata={"lance-encoding:blob": "true", "mine": "kept"})])
    table = pa.table([pa.array(blobs, type_)], schema=schema)
    tables.write("create", "ours", table)
    lance.write_dataset(table, str(tables.folder / "theirs"), data_storage_version="2.2")
    ours, theirs = tables.upstream("ours"), tables.upstream("theirs")
    assert ours.schema == theirs.schema
    assert [field.id() for field in ours.lance_schema.fields()] == [field.id() for field in theirs.lance_schema.fields()]
    assert ours.schema.field("b").metadata == {b"mine": b"kept"}
    assert upstream_blobs(ours) == blobs


def test_several_columns_and_blobs_in_structs(tables):
    first, second = some_blobs(2), some_blobs(3)
    inner = pa.StructArray.from_arrays([blob_array(second), pa.array(range(60))], fields=[blob_field("scan", **SMALL),
                                                                                         pa.field("page", pa.int64())])
    schema = pa.schema([blob_field("b", **SMALL), pa.field("s", inner.type)])
    table = pa.table([blob_array(first), inner], schema=schema)
    tables.write("create", "ours", table)
    lance.write_dataset(table, str(tables.folder / "theirs"), data_storage_version="2.2")
    for name in ("ours", "theirs"):
        dataset = tables.upstream(name)
        rows_ = addresses(dataset)
        for column, blobs in (("b", first), ("s.scan", second)):
            assert upstream_blobs(dataset, column) == blobs
            assert tables.blobs(name, rows_, column=column) == blobs
    assert described(tables.upstream("ours")) == described(tables.upstream("theirs"))


def test_pages_of_nulls_alone(tables):
    table = rows([None] * 30)
    tables.write("create", "ours", table)
    lance.write_dataset(table, str(tables.folder / "theirs"), data_storage_version="2.2")
    for name in ("ours", "theirs"):
        assert upstream_blobs(tables.upstream(name)) == [None] * 30
        assert tables.blobs(name, [3, 0, 29]) == [None] * 3


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_lake_reads_many_blobs_and_ranges_of_upstreams(tables, version):
    blobs = some_blobs(4, count=300)
    if version == "2.2":
        table = rows(blobs)
    else:
        field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
        table = pa.table([pa.array(range(300)), pa.array(blobs, pa.large_binary())],
                         schema=pa.schema([pa.field("id", pa.int64()), field]))
    lance.write_dataset(table, str(tables.folder / "t"), data_storage_version=version, max_rows_per_file=90)
    dataset = tables.upstream("t")
    assert [handle and handle.readall() for handle in dataset.take_blobs("b", addresses=addresses(dataset))] == blobs
    rng = random.Random(5)
    picked = [rng.randrange(300) for _ in range(150)]
    wanted = [addresses(dataset)[row] for row in picked]
    assert tables.blobs("t", wanted) == [blobs[row] for row in picked]
    assert tables.blobs("t", wanted, "take") == [blobs[row] for row in picked]
    cuts = [(len(blobs[row] or b"") // 4, len(blobs[row] or b"") // 2) for row in picked]
    expected = [blobs[row] if blobs[row] is None else blobs[row][at:at + count]
                for row, (at, count) in zip(picked, cuts, strict=True)]
    ranges = ",".join(f"{at}:{count}" for at, count in cuts)
    assert tables.blobs("t", wanted, f"ranges={ranges}") == expected


def test_each_appends_to_the_others_table(tables):
    parts = [some_blobs(seed) for seed in (6, 7, 8)]
    tables.write("create", "t", rows(parts[0]))
    lance.write_dataset(rows(parts[1], 60), str(tables.folder / "t"), mode="append")
    tables.write("append", "t", rows(parts[2], 120), "rows=25")
    lance.write_dataset(rows(parts[0], 0), str(tables.folder / "u"), data_storage_version="2.2")
    tables.write("append", "u", rows(parts[1], 60))
    for name, expected in (("t", sum(parts, [])), ("u", parts[0] + parts[1])):
        dataset = tables.upstream(name)
        dataset.validate()
        assert upstream_blobs(dataset) == expected
        assert tables.blobs(name, addresses(dataset)) == expected


def test_external_blobs(tables):
    media = tables.folder / "media"
    media.mkdir()
    (media / "o.bin").write_bytes(b"0123456789" * 10)
    uri = f"file://{media}/o.bin"
    values = [uri, Blob.from_uri(uri, 5, 10), None, b"bytes"]
    expected = [b"0123456789" * 10, b"5678901234", None, b"bytes"]
    table = rows(values)

    error = tables.write("create", "refused", table, exit_code=1)
    assert "permission_denied" in error and uri in error and "'b'" in error
    assert not (tables.folder / "refused").exists() or not list((tables.folder / "refused").rglob("*.*"))

    tables.write("create", "absolute", table, "external")
    lance.write_dataset(table, str(tables.folder / "theirs"), data_storage_version="2.2", allow_external_blob_outside_bases=True)
    tables.write("create", "based", table, f"external_base=file://{media}")
    lance.write_dataset(table, str(tables.folder / "their_based"), data_storage_version="2.2",
                        initial_bases=[DatasetBasePath(f"file://{media}", "media", False)])
    assert described(tables.upstream("absolute")) == described(tables.upstream("theirs"))
    assert described(tables.upstream("based")) == described(tables.upstream("their_based"))
    for name, allowed in (("absolute", "external"), ("theirs", "external"), ("based", "base"), ("their_based", "base")):
        dataset = tables.upstream(name)
        assert upstream_blobs(dataset) == expected, name
        assert tables.blobs(name, [0, 1, 2, 3], allowed) == expected, name
        assert tables.blobs(name, [2, 3]) == expected[2:], name
        error = tables.blobs(name, [1], exit_code=1)
        assert ("permission_denied" if allowed == "external" else "unsupported") in error and str(media) in error, error
    dataset = tables.upstream("based")
    (media / "o.bin").unlink()
    assert "not_found" in tables.blobs("absolute", [0], "external", exit_code=1)
    assert "not_found" in tables.blobs("based", [0], "base", exit_code=1)


def test_operations_carry_blobs(tables):
    blobs = some_blobs(9)
    ops = Ops(tables.folder / "t")
    tables.write("create", "t", rows(blobs), "rows=25")
    expected = dict(enumerate(blobs))
    ops.do("delete", "(< id 5)")
    for row in range(5):
        del expected[row]
    ops.do("update", "n=(+ n 100)", "where=(> id 20)")
    assert by_id(ops.upstream()) == expected
    ops.do("merge", rows(some_blobs(10), 50), "on=id", "matched=update")
    expected.update(zip(range(50, 110), some_blobs(10), strict=True))
    ops.do("merge", rows([None] * 3, 8).select(["id", "n"]), "on=id", "matched=update", "insert=no")
    dataset = ops.upstream()
    dataset.validate()
    assert by_id(dataset) == expected
    # Upstream goes on with it.
    dataset.update({"n": "n + 1"}, where="id % 2 = 0")
    dataset.optimize.compact_files()
    dataset = ops.upstream()
    assert by_id(dataset) == expected
    assert tables.blobs("t", addresses(dataset)) == upstream_blobs(dataset)
    assert "unsupported" in ops.do("update", "b=(if_else true b b)", exit_code=1)


def test_lake_keeps_house_over_blob_tables(lake, tables):
    """Compaction, verify, clean-up, copies: the program on a table whose blobs upstream and lake wrote."""
    lake.sql("CREATE TABLE main.t (id BIGINT)")
    path = pathlib.Path(json.loads(lake.run("table", "describe", "main.t", "--json").stdout)["location"])
    parts = [some_blobs(seed) for seed in (11, 12, 13)]
    lance.write_dataset(rows(parts[0]), str(path), mode="overwrite")
    house = Tables(path.parent)
    house.write("append", path.name, rows(parts[1], 60))
    lance.write_dataset(rows(parts[2], 120), str(path), mode="append").delete("id % 7 = 3")
    expected = {row: blob for row, blob in enumerate(sum(parts, [])) if row % 7 != 3}

    lake.run("table", "clone", "main.t", "main.c", "--copy", "--quiet")
    lake.run("table", "compact", "main.t", "--quiet")
    dataset = lance.dataset(str(path))
    dataset.validate()
    assert len(dataset.get_fragments()) == 1
    assert by_id(dataset) == expected
    report = json.loads(lake.run("table", "verify", "main.t", "--data", "--json").stdout)
    assert report["errors"] == 0, report

    lake.run("table", "cleanup", "main.t", "--older-than", "0", "--superseded-for", "0", "--replay-retention", "0",
             "--delete-unverified")
    stem = dataset.get_fragments()[0].data_files()[0].path.removesuffix(".lance")
    assert all(name.startswith(f"data/{stem}") for name in files(path)), files(path)
    numbers = {part[2] for part in filter(None, described(dataset)) if part[0] in (1, 2)}
    assert len(files(path)) == 1 + len(numbers)
    assert by_id(lance.dataset(str(path))) == expected
    # The copy has its own.
    copy = json.loads(lake.run("table", "describe", "main.c", "--json").stdout)["location"]
    shutil.rmtree(path)
    assert by_id(lance.dataset(copy)) == expected


def test_sql_shows_where_blobs_lie_and_carries_them(lake):
    lake.sql("CREATE TABLE main.t (id BIGINT)")
    path = json.loads(lake.run("table", "describe", "main.t", "--json").stdout)["location"]
    blobs = some_blobs(17)
    nested = pa.StructArray.from_arrays([blob_array(blobs)], fields=[blob_field("scan", **SMALL)])
    table = rows(blobs)
    table = table.append_column("s", nested)
    lance.write_dataset(table, path, mode="overwrite")
    shown = [json.loads(lake.sql(f"SELECT {column} AS b FROM main.t ORDER BY id").stdout) for column in ("b", "s.scan")]
    for column, answer in zip(("b", "s"), shown, strict=True):
        expected = lance.dataset(path).to_table(columns=[column])[column].to_pylist()
        assert [row["b"] for row in answer] == [row if column == "b" else row["scan"] for row in expected]
    kinds = lake.sql("SELECT b.kind AS kind, count(*) AS n, sum(b.size) AS size FROM main.t GROUP BY 1 ORDER BY 1").stdout
    assert [row["kind"] for row in json.loads(kinds)] == [0, 1, 2, None]
    nulls = json.loads(lake.sql("SELECT count(*) AS n FROM main.t WHERE b IS NULL").stdout)
    assert nulls == [{"n": blobs.count(None)}]

    for statement in ("INSERT INTO main.t VALUES (1, 1, NULL, NULL)", "INSERT INTO main.t SELECT * FROM main.t",
                      "UPDATE main.t SET b = NULL", "UPDATE main.t SET s = {'scan': b}",
                      "MERGE INTO main.t USING (SELECT 1 AS k) u ON id = k WHEN MATCHED THEN UPDATE SET b = NULL"):
        error = lake.sql(statement, exit_code=1).stderr
        assert "on a blob column" in error and "main.t" in error, error
    assert by_id(lance.dataset(path)) == dict(enumerate(blobs))

    lake.sql("UPDATE main.t SET n = -n, b = b WHERE id % 2 = 0")
    lake.sql("MERGE INTO main.t USING range(50, 70) u(k) ON id = k WHEN MATCHED THEN UPDATE SET n = 7")
    lake.sql("BEGIN; UPDATE main.t SET n = 8 WHERE id < 3; UPDATE main.t SET n = n + 1 WHERE id < 5; COMMIT")
    lake.sql("DELETE FROM main.t WHERE id = 11")
    expected = {row: blob for row, blob in enumerate(blobs) if row != 11}
    dataset = lance.dataset(path)
    dataset.validate()
    assert by_id(dataset) == expected
    ids = dataset.to_table(columns=["id"])["id"].to_pylist()
    assert dict(zip(ids, upstream_blobs(dataset, "s.scan"), strict=True)) == expected
    values = dict(zip(ids, dataset.to_table(columns=["n"])["n"].to_pylist(), strict=True))
    assert (values[2], values[4], values[6], values[55], values[7]) == (9, -3, -6, 7, 7)


def test_bytes_are_ingested_as_blobs(lake, tmp_path):
    lake.sql("CREATE TABLE main.t (id BIGINT)")
    path = json.loads(lake.run("table", "describe", "main.t", "--json").stdout)["location"]
    first, second = some_blobs(19), some_blobs(20)
    lance.write_dataset(rows(first), path, mode="overwrite")
    source = tmp_path / "more.parquet"
    pq.write_table(pa.table({"b": pa.array(second, pa.binary()), "id": range(60, 120)}), source)
    lake.run("ingest", "main.t", source, "--quiet")
    assert by_id(lance.dataset(path)) == dict(enumerate(first + second))


def test_inspect_says_what_a_blob_column_is(lake, tables):
    tables.write("create", "t", rows(some_blobs(18)))
    text = lake.run("inspect", tables.folder / "t").stdout
    assert "field 2: b struct, blobs of version 2" in text
    file = next((tables.folder / "t/data").glob("*.lance"))
    text = lake.run("inspect", file).stdout
    assert "b: struct, blobs of version 2" in text and "variable_packed_struct" in text.replace(" ", "_")


def test_clones_of_upstream(tables):
    blobs = some_blobs(14)
    tables.write("create", "t", rows(blobs))
    dataset = tables.upstream("t")
    dataset.shallow_clone(str(tables.folder / "shallow"), 1)
    dataset.deep_clone(str(tables.folder / "deep"), 1)
    assert tables.blobs("shallow", range(60), "base") == blobs
    assert "unsupported" in tables.blobs("shallow", range(60), exit_code=1)
    shutil.rmtree(tables.folder / "t")
    assert tables.blobs("deep", range(60)) == blobs


def test_damaged_sidecars_are_named(tables):
    blobs = [b"x" * 300, b"y" * 2000, b"inline"]
    lance.write_dataset(rows(blobs), str(tables.folder / "t"), data_storage_version="2.2")
    stem = tables.upstream("t").get_fragments()[0].data_files()[0].path.removesuffix(".lance")
    folder = tables.folder / "t/data" / stem
    packed, dedicated = (f"{bits}{'0' * 30}.blob" for bits in ("10", "01"))
    with (folder / packed).open("r+b") as file:
        file.truncate(299)
    (folder / dedicated).unlink()
    for option in ([], ["take"]):
        error = tables.blobs("t", [0], *option, exit_code=1)
        assert "corrupt" in error and packed in error and "behind the end" in error and '"b"' in error
        error = tables.blobs("t", [1], *option, exit_code=1)
        assert "corrupt" in error and dedicated in error and "does not exist" in error
    assert tables.blobs("t", [2]) == [b"inline"]


def test_old_versions_and_clean_up_of_upstream(tables):
    first, second = some_blobs(15), some_blobs(16)
    tables.write("create", "t", rows(first))
    tables.write("append", "t", rows(second, 60))
    dataset = tables.upstream("t")
    dataset.optimize.compact_files()
    assert tables.blobs("t", range(60), "version=1") == first
    tables.upstream("t").cleanup_old_versions(older_than=datetime.timedelta(0))
    dataset = tables.upstream("t")
    assert tables.blobs("t", addresses(dataset)) == first + second
    stem = dataset.get_fragments()[0].data_files()[0].path.removesuffix(".lance")
    assert all(name.startswith(f"data/{stem}") for name in files(tables.folder / "t"))
