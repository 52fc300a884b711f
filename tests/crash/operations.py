"""Every operation that takes an id, as a statement or a command, and what becomes of a table by it: a model outside lake.

The table is main.t (id BIGINT NOT NULL, s VARCHAR, d0 INTEGER, d1 INTEGER, ...); upstream, in this process, says what
it holds.
"""

import json

import lance
import pyarrow as pa


def make_table(lake, runs):
    """The table, for `runs` runs of an operation on it; returns its path."""
    columns = "".join(f", d{i} INTEGER" for i in range(runs))
    ones = ", 1" * runs
    lake.sql(f"CREATE TABLE main.t (id BIGINT NOT NULL, s VARCHAR{columns});"
             f"INSERT INTO main.t VALUES (-1, 'a'{ones}), (-2, 'b'{ones})")
    return json.loads(lake.run("table", "describe", "main.t", "--json").stdout)["location"]


def state_of(path):
    """What upstream sees: columns with type, nullability and comment, rows by order of their texts, the table's comment."""
    dataset = lance.dataset(path)
    return {
        "columns": {field.name: (str(field.type), field.nullable, (field.metadata or {}).get(b"lake.comment"))
                    for field in dataset.schema},
        "rows": sorted(dataset.to_table().to_pylist(), key=str),
        "comment": dataset.metadata.get("lake.comment"),
        "version": dataset.version,
    }


def with_rows(state, rows):
    return {**state, "rows": sorted(rows, key=str)}


def with_column(state, name, type=None, nullable=None, comment=None):
    """The state with one column added or altered."""
    old = state["columns"].get(name, (None, True, None))
    new = tuple(given if given is not None else had for given, had in zip((type, nullable, comment), old))
    return with_rows({**state, "columns": {**state["columns"], name: new}},
                     [{**row, name: row.get(name)} for row in state["rows"]])


def without_column(state, name, new_name=None):
    """The state without a column, or with another name for it."""
    columns = {new_name if column == name else column: what for column, what in state["columns"].items()}
    rows = [{new_name if column == name else column: value for column, value in row.items()} for row in state["rows"]]
    columns.pop(None, None)
    for row in rows:
        row.pop(None, None)
    return with_rows({**state, "columns": columns}, rows)


def replaced(state, i):
    return {**state, "columns": {"x": ("int32", True, None)}, "rows": [{"x": i}]}


def ingested(state, i):
    row = {**{name: None for name in state["columns"]}, "id": i, "s": f"n{i}"}
    return with_rows(state, [*state["rows"], row])


# Name: what the i-th run does, what becomes of the state, whether it writes data files.
OPERATIONS = {
    "replace": ("CREATE OR REPLACE TABLE main.t AS SELECT {i} AS x", replaced, True),
    "truncate": ("TRUNCATE main.t", lambda state, i: with_rows(state, []), False),
    "add column": ("ALTER TABLE main.t ADD COLUMN c{i} BIGINT", lambda state, i: with_column(state, f"c{i}", "int64"), False),
    "drop column": ("ALTER TABLE main.t DROP COLUMN d{i}", lambda state, i: without_column(state, f"d{i}"), False),
    "rename column": ("ALTER TABLE main.t RENAME COLUMN d{i} TO e{i}",
                      lambda state, i: without_column(state, f"d{i}", f"e{i}"), False),
    "change type": ("ALTER TABLE main.t ALTER COLUMN d{i} TYPE BIGINT",
                    lambda state, i: with_column(state, f"d{i}", "int64"), True),
    "set not null": ("ALTER TABLE main.t ALTER COLUMN d{i} SET NOT NULL",
                     lambda state, i: with_column(state, f"d{i}", nullable=False), False),
    "comment on table": ("COMMENT ON TABLE main.t IS 'text {i}'", lambda state, i: {**state, "comment": f"text {i}"}, False),
    "comment on column": ("COMMENT ON COLUMN main.t.id IS 'text {i}'",
                          lambda state, i: with_column(state, "id", comment=f"text {i}".encode()), False),
    "ingest": (None, ingested, True),
}


def fill(path):
    """Rows again, by upstream, in a table that has none."""
    dataset = lance.dataset(path)
    if dataset.count_rows() == 0:
        rows = {field.name: pa.array([1, 2]).cast(field.type) for field in dataset.schema}
        lance.write_dataset(pa.table(rows, dataset.schema), dataset, mode="append")


def command(name, i, folder):
    """The i-th run of an operation; `folder` takes the files that it needs."""
    statement = OPERATIONS[name][0]
    if statement:
        return ["sql", statement.format(i=i)]
    csv = folder / f"{i}.csv"
    csv.write_text(f"id,s\n{i},n{i}\n")
    return ["ingest", "main.t", csv, "--quiet"]
