"""Lock annotations are checked by clang, and the check can fail."""

import json
import subprocess

import pytest

from conftest import BUILD_DIR, ROOT

COUNTER = """
#include "lake/base/mutex.h"
namespace lake {
class Counter {
 public:
  void Add() { BODY }
 private:
  Mutex mutex_;
  int value_ LAKE_GUARDED_BY(mutex_) = 0;
};
void Use() { Counter().Add(); }
}  // namespace lake
"""


def check(*arguments):
    return subprocess.run([ROOT / "scripts/check-thread-safety", *arguments], capture_output=True, text=True, check=False)


def test_every_source_that_locks():
    result = check("--build", BUILD_DIR)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("body, good", [
    ("MutexLock lock(&mutex_); ++value_;", True),
    ("++value_;", False),
    ("MutexLock lock(&mutex_); MutexLock again(&mutex_); ++value_;", False),
])
def test_the_check_finds_a_missing_lock(tmp_path, body, good):
    source = tmp_path / "counter.cc"
    source.write_text(COUNTER.replace("BODY", body))
    command = f"g++ -std=c++20 -I{ROOT} -o counter.o -c {source}"
    (tmp_path / "compile_commands.json").write_text(
        json.dumps([{"directory": str(tmp_path), "file": str(source), "command": command}]))
    result = check("--build", tmp_path, source)
    assert (result.returncode == 0) == good, result.stdout
    assert good or "thread-safety" in result.stdout
