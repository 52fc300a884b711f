"""The Makefile: what each command would do, without doing it."""

import re
import subprocess

import pytest

from conftest import ROOT

TARGETS = ["build", "demo", "test", "check", "bench", "test-long", "test-asan", "test-tsan", "fuzz", "format", "dist"]


def dry_run(target, *variables):
    return subprocess.run(["make", "--dry-run", "--no-print-directory", target, *variables], cwd=ROOT,
                          capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("target", TARGETS)
def test_each_works_alone_by_setting_up_first(target):
    assert dry_run(target)[0].startswith("scripts/setup ")


def test_help_is_the_default_and_names_every_command():
    shown = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^\s+([a-z-]+) +\S", shown, re.MULTILINE)
    assert set(TARGETS) | {"help"} <= set(listed)


def test_ci_runs_the_suite_and_nothing_else():
    lines = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]
    assert lines == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "exec make test"]


def test_the_suite_ends_with_one_ctest_over_everything():
    lines = dry_run("test")
    assert lines[-1].startswith("ctest --test-dir build/dev") and " -R" not in lines[-1] and " -E" not in lines[-1]
    assert sum(line.startswith("ctest") for line in lines) == 1


def test_the_demo_takes_a_folder_with_spaces():
    assert dry_run("demo", "FILES=/some folder/of mine")[-1] == 'scripts/demo "/some folder/of mine"'
    assert dry_run("demo")[-1].strip() == "scripts/demo"
