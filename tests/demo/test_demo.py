"""scripts/demo, what `make demo` runs after building: each of its steps on real input, and on a folder of one's own."""

import os
import pathlib
import re
import subprocess

import pytest

from conftest import ROOT


def demo(lake_program, folder, *arguments):
    environment = {**os.environ, "LAKE_TEST_PROGRAM": str(lake_program), "DEMO_DIR": str(folder), "LANCE_LOG": "error"}
    return subprocess.run([ROOT / "scripts/demo", *map(str, arguments)], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, check=False)


@pytest.fixture(scope="module")
def shown(lake_program, tmp_path_factory):
    result = demo(lake_program, tmp_path_factory.mktemp("demo") / "demo data")
    assert result.returncode == 0, result.stdout
    return result.stdout


def section(shown, number):
    return re.search(rf"^== {number}\. .*?(?=^== |\Z)", shown, re.MULTILINE | re.DOTALL)[0]


def test_imports_the_sample_files_with_plain_lines(shown):
    text = section(shown, 1)
    files = [p for p in (ROOT / ".deps/demo/iscc-samples/iscc_samples/files").rglob("*") if p.is_file()]
    assert len(files) > 40
    assert str(len(files)) in text
    # Not a terminal: no carriage returns, no control sequences.
    assert "\r" not in text and "\x1b" not in text


def test_loads_the_tables_from_csv(shown):
    text = section(shown, 2)
    for table in ("airlines", "airports", "planes", "weather", "flights"):
        assert f"CREATE TABLE nyc.{table} AS SELECT * FROM read_csv(" in text


def test_answers_questions(shown):
    text = section(shown, 3)
    assert "video" in text and "audio" in text
    assert "United Air Lines Inc." in text and re.search(r"58.?665", text)
    assert "AT (VERSION => 1)" in text


def test_opens_a_video_verified_and_in_part(shown):
    text = section(shown, 4)
    assert "both are equal to" in text and "/video/" in text


def test_a_flipped_byte_is_noticed(shown):
    assert re.search(r"(digest|SHA-256|sha256)", section(shown, 4)) and "refused, as it must be" in section(shown, 4)


def test_pylance_reads_the_same(shown):
    text = section(shown, 5)
    assert re.search(r"nyc\.flights: pylance [\d.]+ counts 336,776 rows, lake 336,776", text)
    assert "media.files: pylance" in text


def test_ends_with_where_the_data_lies_and_five_commands(shown):
    text = shown[shown.index("== 6. Done"):]
    assert "The data lies in /" in text
    commands = [line for line in text[text.index("Try next:"):].splitlines() if line.startswith("  ")]
    assert len(commands) == 5


def test_takes_a_folder_of_ones_own(lake_program, tmp_path):
    mine = tmp_path / "my files"
    (mine / "it's 100 % mine").mkdir(parents=True)
    (mine / "it's 100 % mine/clip.mp4").write_bytes(bytes(range(256)) * 100)
    (mine / "notes.txt").write_text("notes\n" * 100)
    result = demo(lake_program, tmp_path / "demo", mine)
    assert result.returncode == 0, result.stdout
    assert "it's 100 % mine/clip.mp4" in section(result.stdout, 4)


def test_a_missing_folder_is_said_so(lake_program, tmp_path):
    result = demo(lake_program, tmp_path / "demo", tmp_path / "gone")
    assert result.returncode == 2 and "is not a folder" in result.stdout
