"""`lake table`: create, list, describe, versions, drop, undrop, rename."""

import json


def test_create_describe_and_list(lake):
    lake.run("table", "create", "main.t", "--column", "id:BIGINT NOT NULL", "--column", "video:FILE",
             "--column", "at:TIMESTAMPTZ", "--column", "vector:FLOAT[4]")
    table = json.loads(lake.run("table", "describe", "main.t", "--json").stdout)
    assert table["version"] == 1
    assert table["row_count"] == 0
    assert table["location"].startswith(str(lake.data_dir))
    assert isinstance(table["properties"], dict)
    assert [(column["name"], column["type"], column["nullable"]) for column in table["schema"]] == [
        ("id", "BIGINT", False), ("video", "FILE", True), ("at", "TIMESTAMPTZ", True), ("vector", "FLOAT[4]", True)]
    text = lake.run("table", "describe", "t").stdout
    assert "id  BIGINT  NOT NULL" in text
    assert lake.run("table", "list").stdout == "main.t\n"
    listed = json.loads(lake.run("table", "list", "main", "--json").stdout)
    assert [(row["namespace"], row["name"]) for row in listed] == [("main", "t")]


def test_create_refuses_what_is_no_column(lake):
    for column in ("id", ":BIGINT", "id:", "id:BIGINT); DROP TABLE x; --"):
        lake.run("table", "create", "main.t", "--column", column, exit_code=2)
    lake.run("table", "create", "main.t", "--column", "id:NOTYPE", exit_code=1)
    lake.run("table", "create", "a.b.c", "--column", "id:BIGINT", exit_code=2)
    assert lake.run("table", "list").stdout == ""


def test_if_not_exists_and_if_exists(lake):
    lake.run("table", "create", "main.t", "--column", "id:BIGINT")
    assert "exist" in lake.run("table", "create", "main.t", "--column", "id:BIGINT", exit_code=1).stderr
    lake.run("table", "create", "main.t", "--column", "id:BIGINT", "--if-not-exists")
    lake.run("table", "drop", "main.nothing", exit_code=1)
    lake.run("table", "drop", "main.nothing", "--if-exists")


def test_versions(lake):
    lake.sql("CREATE TABLE main.t (x INTEGER)")
    lake.sql("INSERT INTO main.t VALUES (1), (2)")
    versions = json.loads(lake.run("table", "versions", "main.t", "--json").stdout)
    assert [(v["version"], v["row_count"], v["operation"]) for v in versions] == [(1, 0, "overwrite"), (2, 2, "append")]
    assert len(lake.run("table", "versions", "main.t").stdout.splitlines()) == 3


def test_drop_and_undrop_also_under_a_new_name(lake):
    lake.sql("CREATE TABLE main.t AS SELECT 1 AS x")
    assert "undrop main.t" in lake.run("table", "drop", "main.t").stdout
    assert "does not exist" in lake.sql("SELECT * FROM main.t", exit_code=1).stderr
    assert lake.run("table", "list").stdout == ""
    dropped = json.loads(lake.run("table", "list", "--dropped", "--json").stdout)
    assert dropped[0]["name"] == "t"
    lake.sql("CREATE TABLE main.t AS SELECT 2 AS x")
    assert "exist" in lake.run("table", "undrop", "main.t", exit_code=1).stderr
    lake.run("table", "undrop", "main.t", "--as", "main.old")
    assert json.loads(lake.sql("SELECT x FROM main.old UNION ALL SELECT x FROM main.t ORDER BY x").stdout) == [
        {"x": 1}, {"x": 2}]


def test_undrop_of_a_chosen_incarnation(lake):
    incarnations = []
    for value in (1, 2):
        lake.sql(f"CREATE TABLE main.t AS SELECT {value} AS x")
        incarnations.append(json.loads(lake.run("table", "describe", "main.t", "--json").stdout)["incarnation"])
        lake.run("table", "drop", "main.t")
    lake.run("table", "undrop", "main.t", "--incarnation", incarnations[0])
    assert json.loads(lake.sql("SELECT x FROM main.t").stdout) == [{"x": 1}]


def test_rename(lake):
    lake.sql("CREATE TABLE main.t AS SELECT 1 AS x; CREATE TABLE main.u AS SELECT 2 AS x")
    assert "exist" in lake.run("table", "rename", "main.t", "main.u", exit_code=1).stderr
    lake.run("table", "rename", "main.t", "main.v")
    assert lake.run("table", "list").stdout == "main.u\nmain.v\n"
    assert json.loads(lake.sql("SELECT x FROM main.v").stdout) == [{"x": 1}]
