"""The compiler cache serves clones in other folders: the same object is made wherever the clone lies."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
OBJECT = "lake/base/CMakeFiles/lake_base.dir/uuid.cc.o"


def build(folder, cache, log):
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / ".deps").symlink_to(ROOT / ".deps")
    environment = {**os.environ, "CCACHE_DIR": str(cache), "CCACHE_STATSLOG": str(log)}
    for command in (["cmake", "--preset", "dev"], ["ninja", "-C", "build/dev", OBJECT]):
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return (folder / "build/dev" / OBJECT).read_bytes()


def test_objects_are_shared_between_clones(tmp_path):
    cache = tmp_path / "cache"
    first = build(tmp_path / "one", cache, tmp_path / "first.log")
    second = build(tmp_path / "another folder", cache, tmp_path / "second.log")
    assert first == second
    assert "cache_miss" in (tmp_path / "first.log").read_text()
    log = (tmp_path / "second.log").read_text()
    assert "cache_hit" in log and "cache_miss" not in log
