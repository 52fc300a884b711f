"""`make bench` in small: every operation is measured for lake and its peers, ratios are printed, every time is kept."""

import json
import subprocess
import sys

from conftest import BUILD_DIR, ROOT


def test_prints_ratios_of_medians_and_keeps_every_time(tmp_path):
    out = tmp_path / "bench.json"
    command = [sys.executable, str(ROOT / "bench/run.py"), "--worker", str(BUILD_DIR / "bin/lake_bench"), "--rows", "20000",
               "--repetitions", "3", "--import-mib", "4", "--folder", str(tmp_path), "--out", str(out)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    for operation in ("write", "full scan", "one column", "filter 0.1 %", "filter 10 %", "count with filter", "take 100",
                      "append one row", "import of one file"):
        line = next(line for line in result.stdout.splitlines() if line.startswith(operation))
        assert "(" in line and ")" in line, line
    kept = out.read_text()
    assert json.loads(kept)
    assert "pylance" in kept and "parquet" in kept
