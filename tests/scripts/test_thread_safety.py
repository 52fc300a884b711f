"""Lock annotations are checked by the compiler that builds the tests, and the check can fail."""

import json
import re
import shlex
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
LOCKS = re.compile(r"\b(LAKE_(GUARDED_BY|REQUIRES|EXCLUDES)|MutexLock)\b")


@pytest.fixture(scope="module")
def commands():
    """How each source of lake was compiled: its words, without the object cache before them."""
    entries = json.loads((BUILD_DIR / "compile_commands.json").read_text())
    words = {entry["file"]: shlex.split(entry["command"]) for entry in entries}
    return {file: command[next(i for i, word in enumerate(command) if "clang++" in word):]
            for file, command in words.items() if file.startswith(f"{ROOT}/lake/")}


def test_every_source_that_locks(commands):
    locking = [file for file in commands if LOCKS.search(open(file).read())]
    assert len(locking) > 10
    assert [file for file in locking if "-Werror=thread-safety" not in commands[file]] == []


@pytest.mark.parametrize("body, good", [
    ("MutexLock lock(&mutex_); ++value_;", True),
    ("++value_;", False),
    ("MutexLock lock(&mutex_); MutexLock again(&mutex_); ++value_;", False),
])
def test_the_compiler_finds_a_missing_lock(tmp_path, commands, body, good):
    source = tmp_path / "counter.cc"
    source.write_text(COUNTER.replace("BODY", body))
    command = commands[f"{ROOT}/lake/base/thread_pool.cc"]
    warnings = [word for word in command if word.startswith("-W")]
    result = subprocess.run([command[0], "-std=c++20", f"-I{ROOT}", *warnings, "-fsyntax-only", source],
                            capture_output=True, text=True, check=False)
    assert (result.returncode == 0) == good, result.stderr
    assert good or "thread-safety" in result.stderr
