"""`lake table compact | cleanup | verify | tag | branch | restore | clone | diff`: usage, output, refusals."""

import json

import pytest


@pytest.fixture
def table(lake):
    lake.sql("CREATE TABLE main.t (x INTEGER)")
    for i in range(3):
        lake.sql(f"INSERT INTO main.t VALUES ({i})")
    return "main.t"


def test_compact_tells_what_it_did(lake, table):
    plan = lake.run("table", "compact", table, "--dry-run").stdout
    assert "would rewrite 3 of 3 fragments of main.t" in plan
    text = lake.run("table", "compact", table, "--quiet").stdout
    assert text == ("main.t: version 6, 3 fragments became 1, 3 rows "
                    f"({text.split('(')[1].split(')')[0]}) written, 0 deleted rows taken out\n")
    assert lake.run("table", "compact", table, "--quiet").stdout == "main.t: nothing to compact\n"
    lake.run("table", "compact", table, "--deletion-threshold", "2", exit_code=1)
    lake.run("table", "compact", table, "--target-rows", "0", exit_code=1)
    lake.run("table", "compact", "main.nothing", exit_code=1)


def test_cleanup_reports_why_versions_stay(lake, table):
    text = lake.run("table", "cleanup", table, "--dry-run").stdout
    assert "version 1: kept, it is younger than the cutoff" in text
    assert "version 4: kept, it is the newest" in text
    assert "main.t: 0 of 4 versions would go, 0 B would be freed" in text
    now = ("--older-than", "0", "--superseded-for", "0", "--replay-retention", "0", "--quiet")
    text = lake.run("table", "cleanup", table, *now, "--keep", "2").stdout
    assert "version 1: removed" in text
    assert "version 3: kept, it is among the newest 2" in text
    assert len(json.loads(lake.run("table", "versions", table, "--json").stdout)) == 2
    for bad in ("14", "x", "1y", "-1d", "99999999w"):
        lake.run("table", "cleanup", table, f"--older-than={bad}", exit_code=2)
    lake.run("table", "cleanup", table, "--keep", "0", exit_code=1)


def test_an_operation_id_can_be_replayed_after_a_cleanup(lake, table):
    operation = "01890a5d-ac96-774b-bcce-b302099a8057"
    lake.run("sql", "INSERT INTO main.t VALUES (7)", "--operation-id", operation)
    for i in range(3):
        lake.sql(f"INSERT INTO main.t VALUES ({i})")
    lake.run("table", "cleanup", table, "--older-than", "0", "--superseded-for", "0", "--replay-retention", "0",
             "--quiet")
    lake.run("sql", "INSERT INTO main.t VALUES (7)", "--operation-id", operation)
    assert json.loads(lake.sql("SELECT count(*) AS n FROM main.t WHERE x = 7").stdout) == [{"n": 1}]


def test_verify_has_an_exit_code(lake, table):
    assert lake.run("table", "verify", table, "--quiet").stdout == "main.t: 4 versions, 3 data files: 0 errors, 0 warnings\n"
    report = json.loads(lake.run("table", "verify", table, "--newest", "--data", "--json", "--quiet").stdout)
    assert (report["versions"], report["errors"], report["findings"]) == (1, 0, [])


def test_tags_and_branches(lake, table):
    assert lake.run("table", "tag", "create", table, "v1", "--version", "2").stdout == "tag v1 of main.t names version 2\n"
    assert lake.run("table", "tag", "move", table, "v1").stdout == "tag v1 of main.t names version 4\n"
    assert lake.run("table", "tag", "list", table).stdout == "v1  version 4\n"
    lake.run("table", "tag", "create", table, "lake-pin-x", exit_code=1)
    lake.run("table", "tag", "create", table, "bad name", exit_code=1)
    lake.run("table", "tag", "create", table, "v2", "--version", "99", exit_code=1)
    lake.run("table", "tag", exit_code=2)
    assert lake.run("table", "branch", "create", table, "dev", "--tag", "v1").stdout == (
        "branch dev of main.t begins at version 4\n")
    assert lake.run("table", "branch", "list", table).stdout == "dev  from version 4\n"
    lake.run("table", "branch", "create", table, "main", exit_code=1)
    lake.run("table", "branch", "delete", table, "dev")
    lake.run("table", "branch", "delete", table, "dev", exit_code=1)
    lake.run("table", "tag", "delete", table, "v1")
    lake.run("table", "tag", "delete", table, "v1", exit_code=1)


def test_restore_and_diff(lake, table):
    lake.run("table", "restore", table, exit_code=2)
    lake.run("table", "restore", table, "--version", "99", exit_code=1)
    assert lake.run("table", "restore", table, "--version", "2").stdout == (
        "main.t: version 5 has the content of version 2\n")
    assert json.loads(lake.sql("SELECT x FROM main.t").stdout) == [{"x": 0}]
    text = lake.run("table", "diff", table, "--from", "4").stdout
    assert text.startswith("version 4 to 5: 3 rows became 1: 0 added, 2 removed")
    assert "restore" in text
    diff = json.loads(lake.run("table", "diff", table, "--from", "1", "--to", "4", "--json").stdout)
    assert (diff["rows_added"], len(diff["fragments_added"]), len(diff["commits"])) == (3, 3, 3)


def test_compact_and_restore_run_once_by_their_id(lake, table):
    compaction, restore = "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"
    first = json.loads(lake.run("table", "compact", table, "--operation-id", compaction, "--json", "--quiet").stdout)
    assert (first["changed"], first["replayed"], first["version"]) == (True, False, 6)
    lake.sql("INSERT INTO main.t VALUES (7)")
    again = json.loads(lake.run("table", "compact", table, "--operation-id", compaction, "--json", "--quiet").stdout)
    assert (again["changed"], again["replayed"], again["version"], again["rows"]) == (False, True, 6, 3)
    assert lake.run("table", "compact", table, "--operation-id", compaction, "--quiet").stdout == (
        "main.t: was compacted by this operation before, in version 6\n")
    first = json.loads(lake.run("table", "restore", table, "--version", "2", "--operation-id", restore, "--json").stdout)
    assert first == {"restored": 2, "version": 8, "rows": 1, "replayed": False}
    lake.sql("INSERT INTO main.t VALUES (8)")
    again = json.loads(lake.run("table", "restore", table, "--version", "2", "--operation-id", restore, "--json").stdout)
    assert again == {"restored": 2, "version": 8, "rows": 1, "replayed": True}
    assert json.loads(lake.sql("SELECT x FROM main.t ORDER BY x").stdout) == [{"x": 0}, {"x": 8}]
    # Another input, another kind of id, and what changes nothing.
    assert "another input" in lake.run("table", "restore", table, "--version", "3", "--operation-id", restore,
                                       exit_code=1).stderr
    assert "another input" in lake.run("table", "compact", table, "--target-rows", "5", "--operation-id", compaction,
                                       exit_code=1).stderr
    assert "version 7" in lake.run("table", "compact", table, "--operation-id", "x", exit_code=1).stderr
    lake.run("table", "compact", table, "--dry-run", "--operation-id", compaction, exit_code=2)
    lake.run("table", "branch", "create", table, "dev")
    assert "branch" in lake.run("table", "compact", table, "--branch", "dev", "--operation-id",
                                "01890a5d-ac96-774b-bcce-b302099a8059", exit_code=1).stderr


def test_clone_and_copy(lake, table):
    assert lake.run("table", "clone", table, "main.c").stdout == "main.c is a shallow clone of version 4 of main.t\n"
    assert lake.run("table", "clone", table, "main.d", "--copy", "--quiet", "--version", "2").stdout == (
        "main.d is a copy of version 2 of main.t\n")
    lake.run("table", "clone", table, "main.c", exit_code=1)
    assert json.loads(lake.sql("SELECT count(*) AS n FROM main.c").stdout) == [{"n": 3}]
    assert json.loads(lake.sql("SELECT count(*) AS n FROM main.d").stdout) == [{"n": 1}]
    assert "main.c" in lake.run("table", "drop", table, exit_code=1).stderr
    lake.run("table", "drop", "main.c")
    lake.run("table", "drop", table)


def test_progress_is_plain_lines_without_a_terminal(lake, table):
    assert "compact" in lake.run("table", "compact", table).stderr
    assert lake.run("table", "compact", table, "--quiet").stderr == ""
