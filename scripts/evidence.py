"""Writes docs/evidence/<date>-<commit>-<kind>.json: what ran outside `make test`, where, how long, with which outcome.

A row of docs/conformance/ refers to a step of the newest such file (`evidence:step`, scripts/check-conformance).
Used by scripts/test-long, and by scripts/fresh as `evidence.py KIND COMMIT STEP EXIT-CODE SECONDS [STEP ...]`.
"""
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def head():
    """The commit that is checked out; "-changed" is added if a tracked file is not as committed."""
    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "--short", "HEAD") + ("-changed" if changed else "")


def write(kind, commit, steps, **more):
    """steps: name -> {"exit_code", "seconds", ...}. Returns the path of the file."""
    evidence = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit,
        "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "system": platform.platform(),
                    "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)},
        "steps": steps,
        **more,
    }
    path = ROOT / "docs/evidence" / f"{evidence['date'][:10]}-{commit}-{kind}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(evidence, indent=1) + "\n")
    return path.relative_to(ROOT)


def main(kind, commit, *rest):
    steps = {}
    for name, exit_code, seconds in zip(rest[::3], rest[1::3], rest[2::3]):
        steps[name] = {"exit_code": int(exit_code), "seconds": int(seconds)}
    print(f"wrote {write(kind, commit, steps)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
