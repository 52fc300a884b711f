"""What every end-to-end test has: the lake program under test and a data folder of its own.

LAKE_TEST_BUILD_DIR says which build is tested; build/dev if it is not set. LAKE_TEST_LONG=1 (`make test-long`) asks for the
full-size forms; without it tests run scaled down, with the same ratio of data to budget.
"""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONG_FORMS = os.environ.get("LAKE_TEST_LONG") == "1"
BUILD_DIR = pathlib.Path(os.environ.get("LAKE_TEST_BUILD_DIR", ROOT / "build/dev"))


class Lake:
    """Runs the lake program on one data folder."""

    def __init__(self, program, data_dir):
        self.program = program
        self.data_dir = data_dir
        # Before the program's name, such as ["nsenter", ...].
        self.prefix = []

    def command(self, *arguments):
        """The command line of `lake --data-dir ... arguments`, for tests that start it themselves."""
        return [*self.prefix, str(self.program), "--data-dir", str(self.data_dir), *map(str, arguments)]

    def run(self, *arguments, exit_code=0, **options):
        """Runs it and returns the CompletedProcess, with text output; fails the test on another exit code.

        `exit_code=None` accepts any.
        """
        options = {"capture_output": True, "text": True, "timeout": 300, **options}
        result = subprocess.run(self.command(*arguments), check=False, **options)
        if exit_code is not None and result.returncode != exit_code:
            pytest.fail(
                f"lake {' '.join(map(str, arguments))}: exit code {result.returncode}, expected {exit_code}\n"
                f"--- standard output\n{result.stdout}\n--- standard error\n{result.stderr}")
        return result

    def sql(self, text, *params, format="json", exit_code=0):
        """Runs one SQL text and returns the CompletedProcess."""
        more = [argument for param in params for argument in ("--param", str(param))]
        return self.run("sql", text, *more, "--format", format, exit_code=exit_code)


@pytest.fixture(scope="session")
def lake_program():
    program = BUILD_DIR / "bin/lake"
    assert program.exists(), f"{program} is missing: build it, or set LAKE_TEST_BUILD_DIR"
    return program


@pytest.fixture
def data_dir(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def lake(lake_program, data_dir):
    return Lake(lake_program, data_dir)
