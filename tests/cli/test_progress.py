"""The progress bar: one redrawn line on a terminal, plain lines otherwise, none when quiet."""

import os

import pexpect


def test_on_a_terminal_one_line_is_redrawn(lake, tmp_path):
    root = tmp_path / "in"
    root.mkdir()
    for i in range(20):
        (root / f"{i}.bin").write_bytes(os.urandom(1 << 20))
    lake.sql("CREATE TABLE main.files (path VARCHAR, content FILE)")
    command = lake.command("file", "import", "main.files", root)
    output, status = pexpect.run(" ".join(f"'{part}'" for part in command), withexitstatus=True, timeout=120,
                                 env={**os.environ, "TERM": "xterm"})
    text = output.decode()
    assert status == 0, text
    assert "\r" in text
    assert "20/20 files" in text
    assert "100%" in text
    assert "MB/s" in text
    assert "[####" in text


def test_without_a_terminal_lines_are_plain(lake, tmp_path):
    root = tmp_path / "in"
    root.mkdir()
    (root / "a.bin").write_bytes(os.urandom(1 << 20))
    lake.sql("CREATE TABLE main.files (path VARCHAR, content FILE)")
    result = lake.run("file", "import", "main.files", root)
    assert "\r" not in result.stderr
    assert "\x1b" not in result.stderr
    assert result.stderr.startswith("import: 100% 1/1 files 1.0 MB")
    assert lake.run("--quiet", "file", "import", "main.files", root).stderr == ""
