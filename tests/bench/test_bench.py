"""`make bench` in small: every work is measured for lake and its peers, ratios are printed, every time is kept."""

import json
import subprocess
import sys

from conftest import BUILD_DIR, ROOT

sys.path.insert(0, str(ROOT / "bench"))
from works import WORKS  # noqa: E402


def run(tmp_path, *options):
    out = tmp_path / "bench.json"
    command = [sys.executable, str(ROOT / "bench/run.py"), "--worker", str(BUILD_DIR / "bin/lake_bench"), "--rows", "20000",
               "--import-mib", "4", "--folder", str(tmp_path), "--out", str(out), *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines(), json.loads(out.read_text())


def test_prints_ratios_of_medians_and_keeps_every_time(tmp_path):
    lines, kept = run(tmp_path, "--repetitions", "1")
    for work in WORKS:
        line = next(line for line in lines if line.startswith(work.name))
        assert f" x {work.against}, aim " in line, line
        times = kept["works"][work.name]["times"]
        assert all(len(values) == work.times and min(values) > 0 for values in times.values()), times
        assert set(times) == {"lake", *work.peers}
    assert len(kept["works"]["import of one file"]["times"]["lake"]) == 1
    assert {"pylance", "lake"} <= set(kept["sizes"]["t"])


def test_measures_the_works_that_are_named(tmp_path):
    lines, kept = run(tmp_path, "--repetitions", "3", "--works", "one int64;take 100, one")
    assert set(kept["works"]) == {"one int64 column", "take 100, one int64 column"}
    assert len(kept["works"]["one int64 column"]["times"]["pylance"]) == 3
    assert any("take 100, one int64 column" in line for line in lines)
