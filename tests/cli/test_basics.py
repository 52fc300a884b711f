"""The command line from outside: help, versions, settings, exit codes, errors."""

import json
import os
import subprocess


def test_help_names_every_command(lake):
    text = lake.run("help").stdout
    for command in ("sql", "table", "ingest", "file", "inspect", "selftest", "config", "version"):
        assert f"  {command} " in text, command
        assert lake.run("help", command).stdout
    assert "Exit codes" in text


def test_help_of_an_unknown_command_is_a_usage_error(lake):
    assert "frobnicate" in lake.run("help", "frobnicate", exit_code=2).stderr


def test_version_as_text_and_json(lake):
    assert lake.run("version").stdout.startswith("lake ")
    version = json.loads(lake.run("version", "--json").stdout)
    assert version["duckdb"] == "v1.4.5"
    assert version["file_versions_written"] == ["2.1", "2.2"]


def test_wrong_usage_is_exit_code_2_with_one_line_and_a_hint(lake):
    for arguments in (["frobnicate"], ["table"], ["sql", "SELECT 1", "--frobnicate"], []):
        result = lake.run(*arguments, exit_code=2)
        lines = result.stderr.splitlines()
        assert lines[0].startswith("lake: "), result.stderr
        assert result.stdout == ""


def test_errors_are_one_line_on_standard_error(lake):
    result = lake.sql("SELECT *\nFROM\nno_such_table", exit_code=1)
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("lake: ")
    assert "no_such_table" in result.stderr


def test_config_shows_each_value_with_its_origin(lake):
    lake.sql("SELECT 1")
    (lake.data_dir / "lake.toml").write_text("threads = 1\n")
    settings = json.loads(lake.run("--timezone", "Asia/Tokyo", "config", "--json").stdout)
    by_name = {setting["name"]: setting for setting in settings}
    assert by_name["time_zone"]["value"] == "Asia/Tokyo"
    assert by_name["time_zone"]["origin"] == "flag"
    assert by_name["threads"]["value"] == "1"
    assert by_name["threads"]["origin"].endswith("lake.toml")
    assert by_name["log_level"]["origin"] == "default"
    environment = {**os.environ, "LAKE_LOG_LEVEL": "error"}
    text = lake.run("config", env=environment).stdout
    assert "environment LAKE_LOG_LEVEL" in text


def test_an_unknown_setting_names_the_nearest(lake):
    environment = {**os.environ, "LAKE_MEMORY_LIMT": "1 GB"}
    result = lake.run("config", exit_code=2, env=environment)
    assert "memory_limit" in result.stderr


def test_commands_that_only_look_do_not_make_a_data_folder(lake):
    for arguments in (["table", "list"], ["selftest"], ["table", "describe", "main.t"]):
        result = lake.run(*arguments, exit_code=1)
        assert str(lake.data_dir) in result.stderr
        assert not lake.data_dir.exists()


def test_locale_and_tz_change_nothing(lake):
    lake.sql("CREATE TABLE main.t AS SELECT TIMESTAMP '2024-05-01 12:00:00' AS t, 1234.5 AS x")
    query = "SELECT t, x, t::TIMESTAMPTZ::VARCHAR AS z FROM main.t"
    plain = lake.sql(query, format="csv").stdout
    for changes in ({"TZ": "America/New_York"}, {"LC_ALL": "de_DE.UTF-8"}, {"LANG": "C"}):
        result = lake.run("sql", query, "--format", "csv", env={**os.environ, **changes})
        assert result.stdout == plain, changes


def test_a_closed_standard_output_ends_quietly(lake):
    command = lake.command("sql", "SELECT * FROM range(5000000)", "--format", "csv")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


def test_a_closed_standard_output_does_not_stop_a_commit(lake):
    lake.sql("CREATE TABLE main.t (x BIGINT)")
    command = lake.command("sql", "INSERT INTO main.t SELECT * FROM range(100000)")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stderr.read()
        assert process.wait(timeout=60) == 0
    assert json.loads(lake.sql("SELECT count(*) AS n FROM main.t").stdout) == [{"n": 100000}]


def test_selftest_passes_on_a_healthy_folder_and_names_a_damaged_table(lake):
    lake.sql("CREATE TABLE main.t AS SELECT * FROM range(1000) r(x)")
    report = json.loads(lake.run("selftest", "--json").stdout)
    assert report["passed"]
    assert report["leftovers"] == []
    data_file = next((lake.data_dir / "tables").rglob("*.lance/data/*.lance"))
    data_file.chmod(0o600)
    data_file.write_bytes(data_file.read_bytes()[:-100])
    result = lake.run("selftest", exit_code=1)
    assert "FAIL" in result.stdout
    assert "main.t" in result.stdout
