"""The generator of tests/fixtures/: what it writes today with the pylance of this environment is what stands there."""

import json
import pathlib
import re
import subprocess
import sys

import pyarrow as pa

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"


def rows(folder):
    with pa.OSFile(str(folder / "rows.arrow")) as source:
        return pa.ipc.open_stream(source).read_all()


def test_the_generator_writes_what_it_promises(tmp_path):
    """It asserts the layouts itself; the values are the same in every run."""
    subprocess.run([sys.executable, "-B", FIXTURES / "generate" / "main.py", tmp_path, "files"], check=True)
    names = {path.name for path in (FIXTURES / "files").iterdir() if "_14.0.2_" in path.name}
    assert {path.name for path in (tmp_path / "files").iterdir()} == names
    for name in sorted(names):
        written, kept = tmp_path / "files" / name, FIXTURES / "files" / name
        assert json.loads((written / "expect.json").read_text()) == json.loads((kept / "expect.json").read_text()), name
        assert rows(written).equals(rows(kept)), name


def test_each_fixture_is_of_a_pinned_pylance():
    pins = {line.split()[3] for line in (ROOT / "scripts" / "pins.txt").read_text().splitlines()
            if line.startswith("pip") and line.split()[2] == "pylance"}
    for folder in ("files", "tables", "refused"):
        for path in (FIXTURES / folder).iterdir():
            assert json.loads((path / "expect.json").read_text())["pylance"] in pins, path.name


def test_the_fixtures_stay_small():
    total = sum(path.stat().st_size for path in FIXTURES.rglob("*") if path.is_file())
    assert total < 12 << 20


def held_by():
    """Place -> what holds it, of the list of places where a reader goes wrong silently."""
    text = (FIXTURES / "README.md").read_text().split("goes wrong silently", 1)[1]
    rows = re.findall(r"^\| (.+) \| (`.+) \|$", text, re.MULTILINE)
    return {place: re.findall(r"`([\w:.]+)`", holders) for place, holders in rows}


def test_each_place_where_a_reader_goes_wrong_silently_is_held():
    names = {path.name.rsplit("_", 2)[0] for folder in ("files", "tables") for path in (FIXTURES / folder).iterdir()}
    places = held_by()
    assert len(places) > 35
    for place, holders in places.items():
        assert holders, place
        for holder in holders:
            if ":" not in holder:
                assert holder in names, f"{place}: no fixture {holder}"
                continue
            module, suite = holder.split(":")
            suite, _, test = suite.partition(".")
            wanted = rf"TEST(_[FP])?\({suite}, {test or '[A-Za-z0-9]+'}\)"
            sources = (ROOT / "lake" / module).glob("*_test.cc")
            assert any(re.search(wanted, source.read_text()) for source in sources), f"{place}: no test {holder}"
