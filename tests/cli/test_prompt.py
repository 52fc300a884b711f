"""`lake sql` without a statement on a terminal: prompt, editing, history."""

import os

import pexpect
import pytest


@pytest.fixture
def prompt(lake, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    started = []

    def start():
        command = lake.command("sql")
        environment = {**os.environ, "HOME": str(home), "TERM": "xterm"}
        child = pexpect.spawn(command[0], command[1:], env=environment, encoding="utf-8", timeout=30, dimensions=(24, 120))
        child.expect("lake> ")
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


def test_statements_over_several_lines_errors_and_leaving(prompt):
    child = prompt()
    child.sendline("SELECT 41 + 1")
    child.expect("-> ")
    child.sendline("AS answer;")
    child.expect("42")
    child.expect("lake> ")
    child.sendline("SELECT broken;")
    child.expect("error: .*broken")
    child.expect("lake> ")
    child.sendline("\\?")
    child.expect("Ctrl-D")
    child.expect("lake> ")
    child.sendline("\\q")
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == 0


def test_history_is_kept_between_runs(prompt):
    child = prompt()
    child.sendline("SELECT 12345 AS remembered;")
    child.expect("12345")
    child.expect("lake> ")
    child.sendeof()
    child.expect(pexpect.EOF)
    child = prompt()
    child.send("\x1b[A")
    child.expect("SELECT 12345 AS remembered;")


def test_a_transaction_spans_statements(prompt):
    child = prompt()
    for statement in ("CREATE TABLE main.t (x INTEGER);", "BEGIN;", "INSERT INTO main.t VALUES (7);", "COMMIT;"):
        child.sendline(statement)
        child.expect("lake> ")
    child.sendline("SELECT count(*) AS how_many FROM main.t;")
    child.expect("how_many")
    child.expect("1")
