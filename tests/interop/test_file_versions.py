"""Tables of data files of version 2.1: lake makes them and stays with the version, whatever it does; upstream of the time reads
them and goes on, as today's does. Tables of 2.0 can be read and tidied up, but take no rows."""

import json
import os
import pathlib
import shutil
import subprocess

import lance
import pyarrow as pa
import pytest
from conftest import ROOT
from nested_types import NESTED_21, SHAPES, nested_column
from table_ops import Ops, by_id, same
from test_format_write import OLD_PYTHON, OLD_READER, write
from test_maintenance import NOW, lake_ids, location, verify
from test_table_ops import operation, rows, values
from type_table import patterns, tables

# The oldest pylance that reads files of version 2.1; scripts/setup makes it.
FIRST_PYTHON = pathlib.Path(os.environ.get("LAKE_FIRST_LANCE_PYTHON", ROOT / ".deps/venv-lance1/bin/python"))
MIXED = 256


def run_first(script, *arguments):
    """Runs `script` by the old upstream."""
    assert FIRST_PYTHON.exists(), f"{FIRST_PYTHON} is missing: run scripts/setup"
    result = subprocess.run([FIRST_PYTHON, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False)
    print(result.stdout)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    return result.stdout


def save(table, path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return path


def file_versions(dataset):
    return {(file.file_major_version, file.file_minor_version)
            for fragment in dataset.get_fragments() for file in fragment.data_files()}


def is_pure(path, version="2.1"):
    """All files, and those to come, are of the version."""
    dataset = lance.dataset(str(path))
    dataset.validate()
    assert dataset.data_storage_version == version
    numbers = {(0, 3), (2, 0)} if version == "2.0" else {tuple(map(int, version.split(".")))}
    assert file_versions(dataset) <= numbers
    return dataset


@pytest.fixture(params=["plain", "stable"])
def ops(request, tmp_path):
    """300 rows in three fragments of version 2.1."""
    table = Ops(tmp_path / "t.lance")
    table.do("create", rows(0, 300), "rows=100", "version=2.1", *(["stable"] if request.param == "stable" else []))
    is_pure(table.path)
    return table


def test_every_operation_writes_the_tables_own_version(ops):
    steps = [("append", rows(300, 50)), ("delete", "(< id 20)"), ("update", "v=(+ v 1)", "where=(= (mod id 3) 0)"),
             ("merge", pa.concat_tables([rows(30, 10, scale=3), rows(1000, 4)]), "on=id", "matched=update"),
             ("merge", pa.table({"v": pa.array([1, 2], pa.int64()), "id": pa.array([40, 2000], pa.int64())}), "on=id", "matched=update"),
             ("add", "w=(* v 2)"), ("add_null", pa.table({"empty": pa.array([], pa.float32())})),
             ("cast", "v", "double"), ("replace", "w=(+ v 1)"), ("drop", "name"), ("update", "w=0")]
    for step in steps:
        before = ops.upstream().version
        assert ops.do(*step).version > before, step
        same(ops)
        is_pure(ops.path)
    dataset = ops.upstream()
    count = dataset.count_rows()
    # Upstream goes on in the same version.
    lance.write_dataset(pa.table({"id": pa.array([9000], pa.int64()), "v": [1.5], "w": [2.5],
                                  "empty": pa.array([None], pa.float32())}, schema=dataset.schema), str(ops.path), mode="append")
    ops.upstream().optimize.compact_files(target_rows_per_fragment=10_000)
    assert is_pure(ops.path).count_rows() == count + 1
    ops.do("update", "w=7", "where=(>= id 1000)")
    same(ops)
    is_pure(ops.path)


def test_an_overwrite_keeps_the_version_unless_told(ops):
    ops.do("overwrite", rows(0, 10))
    assert is_pure(ops.path).count_rows() == 10
    ops.do("overwrite", rows(0, 20), "version=2.2")
    assert is_pure(ops.path, "2.2").count_rows() == 20
    ops.do("restore", 2)
    assert is_pure(ops.path).count_rows() == 10
    ops.do("append", rows(10, 5))
    assert is_pure(ops.path).count_rows() == 15


@pytest.mark.parametrize("stable", [False, True])
def test_tables_that_upstream_made(tmp_path, stable):
    ops = Ops(tmp_path / "t.lance")
    lance.write_dataset(rows(0, 300), str(ops.path), max_rows_per_file=100, data_storage_version="2.1", enable_stable_row_ids=stable)
    ops.do("append", rows(300, 30))
    ops.do("delete", "(= (mod id 10) 1)")
    ops.do("merge", pa.concat_tables([rows(50, 10, scale=7), rows(5000, 3)]), "on=id", "matched=update")
    ops.do("add", "w=(+ v 1)")
    dataset = same(ops)
    is_pure(ops.path)
    assert operation(dataset) == "Merge"
    assert values(dataset)[52] == 52 * 7 and values(dataset)[5002] == 50020


@pytest.mark.parametrize("fixture", ["era_6.1.0_2.1", "era_11.0.0_2.1"])
def test_tables_of_the_versions_own_time(tmp_path, fixture):
    """Whose manifests list parents as well, and whose files have what writers of that time chose."""
    ops = Ops(tmp_path / "t.lance")
    shutil.copytree(ROOT / "tests/fixtures/tables" / fixture / "dataset", ops.path)
    before = ops.upstream().to_table()
    ops.do("append", before.slice(0, 40))
    dataset = ops.upstream()
    assert dataset.to_table().equals(pa.concat_tables([before, before.slice(0, 40)]).combine_chunks())
    assert (2, 2) not in file_versions(dataset)
    assert dataset.data_storage_version == "2.1"


def test_indices_and_changes_of_one_table_by_all(ops):
    """The old upstream appends and updates what lake made, today's indexes it, lake changes it again."""
    run_first("""
import sys, lance, pyarrow as pa
more = pa.ipc.open_stream(sys.argv[2]).read_all()
lance.write_dataset(more, sys.argv[1], mode="append")
dataset = lance.dataset(sys.argv[1])
dataset.delete("id < 5")
dataset.update({"v": "v + 1"}, where="id >= 300")
dataset = lance.dataset(sys.argv[1])
assert dataset.count_rows() == 305 and dataset.data_storage_version == "2.1"
""", ops.path, save(rows(300, 10), ops.path.parent / "more.arrow"))
    is_pure(ops.path)
    ops.upstream().create_scalar_index("id", "BTREE")
    ops.do("update", "v=0", "where=(< id 50)")
    ops.do("append", rows(1000, 5))
    dataset = same(ops)
    is_pure(ops.path)
    assert dataset.to_table(filter="id = 20")["v"].to_pylist() == [0]
    assert dataset.to_table(filter="id = 301")["v"].to_pylist() == [3011]
    assert dataset.count_rows() == 310


def old_columns(table):
    """What upstream 1 itself reads of its own files."""
    return table.select([name for name in table.column_names if name not in FIRST_LACKS])


# No such types then.
FIRST_LACKS = {"string_view", "binary_view"}


def test_the_first_upstream_reads_a_table_that_lake_made(tmp_path):
    """Every type and nesting that 2.1 has, in a table with deletions and later columns."""
    cells = 0
    for shape in SHAPES:
        table = pa.table({name: nested_column(name, arrow_type, 300, shape) for name, arrow_type in NESTED_21.items()})
        table = old_columns(table).append_column("id", pa.array(range(300), pa.int64()))
        ops = Ops(tmp_path / f"{shape}.lance")
        ops.do("create", table, "rows=128", "version=2.1")
        ops.do("delete", "(= (mod id 7) 3)")
        ops.do("add", "twice=(* id 2)")
        kept = table.filter(pa.array([i % 7 != 3 for i in range(300)]))
        expected = kept.append_column("twice", pa.array([i * 2 for i in range(300) if i % 7 != 3], pa.int64()))
        run_first(READ_TABLE, ops.path, save(expected, tmp_path / "expected.arrow"), *FIRST_MISREADS.get(shape, []))
        cells += expected.num_columns - len(FIRST_MISREADS.get(shape, []))
    print("cells", cells)
    assert cells > 100


# It misreads these where most lists are null or empty, just as when later versions of upstream wrote them; most of them it cannot
# read when it wrote them itself.
FIRST_MISREADS = {"sparse": ["list_int", "list_double", "list_binary", "list_fsl", "list_wide_fsl", "list_fsb300", "list_list",
                             "list_list_list", "list_struct", "list_struct_list", "struct_list", "struct_struct_list"]}

READ_TABLE = """
import sys, lance, pyarrow as pa
expected = pa.ipc.open_stream(sys.argv[2]).read_all()
dataset = lance.dataset(sys.argv[1])
failed = []
for name in expected.column_names:
    if name in sys.argv[3:]: continue
    try:
        same = dataset.to_table(columns=[name])[name].to_pylist() == expected[name].to_pylist()
    except BaseException as error:
        same = False
        print("error:", name, str(error)[:200])
    if not same: failed.append(name)
rows = [1, 5, 200, 7, 7]
some = dataset.take(rows, columns=["id", "twice"])
assert some["id"].to_pylist() == expected.take(rows)["id"].to_pylist()
assert dataset.to_table(columns=["id"], filter="twice > 500").num_rows == sum(v > 500 for v in expected["twice"].to_pylist())
print("pylance", lance.__version__, "differs:", failed)
sys.exit(bool(failed))
"""


def test_the_first_upstream_reads_every_flat_cell(tmp_path):
    stems = []
    for nulls, count, shape in patterns(rows=(1, 1000, 20_000)):
        for i, table in enumerate(tables(nulls, count, shape)):
            table = table.select([name for name in table.column_names if "+05:30" not in name])
            stem = tmp_path / f"{nulls}-{count}-{shape}-{i}"
            write(table, stem.with_suffix(".lance"), version="2.1")
            save(table, f"{stem}.arrow")
            stems.append(stem)
    run_first(OLD_READER, pathlib.Path(__file__).parent, *stems)


def foreign(lake, version, **options):
    """A table of lake's catalog whose folder holds a dataset of upstream's making."""
    lake.sql("CREATE TABLE main.t (id BIGINT)")
    path = location(lake)
    incarnation = json.loads(lake.run("table", "describe", "main.t", "--json").stdout)["incarnation"]
    shutil.rmtree(path)
    for i in range(4):
        table = pa.table({"id": pa.array(range(i * 10, i * 10 + 10), pa.int64()), "s": [f"s{j}" for j in range(10)]})
        lance.write_dataset(table, path, mode="append" if i else "create", data_storage_version=version, **options)
    lance.dataset(path).update_metadata({"lake.incarnation": incarnation})
    return path


def test_sql_and_upkeep_of_a_table_of_2_1(lake):
    path = foreign(lake, "2.1")
    lake.sql("INSERT INTO main.t VALUES (100, 'x')")
    lake.sql("UPDATE main.t SET s = 'y' WHERE id < 3")
    lake.sql("ALTER TABLE main.t ADD COLUMN n INTEGER")
    lake.sql("MERGE INTO main.t USING (VALUES (5, 'm'), (200, 'n')) v(id, s) ON t.id = v.id "
             "WHEN MATCHED THEN UPDATE SET s = v.s WHEN NOT MATCHED THEN INSERT (id, s) VALUES (v.id, v.s)")
    result = json.loads(lake.run("table", "compact", "main.t", "--json", "--quiet").stdout)
    assert result["fragments_after"] == 1
    dataset = is_pure(path)
    assert sorted(dataset.to_table()["id"].to_pylist()) == lake_ids(lake) == [*range(40), 100, 200]
    verify(lake)
    lake.run("table", "clone", "main.t", "main.deep", "--copy")
    lake.sql("INSERT INTO main.deep (id) VALUES (7)")
    is_pure(location(lake, "main.deep"))
    lake.sql("CREATE OR REPLACE TABLE main.t AS SELECT 1 AS id")
    assert is_pure(path).count_rows() == 1


def test_a_table_of_2_0_takes_no_rows_but_all_else(lake):
    path = foreign(lake, "2.0")
    before = is_pure(path, "2.0").version
    refused = ["INSERT INTO main.t VALUES (1, 'x')", "UPDATE main.t SET s = 'y'",
               "MERGE INTO main.t USING (SELECT 1 AS id) v ON t.id = v.id WHEN MATCHED THEN UPDATE SET s = 'z'",
               "ALTER TABLE main.t ALTER COLUMN id TYPE INTEGER", "CALL lake_compact('main.t')",
               "CREATE OR REPLACE TABLE main.t AS SELECT 1 AS id"]
    for statement in refused:
        error = lake.sql(statement, exit_code=1).stderr
        for text in ("file_version 2.0", "2.1 and 2.2", "into a new table", "CREATE OR REPLACE TABLE"):
            assert text in error, (statement, error)
    assert lance.dataset(path).version == before
    lake.sql("DELETE FROM main.t WHERE id % 2 = 1")
    lake.sql("ALTER TABLE main.t RENAME COLUMN s TO text")
    lake.sql("ALTER TABLE main.t DROP COLUMN text")
    lake.sql("CALL lake_tag('main.t', 'kept')")
    lake.sql(f"CALL lake_restore('main.t', {before})")
    assert lake_ids(lake) == [*range(40)]
    lake.sql("DELETE FROM main.t WHERE id < 10")
    report = json.loads(lake.run("table", "cleanup", "main.t", *NOW, "--json").stdout)
    assert any(not version["kept"] for version in report["versions"]) if "kept" in report["versions"][0] else report
    assert is_pure(path, "2.0").count_rows() == 30
    verify(lake)
    # The ways out that the error names.
    lake.sql("CREATE TABLE main.copy AS SELECT * FROM main.t")
    lake.sql("INSERT INTO main.copy VALUES (1000, 'x')")
    is_pure(location(lake, "main.copy"), "2.2")
    lake.sql("CREATE OR REPLACE TABLE main.t WITH (file_version = '2.1') AS SELECT * FROM main.copy")
    lake.sql("INSERT INTO main.t VALUES (1001, 'y')")
    assert is_pure(path).count_rows() == 32
    assert by_id(lance.dataset(path).to_table())[-2:] == [(1000, "x"), (1001, "y")]


def test_ingest_makes_a_table_of_the_version(lake, tmp_path):
    (tmp_path / "t.csv").write_text("id,name\n1,a\n2,b\n")
    lake.run("ingest", "main.t", tmp_path / "t.csv", "--create", "--file-version", "2.1", "--quiet")
    lake.run("ingest", "main.t", tmp_path / "t.csv", "--quiet")
    assert is_pure(location(lake)).count_rows() == 4
    assert "has its own" in lake.run("ingest", "main.t", tmp_path / "t.csv", "--file-version", "2.1", exit_code=1).stderr
    assert "2.0" in lake.run("ingest", "main.u", tmp_path / "t.csv", "--create", "--file-version", "2.0", exit_code=1).stderr


def floor_cases(folder):
    """Tables of today's upstream, each with something that not every Lance reads; or with nothing of the kind."""
    count = 2000
    plain = pa.table({"a": pa.array(range(count), pa.int64()), "s": [f"text {i % 50}" for i in range(count)],
                      "n": pa.array([None if i % 3 else i for i in range(count)], pa.int32()),
                      "l": pa.array([None if i % 5 == 0 else [*range(i % 4)] for i in range(count)], pa.list_(pa.int32()))})
    item = pa.struct([("a", pa.int32()), ("b", pa.float64())])
    packed = pa.table([pa.array([{"a": i, "b": i / 2} for i in range(count)], item)],
                      schema=pa.schema([pa.field("c", item, metadata={"lance-encoding:packed": "true"})]))
    nulls = pa.table({"v": pa.array([[None, None]] * count, pa.list_(pa.float32(), 2))})
    json_column = pa.table({"j": pa.array(['{"a":1}'] * count, pa.json_())})
    maps = pa.table({"m": pa.array([[("k", i)] for i in range(count)], pa.map_(pa.string(), pa.int32()))})

    def made(name, table, version, **options):
        return lance.write_dataset(table, str(folder / name), data_storage_version=version, **options)

    for version in ("2.0", "2.1", "2.2"):
        made(f"plain {version}", plain, version)
        made(f"packed {version}", packed, version)
        made(f"json {version}", json_column, version)
        made(f"deleted {version}", plain, version).delete("a < 10")
    made("stable 2.0", plain, "2.0", enable_stable_row_ids=True).update_config({"k": "v"})
    made("null items 2.1", nulls, "2.1")
    made("maps 2.2", maps, "2.2")
    source = made("source 2.0", plain, "2.0")
    source.shallow_clone(str(folder / "clone 2.0"), source.version)
    made("mixed 2.0", plain, "2.0")
    lance.write_dataset(plain, str(folder / "mixed 2.0"), mode="append", data_storage_version="2.1")


OPENS = """
import os, sys, lance
# One process each: old ones panic, and a thread that panicked may hang the next read.
for path in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            lance.dataset(path).to_table()
            os._exit(0)
        except BaseException:
            os._exit(1)
    print(path, os.waitpid(child, 0)[1] == 0, sep="\\t")
"""


def test_inspect_tells_the_oldest_lance_that_reads(lake, tmp_path):
    """By two old ones: each opens what its release is enough for, and nothing else."""
    folder = tmp_path / "tables"
    folder.mkdir()
    floor_cases(folder)
    floors = {}
    for path in sorted(folder.iterdir()):
        reports = [json.loads(lake.run("inspect", part, "--json").stdout) for part in (path, *path.glob("data/*.lance"))]
        floors[str(path)] = max(tuple(map(int, report["reading_floor"]["lance"].split("."))) for report in reports)
    assert len(set(floors.values())) >= 4
    for release, python in (((1, 0), FIRST_PYTHON), ((4, 0), OLD_PYTHON)):
        result = subprocess.run([python, "-W", "ignore", "-c", OPENS, *floors], capture_output=True, text=True, timeout=600, check=True)
        opened = {path: value == "True" for path, value in (line.split("\t") for line in result.stdout.splitlines())}
        assert opened == {path: floor <= release for path, floor in floors.items()}, release
