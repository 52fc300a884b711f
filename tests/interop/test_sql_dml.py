"""SQL that changes rows and columns: upstream sees what a model says, and the other way round, on one table.

Lake is the real program. Expectations come from the model and from upstream's reader (pylance in this process), never
from lake's.
"""

import json
import os
import random
import shutil

import lance
import pyarrow as pa
import pytest

STEPS = int(os.environ.get("LAKE_TEST_DML_STEPS", "40"))


@pytest.fixture
def seeded():
    seed = int(os.environ.get("LAKE_TEST_SEED", random.SystemRandom().getrandbits(32)))
    print(f"seed {seed}: LAKE_TEST_SEED={seed} repeats it")
    return random.Random(seed)


def describe(lake, table):
    return json.loads(lake.run("table", "describe", table, "--json").stdout)


def location(lake, table):
    return describe(lake, table)["location"]


def upstream_rows(lake, table):
    dataset = lance.dataset(location(lake, table))
    dataset.validate()
    return sorted(((row["id"], row["s"], row["n"]) for row in dataset.to_table().to_pylist()), key=repr)


def lake_rows(lake, table):
    rows = json.loads(lake.sql(f"SELECT id, s, n FROM {table}").stdout)
    return sorted(((row["id"], row["s"], row["n"]) for row in rows), key=repr)


def model_rows(model):
    return sorted(((key, *value) for key, value in model.items()), key=repr)


def literal(value):
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


class Changes:
    """Random changes of a table id -> (s, n), by lake's SQL or by upstream, on the table and on the model."""

    def __init__(self, lake, source):
        self.lake = lake
        self.source = source
        self.model = {}
        self.next_id = 0

    def value(self):
        return (self.source.choice([None, "a", "it's", "x" * 300]), self.source.choice([None, 0, -1, 1 << 40]))

    def some_ids(self):
        ids = sorted(self.model)
        return self.source.sample(ids, self.source.randrange(len(ids) // 2 + 1)) if ids else []

    def insert(self):
        rows = {self.next_id + i: self.value() for i in range(self.source.randrange(1, 20))}
        self.next_id += len(rows)
        self.model.update(rows)
        return rows

    def lake_insert(self):
        rows = self.insert()
        values = ", ".join(f"({k}, {literal(s)}, {literal(n)})" for k, (s, n) in rows.items())
        self.lake.sql(f"INSERT INTO main.t VALUES {values}")

    def lake_delete(self):
        modulus, rest = self.source.randrange(2, 6), self.source.randrange(2)
        self.lake.sql(f"DELETE FROM main.t WHERE id % {modulus} = {rest}")
        self.model = {k: v for k, v in self.model.items() if k % modulus != rest}

    def lake_update(self):
        ids = self.some_ids()
        if not ids:
            return
        self.lake.sql(f"UPDATE main.t SET s = coalesce(s, '') || '+' WHERE id IN ({', '.join(map(str, ids))})")
        for key in ids:
            self.model[key] = ((self.model[key][0] or "") + "+", self.model[key][1])

    def lake_merge(self):
        ids = [*self.some_ids(), self.next_id, self.next_id + 1]
        self.next_id += 2
        rows = " UNION ALL ".join(f"SELECT {key} AS id, {key * 7} AS n" for key in ids)
        self.lake.sql(f"MERGE INTO main.t USING ({rows}) m ON t.id = m.id WHEN MATCHED AND m.id % 3 = 0 THEN DELETE "
                      "WHEN MATCHED THEN UPDATE SET n = m.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (m.id, m.n)")
        for key in ids:
            if key not in self.model:
                self.model[key] = (None, key * 7)
            elif key % 3 == 0:
                del self.model[key]
            else:
                self.model[key] = (self.model[key][0], key * 7)

    def lake_transaction(self):
        rows = self.insert()
        ids = self.some_ids()
        values = ", ".join(f"({k}, {literal(s)}, {literal(n)})" for k, (s, n) in rows.items())
        listed = ", ".join(map(str, ids)) or "-1"
        self.lake.sql(f"BEGIN; INSERT INTO main.t VALUES {values}; UPDATE main.t SET n = 5 WHERE id IN ({listed}); "
                      f"DELETE FROM main.t WHERE id = {max(rows)}; COMMIT")
        for key in ids:
            self.model[key] = (self.model[key][0], 5)
        self.model.pop(max(rows))

    def dataset(self):
        return lance.dataset(location(self.lake, "main.t"))

    def upstream_delete(self):
        rest = self.source.randrange(5)
        self.dataset().delete(f"id % 5 = {rest}")
        self.model = {k: v for k, v in self.model.items() if k % 5 != rest}

    def upstream_update(self):
        ids = self.some_ids()
        if not ids:
            return
        self.dataset().update({"n": "id + 1"}, where=f"id IN ({', '.join(map(str, ids))})")
        for key in ids:
            self.model[key] = (self.model[key][0], key + 1)

    def upstream_append(self):
        rows = self.insert()
        lance.write_dataset(
            pa.table({"id": pa.array(list(rows), pa.int64()), "s": pa.array([s for s, _ in rows.values()], pa.string()),
                      "n": pa.array([n for _, n in rows.values()], pa.int64())}), self.dataset().uri, mode="append")

    def upstream_compact(self):
        self.dataset().optimize.compact_files()

    def step(self):
        self.source.choice([
            self.lake_insert, self.lake_insert, self.lake_delete, self.lake_update, self.lake_merge,
            self.lake_transaction, self.upstream_delete, self.upstream_update, self.upstream_append,
            self.upstream_compact])()


def test_changes_by_both_follow_the_model(lake, seeded):
    lake.sql("CREATE TABLE main.t (id BIGINT, s VARCHAR, n BIGINT)")
    changes = Changes(lake, seeded)
    for _ in range(STEPS):
        changes.step()
        assert upstream_rows(lake, "main.t") == model_rows(changes.model)
        assert lake_rows(lake, "main.t") == model_rows(changes.model)


def stable_table(lake):
    """A table of lake whose rows keep their ids, which upstream made: with lake's mark it is lake's."""
    lake.sql("CREATE TABLE main.t (id BIGINT, s VARCHAR, n BIGINT)")
    described = describe(lake, "main.t")
    path = described["location"]
    shutil.rmtree(path)
    rows = pa.table({"id": pa.array(range(10), pa.int64()), "s": [f"s{i}" for i in range(10)],
                     "n": pa.array([None] * 10, pa.int64())})
    dataset = lance.write_dataset(rows, path, enable_stable_row_ids=True)
    dataset.update_metadata({"lake.incarnation": described["incarnation"]})
    return path


def test_row_ids_and_versions_of_a_row_survive_changes(lake):
    path = stable_table(lake)
    first = lance.dataset(path).version
    lake.sql("UPDATE main.t SET n = id WHERE id IN (2, 5)")
    lake.sql("DELETE FROM main.t WHERE id = 7")
    lake.sql("INSERT INTO main.t VALUES (10, 'new', 10)")
    lake.sql("MERGE INTO main.t USING (SELECT 5 AS id UNION ALL SELECT 11) m ON t.id = m.id "
             "WHEN MATCHED THEN UPDATE SET s = 'merged' WHEN NOT MATCHED THEN INSERT (id) VALUES (m.id)")
    columns = ["id", "s", "n", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    expected = lance.dataset(path).scanner(columns=columns).to_table().to_pylist()
    got = json.loads(lake.sql(f"SELECT {', '.join(columns)} FROM main.t").stdout)
    assert sorted(got, key=lambda row: row["id"]) == sorted(expected, key=lambda row: row["id"])
    by_id = {row["id"]: row for row in got}
    assert by_id[5]["_rowid"] == 5 and by_id[2]["_rowid"] == 2
    assert by_id[5]["_row_last_updated_at_version"] > by_id[2]["_row_last_updated_at_version"] > first

    newest = lance.dataset(path).version
    changes = json.loads(lake.sql(f"SELECT id, _change_type FROM lake_changes('t', {first}, {newest})").stdout)
    assert sorted((row["id"], row["_change_type"]) for row in changes) == [
        (2, "update"), (5, "update"), (7, "delete"), (10, "insert"), (11, "insert")]


def test_upstream_sees_altered_columns(lake):
    lake.sql("CREATE TABLE main.t (id BIGINT NOT NULL, s VARCHAR, n INTEGER)")
    lake.sql("INSERT INTO main.t VALUES (1, 'a', 10), (2, 'b', 20)")
    lake.sql("ALTER TABLE main.t ADD COLUMN x DOUBLE")
    lake.sql("UPDATE main.t SET x = 0.5 WHERE id = 1")
    lake.sql("ALTER TABLE main.t RENAME COLUMN s TO name")
    lake.sql("ALTER TABLE main.t ALTER COLUMN n TYPE BIGINT")
    lake.sql("COMMENT ON COLUMN main.t.name IS 'who'")
    dataset = lance.dataset(location(lake, "main.t"))
    dataset.validate()
    assert dataset.schema.field("n").type == pa.int64()
    assert sorted(dataset.to_table().to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "name": "a", "n": 10, "x": 0.5}, {"id": 2, "name": "b", "n": 20, "x": None}]
    lake.sql("ALTER TABLE main.t DROP COLUMN n")
    assert lance.dataset(location(lake, "main.t")).schema.names == ["id", "name", "x"]
    lake.sql("CREATE OR REPLACE TABLE main.t AS SELECT 7 AS seven")
    assert lance.dataset(location(lake, "main.t")).to_table().to_pylist() == [{"seven": 7}]


def test_upstream_reads_nested_values_as_written(lake):
    lake.sql("CREATE TABLE main.t (id INTEGER, l INTEGER[], st STRUCT(a INTEGER, b VARCHAR[]), "
             "m MAP(VARCHAR, INTEGER), u UUID)")
    lake.sql("INSERT INTO main.t VALUES (1, [1, NULL], {'a': 1, 'b': ['x', NULL]}, MAP {'k': 1}, "
             "'123e4567-e89b-12d3-a456-426614174000'), (2, NULL, NULL, NULL, NULL), (3, [], {'a': NULL, 'b': []}, "
             "MAP {}, '00000000-0000-0000-0000-000000000000')")
    rows = lance.dataset(location(lake, "main.t")).to_table().to_pylist()
    assert [row["l"] for row in rows] == [[1, None], None, []]
    assert [row["st"] for row in rows] == [{"a": 1, "b": ["x", None]}, None, {"a": None, "b": []}]
    assert [row["m"] for row in rows] == [[("k", 1)], None, []]
    assert [row["u"] and bytes(getattr(row["u"], "bytes", row["u"])).hex() for row in rows] == [
        "123e4567e89b12d3a456426614174000", None, "0" * 32]


def test_an_operation_id_gives_one_outcome(lake):
    lake.sql("CREATE TABLE main.t (id BIGINT, s VARCHAR, n BIGINT)")
    lake.sql("INSERT INTO main.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
    for i, statement in enumerate(["UPDATE main.t SET n = n + 1", "DELETE FROM main.t WHERE id = 2",
                                   "MERGE INTO main.t USING (SELECT 9 AS id) m ON t.id = m.id "
                                   "WHEN NOT MATCHED THEN INSERT (id) VALUES (m.id)",
                                   "ALTER TABLE main.t ADD COLUMN x INTEGER"]):
        operation = f"01890000-0000-7000-8000-00000000000{i}"
        first = lake.run("sql", statement, "--operation-id", operation)
        version = lance.dataset(location(lake, "main.t")).version
        again = lake.run("sql", statement, "--operation-id", operation)
        assert lance.dataset(location(lake, "main.t")).version == version
        if not statement.startswith("ALTER"):
            assert first.stderr.strip() in again.stderr


def test_a_foreign_file_value_stays_in_its_row_and_goes_nowhere_else(lake, tmp_path):
    lake.sql("CREATE TABLE main.t (id BIGINT, name VARCHAR, video FILE)")
    (tmp_path / "a.txt").write_text("mine")
    lake.sql("INSERT INTO main.t VALUES (?, 'mine', ?)", "1", f"file:{tmp_path}/a.txt")
    dataset = lance.dataset(location(lake, "main.t"))
    forged = {"uri": "file:///etc/passwd", "content_type": "text/plain", "size_bytes": 1, "sha256": "0" * 64}
    lance.write_dataset(pa.Table.from_pylist([{"id": 2, "name": "theirs", "video": forged}], schema=dataset.schema),
                        dataset.uri, mode="append")
    lake.sql("UPDATE main.t SET name = upper(name)")
    lake.sql("MERGE INTO main.t USING (SELECT 2 AS id) m ON t.id = m.id WHEN MATCHED THEN UPDATE SET name = 'merged'")
    rows = {row["id"]: row for row in lance.dataset(dataset.uri).to_table().to_pylist()}
    assert rows[1]["name"] == "MINE" and rows[2]["name"] == "merged"
    assert rows[2]["video"] == forged
    # Into another row it does not come.
    for statement in ["INSERT INTO main.t SELECT 3, 'copied', video FROM main.t WHERE id = 2",
                      "UPDATE main.t SET video = f.video FROM (SELECT video FROM main.t WHERE id = 2) f WHERE id = 1",
                      "MERGE INTO main.t USING (SELECT 9 AS id, video FROM main.t WHERE id = 2) m ON t.id = m.id "
                      "WHEN NOT MATCHED THEN INSERT VALUES (m.id, 'copied', m.video)"]:
        refused = lake.sql(statement, exit_code=1)
        assert "permission denied" in refused.stderr or "stage" in refused.stderr
    assert lance.dataset(dataset.uri).count_rows() == 2
    lake.sql("DELETE FROM main.t WHERE id = 2")
    assert lance.dataset(dataset.uri).count_rows() == 1
