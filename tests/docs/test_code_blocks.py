"""Runs the code blocks of the documentation, page by page, in order, in one folder per page.

  ```console   lines that start with "$ " are commands (a line that ends in \\ or an open quote goes on), the others
               what they print; "..." stands for any text, a line of "..." alone for any lines
  ```sh        commands that must succeed
  ```python    run by the suite's Python, which has pylance
  ```sql       run by `lake sql` on the folder's data/

Other languages are not run, nor is a block below a line `<!-- not run: why -->`. `lake` is on the path.
"""

import os
import pathlib
import re
import subprocess

import pytest

from conftest import BUILD_DIR, ROOT

FENCE = re.compile(r"^```(\S*)\s*$")
NOT_RUN = re.compile(r"^<!-- not run: .+ -->$")
LANGUAGES = ("console", "sh", "python", "sql")


def pages():
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"),
             *(ROOT / "lake").rglob("*.md")]
    return sorted(path for path in found if path.exists())


def blocks(path):
    """Yields (line number, language, text) of each block to run."""
    lines = path.read_text().splitlines()
    number, last = 0, ""
    while number < len(lines):
        match = FENCE.match(lines[number])
        if match:
            start = number + 1
            number = start
            while lines[number].strip() != "```":
                number += 1
            if match[1] in LANGUAGES and not NOT_RUN.match(last):
                yield start + 1, match[1], "\n".join(lines[start:number])
        if lines[number].strip():
            last = lines[number].strip()
        number += 1


def run(command, folder):
    environment = {**os.environ, "PATH": f"{BUILD_DIR}/bin:{ROOT}/.deps/venv/bin:{os.environ['PATH']}", "TZ": "UTC",
                   "LC_ALL": "C.UTF-8", "LANCE_LOG": "error"}
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=600, check=False)


def matches(expected, actual):
    """Whether the output is as the page says."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ ]*\n"
    return re.fullmatch(pattern, actual if actual.endswith("\n") or not actual else actual + "\n") is not None


def steps(text):
    """Cuts a console block into (command, expected output lines)."""
    result = []
    for line in text.splitlines():
        if line.startswith("$ "):
            result.append(([line[2:]], []))
        elif result and not complete("\n".join(result[-1][0])):
            result[-1][0].append(line.removeprefix("> "))
        elif result:
            result[-1][1].append(line)
    return [("\n".join(command), output) for command, output in result]


def complete(command):
    """Whether bash would run it now rather than wait for more lines."""
    if command.endswith("\\"):
        return False
    check = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False)
    return "unexpected EOF" not in check.stderr and "unexpected end of file" not in check.stderr


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_code_blocks(page, tmp_path):
    for line, language, text in blocks(page):
        place = f"{page.relative_to(ROOT)}:{line}"
        if language == "console":
            for command, expected in steps(text):
                result = run(["bash", "-c", command], tmp_path)
                assert matches(expected, result.stdout), (
                    f"{place}: $ {command}\n--- the page says\n" + "\n".join(expected) +
                    f"\n--- it printed (exit code {result.returncode})\n{result.stdout}")
            continue
        command = {"sh": ["bash", "-euo", "pipefail", "-c", text],
                   "python": [ROOT / ".deps/venv/bin/python", "-c", text],
                   "sql": [BUILD_DIR / "bin/lake", "--data-dir", "data", "sql", text]}[language]
        result = run(command, tmp_path)
        assert result.returncode == 0, f"{place}: exit code {result.returncode}\n{text}\n---\n{result.stdout}"


@pytest.mark.parametrize("expected, actual, good", [
    (["a", "b"], "a\nb\n", True),
    (["a", "b"], "a\nc\n", False),
    (["a"], "a\nb\n", False),
    (["took ... s"], "took 1.5 s\n", True),
    (["took ... s"], "took 1.5 ms\n", False),
    (["a", "...", "z"], "a\nb\nc\nz\n", True),
    (["a", "...", "z"], "a\nz\n", True),
    (["a", "..."], "b\n", False),
    ([], "", True),
    ([], "a\n", False),
])
def test_matching(expected, actual, good):
    assert matches(expected, actual) == good


def test_every_page_has_its_links_right():
    broken = []
    for page in pages():
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken, "\n".join(broken)
