"""scripts/check-conformance must notice each way in which a promise can be without proof."""

import json
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

GTEST = """<testsuites><testsuite name="S">
<testcase classname="ReaderTest" name="Reads" status="run" result="completed"/>
<testcase classname="ReaderTest" name="Fails" status="run"><failure message="no"/></testcase>
<testcase classname="ReaderTest" name="Skips" status="run" result="skipped"><skipped/></testcase>
<testcase classname="All/TypesTest" name="RoundTrips/0" status="run" result="completed"/>
<testcase classname="All/TypesTest" name="RoundTrips/1" status="run" result="completed"/>
</testsuite></testsuites>"""
PYTEST = """<testsuites><testsuite name="pytest">
<testcase classname="tests.x.test_y" name="test_plain"/>
<testcase classname="tests.x.test_y" name="test_cells[int8-1]"/>
<testcase classname="tests.x.test_y" name="test_cells[int8-2]"><skipped/></testcase>
<testcase classname="tests.x.test_y.TestClass" name="test_inner"/>
</testsuite></testsuites>"""


@pytest.fixture
def tree(tmp_path):
    for folder in ("docs/conformance", "results", "tests/x", "lake/format"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "results/format.xml").write_text(GTEST)
    (tmp_path / "results/tests.x.xml").write_text(PYTEST)
    (tmp_path / "tests/x/test_y.py").write_text("")
    return tmp_path


def check(tree, *rows, options=()):
    page = "\n".join(["# Topic", "", "| id | promise | proof |", "|---|---|---|", *rows])
    (tree / "docs/conformance/topic.md").write_text(page)
    return subprocess.run([ROOT / "scripts/check-conformance", "--root", tree, "--results", tree / "results", *options],
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("proof", [
    "`format:ReaderTest.Reads`",
    "`format:TypesTest.RoundTrips`",
    "`format:TypesTest`",
    "`tests/x/test_y.py::test_plain`",
    "`tests/x/test_y.py::TestClass::test_inner`",
    "`tests/x/test_y.py::test_cells[int8-1]`",
    "`format:ReaderTest.Reads` and `tests/x/test_y.py::test_plain`",
])
def test_passed_tests_prove(tree, proof):
    result = check(tree, f"| A-1 | promise | {proof} |")
    assert result.returncode == 0, result.stdout
    assert "1 proved, 0 open, 0 problems" in result.stdout


@pytest.mark.parametrize("proof, message", [
    ("`format:ReaderTest.Gone`", "is in no test result"),
    ("`format:ReaderTest.Fails`", "failed"),
    ("`format:ReaderTest.Skips`", "skipped"),
    ("`format:ReaderTest`", "failed"),
    ("`tests/x/test_y.py::test_cells`", "skipped (1 of 2)"),
    ("`format:ReaderTest.Reads` and `format:ReaderTest.Gone`", "is in no test result"),
    ("by looking at it", "neither a reference"),
    ("", "neither a reference"),
])
def test_anything_else_does_not(tree, proof, message):
    result = check(tree, f"| A-1 | promise | {proof} |")
    assert result.returncode == 1
    assert "A-1" in result.stdout and message in result.stdout


def test_open_rows_are_counted_and_refused_on_request(tree):
    assert "0 proved, 1 open, 0 problems" in check(tree, "| A-1 | promise | open |").stdout
    assert check(tree, "| A-1 | promise | open |", options=["--no-open"]).returncode == 1


def test_an_id_is_used_once(tree):
    result = check(tree, "| A-1 | promise | open |", "| A-1 | promise | open |")
    assert result.returncode == 1 and "used twice" in result.stdout


@pytest.mark.parametrize("name, text", [
    ("tests/x/test_z.py", "def test_nobody_runs(): pass"),
    ("tests/sql/z.test", "query I"),
    ("lake/format/writer_test.cc", "TEST(WriterTest, Writes) {}"),
])
def test_a_test_file_that_nobody_ran_is_a_problem(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    result = check(tree, "| A-1 | promise | open |")
    assert result.returncode == 1 and f"{name}: no suite ran" in result.stdout


def test_no_rows_at_all_is_a_problem(tree):
    assert check(tree).returncode == 1


def record(tree, date, commit="abc1234", exit_code=0, seconds=90):
    """Evidence that `make demo` ran."""
    (tree / "docs/evidence").mkdir(exist_ok=True)
    steps = {"make demo": {"exit_code": exit_code, "seconds": seconds}}
    (tree / f"docs/evidence/{date}-{commit}-fresh.json").write_text(
        json.dumps({"date": date, "commit": commit, "steps": steps}))


@pytest.mark.parametrize("proof", ["`evidence:make demo`", "`evidence:make demo<=90`"])
def test_the_newest_evidence_proves(tree, proof):
    record(tree, "2026-01-01", "bad", exit_code=1)
    record(tree, "2026-01-02")
    assert "1 proved, 0 open, 0 problems" in check(tree, f"| A-1 | promise | {proof} |").stdout


@pytest.mark.parametrize("newest, message", [
    (None, "is in no evidence"),
    ({"exit_code": 1}, "failed at abc1234"),
    ({"seconds": 91}, "took 91 s at abc1234"),
    ({"commit": "abc1234-changed"}, "is evidence of a changed tree"),
])
def test_other_evidence_does_not(tree, newest, message):
    if newest is not None:
        record(tree, "2026-01-01", "good")
        record(tree, "2026-01-02", **newest)
    result = check(tree, "| A-1 | promise | `evidence:make demo<=90` |")
    assert result.returncode == 1 and message in result.stdout
