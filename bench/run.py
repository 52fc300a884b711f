"""Measures lake beside pylance and DuckDB on Parquet: same data, same machine, same run.

Each system is one long-lived process that is told to do one work (bench/works.py) and answers with its own time, so that
neither start-up nor transport is measured. Repetitions interleave: one of each system, then the next round. All systems
get the same number of threads and a warm page cache. Writes are followed by syncs in every system: lake does so by
itself, for the peers the worker syncs the files that they wrote; appends are the exception, their row says how. Prints
the ratios of medians with the aim beside them (above 1 lake is faster) and keeps every time as JSON.

Usage: bench/run.py --worker build/release/bin/lake_bench [--rows 5000000] [--works NAME;...] [--repetitions 5] [--out FILE]
"""

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import mmap
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa

from data import blob_table, changes_of, changing_table, main_table, vector_table
from works import FRESH, TAKE, WORKS

THREADS = 2
ROUNDS_OF_AN_APPEND = 2


class Failed(Exception):
    """A system could not do what it was told."""


class LakeSystem:
    """lake in bench/worker.cc. Also measures what is made of its own calls: pread, rounds of syncs."""

    name = "lake"

    def __init__(self, worker, folder):
        self.folder = folder
        self.process = subprocess.Popen([worker, folder / "lake", str(THREADS)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.do("sql", "CREATE SCHEMA bench")

    def do(self, *fields):
        self.process.stdin.write("\t".join(map(str, fields)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n").split("\t")
        if answer[0] != "ok":
            raise Failed(f"lake: {' '.join(map(str, fields))[:200]}: {' '.join(answer[1:]) or 'the worker died'}")
        seconds, rows, size, synced, rounds, files = map(float, answer[1:])
        return {"seconds": seconds, "rows": int(rows), "bytes": int(size), "sync_seconds": synced, "sync_rounds": int(rounds),
                "sync_files": int(files)}

    def drop(self, table):
        self.do("sql", f"DROP TABLE {table}")

    def fresh(self, number):
        return f"bench.fresh{number}"

    def table_folder(self, table):
        """Where the newest table of the lakehouse with this name lies."""
        folders = (self.folder / "lake" / "tables" / table.replace(".", "/")).glob("*.lance")
        return max(folders, key=lambda folder: folder.stat().st_mtime)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class PeerSystem:
    """A peer in a process of its own: bench/peers.py."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.process = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("peers.py"), name, folder, str(THREADS)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, *step):
        self.process.stdin.write(json.dumps(step, default=str) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the worker died"}
        if "error" in answer:
            raise Failed(f"{self.name}: {str(step)[:200]}: {answer['error']}")
        return answer

    def drop(self, table):
        self.do("drop", table)

    def fresh(self, number):
        return f"fresh{number}"

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def tree_size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Bench:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.lake = LakeSystem(arguments.worker, folder)
        self.peers = {name: PeerSystem(name, folder) for name in ("pylance", "parquet")}
        self.rng = np.random.default_rng(7)
        self.number = 0
        self.report, self.sizes = {}, {}

    def save(self, name, table):
        path = self.folder / f"{name}.arrow"
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=1 << 16)
        return path

    def prepare(self):
        """Loads the data into each system and makes the tables that works read."""
        lake, pylance, parquet = self.lake, self.peers["pylance"], self.peers["parquet"]
        tables = {"t": main_table(self.arguments.rows), "vectors": vector_table(max(self.arguments.rows // 25, 1)),
                  "blobs": blob_table(max(self.arguments.rows // 25_000, 2))}
        self.rows = {name: table.num_rows for name, table in tables.items()}
        for name, table in tables.items():
            path = self.save(name, table)
            for system in (lake, pylance, parquet) if name == "t" else (lake, pylance):
                system.do("load", name, path)
            lake.do("write", f"bench.{name}", name)
            pylance.do("write", name, name)
            path.unlink()
            self.sizes[name] = {"arrow": table.nbytes, "lake": tree_size(lake.table_folder(f"bench.{name}")),
                                "pylance": tree_size(self.folder / f"{name}.lance")}
        changing = changing_table(max(self.arguments.rows // 5, 1))
        for name, table in {"m": changing, "changes": changes_of(changing)}.items():
            path = self.save(name, table)
            for system in (lake, pylance):
                system.do("load", name, path)
            path.unlink()
        parquet.do("write", "t", "t")
        parquet.do("view", "t")
        self.sizes["t"]["parquet"] = (self.folder / "t.parquet").stat().st_size
        # Both engines open and scan one table of many fragments, upstream's.
        pylance.do("many", "many", "t", 200)
        lake.do("sql", "CREATE TABLE bench.a AS SELECT * FROM bench.t LIMIT 1")
        pylance.do("many", "a", "t", 0)

    def step(self, system, step, rows, setup):
        """One repetition of a step; what it made is removed."""
        steps, fresh = [*setup, step], None
        if any(FRESH in each for each in steps):
            self.number += 1
            fresh = system.fresh(self.number)
        for each in steps:
            answer = system.do(*(self.argument(system, part, fresh, rows) for part in each))
        if fresh:
            system.drop(fresh)
        return answer

    def argument(self, system, part, fresh, rows):
        if part == FRESH:
            return fresh
        if part == "<many>":
            return str(self.folder / "many.lance")
        if part == TAKE:
            return ",".join(map(str, rows)) if system is self.lake else rows
        return part

    def reference(self, name, step, last):
        """What lake's own process measures to hold a work against."""
        if name == "pread":
            return self.lake.do(*step)
        # By the design's number of rounds: the meter takes one for two where a thread of it begins late. One of the
        # files is the folder of the others.
        files = -(-last["sync_files"] // ROUNDS_OF_AN_APPEND)
        answer = self.lake.do("sync", self.folder / "round", max(files - 1, 1))
        return {"seconds": ROUNDS_OF_AN_APPEND * answer["sync_seconds"], "rows": None, "files": files}

    def measure(self, work):
        kept = {"load_before": os.getloadavg()[0], "times": {}, "answers": {}}
        problems = []
        systems = {"lake": self.lake, **self.peers}
        # The first round only warms up.
        for repetition in range(self.arguments.repetitions * work.times + 1):
            rows = [int(i) for i in self.rng.integers(0, self.rows[work.of], work.takes)]
            answers = {}
            for name, step in {"lake": work.lake, **work.peers}.items():
                if work.much_memory:
                    warm_memory()
                answers[name] = (self.step(systems[name], step, rows, work.setup) if name in systems
                                 else self.reference(name, step, answers["lake"]))
            counts = {name: answer["rows"] for name, answer in answers.items() if name in ("lake", "pylance", "parquet")}
            if work.lake[0] != "count" and len(set(counts.values()) - {0}) > 1:
                problems.append(f"{work.name}: different numbers of rows: {counts}")
            if not repetition:
                continue
            for name, answer in answers.items():
                seconds = answer["seconds"] - (answer["sync_seconds"] if name == "lake" and work.without_syncs else 0)
                kept["times"].setdefault(name, []).append(seconds)
                kept["answers"].setdefault(name, []).append(answer)
        kept["load_after"] = os.getloadavg()[0]
        self.report[work.name] = kept
        return kept, problems

    def close(self):
        for system in (self.lake, *self.peers.values()):
            system.close()


def warm_memory(size=2 << 30):
    """Touches memory and frees it, so that the kernel has some that is the machine's own. A virtual machine's idle memory may
    have gone back to its host, and to get it again takes longer than writing to it: a second per GB, whoever needs it."""
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for start in range(0, size, mmap.PAGESIZE):
            memory[start] = 1


def measure_import(lake, folder, size, repetitions):
    """Import of one file, beside hashing and copying it."""
    source = folder / "source.bin"
    with open(source, "wb") as file:
        block = np.random.default_rng(1).bytes(1 << 24)
        for _ in range(max(size >> 24, 1)):
            file.write(block[:size])
    times = {"lake": [], "hash": [], "copy and fsync": []}
    for _ in range(repetitions):
        warm_memory()
        times["lake"].append(lake.do("import", source)["seconds"])
        begin = time.perf_counter()
        with open(source, "rb") as file:
            hashlib.file_digest(file, "sha256")
        times["hash"].append(time.perf_counter() - begin)
        warm_memory()
        begin = time.perf_counter()
        shutil.copyfile(source, folder / "copy.bin")
        handle = os.open(folder / "copy.bin", os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
        times["copy and fsync"].append(time.perf_counter() - begin)
        (folder / "copy.bin").unlink()
    return times


def print_times(name, times, against=None, aim=None):
    medians = {system: statistics.median(values) for system, values in times.items()}
    ours = medians.pop("lake")
    verdict = ""
    if against:
        ratio = medians[against] / ours
        verdict = f"{ratio:6.2f} x {against}, aim {aim:.2f}: {'ok' if ratio >= aim else 'below'}"
    others = "   ".join(f"{system} {seconds * 1e3:.2f} ms ({seconds / ours:.2f})" for system, seconds in medians.items())
    print(f"{name:<52} {ours * 1e3:>9.2f} ms   {verdict:<44} {others}", flush=True)


def chosen_works(names):
    if not names:
        return WORKS, True
    wanted = [name.strip() for name in names.split(";") if name.strip()]
    works = [work for work in WORKS if any(work.name.startswith(name) for name in wanted)]
    if not works and "import" not in wanted:
        sys.exit(f"no work starts with: {names}; there are: {'; '.join(work.name for work in WORKS)}; import")
    return works, "import" in wanted


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--works", help="only the works whose names start with one of these, separated by semicolons")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--import-mib", type=int, default=1024)
    parser.add_argument("--folder", type=pathlib.Path, help="where to work; default: a temporary folder beside build/")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/bench.json"))
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    return arguments


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.machine())
    return {"processor": model, "cores": os.cpu_count(), "kernel": platform.release(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)}


def main():
    arguments = parse_arguments()
    works, with_import = chosen_works(arguments.works)
    report = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "command": sys.argv,
              "rows": arguments.rows, "repetitions": arguments.repetitions, "threads": THREADS, "machine": machine(),
              "versions": {name: importlib.metadata.version(name) for name in ("pylance", "duckdb", "pyarrow")}}
    problems = []
    with tempfile.TemporaryDirectory(dir=arguments.folder or arguments.out.parent) as name:
        bench = Bench(arguments, pathlib.Path(name))
        try:
            bench.prepare()
            print(f"{'work':<52} {'lake':>12}   {'ratio of medians (above 1: lake is faster)':<44} others")
            for work in works:
                kept, wrong = bench.measure(work)
                problems += wrong
                print_times(work.name, kept["times"], work.against, work.aim)
            if with_import:
                times = measure_import(bench.lake, bench.folder, arguments.import_mib << 20, arguments.repetitions)
                print_times("import of one file", times)
                bench.report["import of one file"] = {"times": times}
            report |= {"works": bench.report, "sizes": bench.sizes}
            print_sizes(bench.sizes)
        except Failed as failure:
            problems.append(str(failure))
        finally:
            bench.close()
    arguments.out.write_text(json.dumps(report, separators=(",", ":")) + "\n")
    if "works" in report:
        arguments.out.with_suffix(".md").write_text(markdown(report))
    print(f"every time: {arguments.out}")
    for line in problems:
        print(f"error: {line}")
    return 1 if problems else 0


def markdown(report):
    """The table of docs/benchmarks.md."""
    lines = ["| work | lake | against | ratio | aim | others |", "|---|---|---|---|---|---|"]
    for work in WORKS:
        kept = report["works"].get(work.name)
        if kept is None:
            lines.append(f"| {work.name} | not run | | | {work.aim:.2f} | |")
            continue
        medians = {system: statistics.median(values) * 1e3 for system, values in kept["times"].items()}
        ours, against = medians.pop("lake"), medians.pop(work.against)
        others = ", ".join(f"{system} {ms:.2f} ms" for system, ms in medians.items())
        lines.append(f"| {work.name} | {ours:.2f} ms | {work.against} {against:.2f} ms | {against / ours:.2f} | {work.aim:.2f} | {others} |")
    for table, sizes in report.get("sizes", {}).items():
        lines.append(f"| size of {table} | {sizes['lake'] / 1e6:.1f} MB | pylance {sizes['pylance'] / 1e6:.1f} MB |"
                     f" {sizes['lake'] / sizes['pylance']:.3f} | at most 1.05 | Arrow {sizes['arrow'] / 1e6:.1f} MB |")
    return "\n".join(lines) + "\n"


def print_sizes(sizes):
    for table, by_system in sizes.items():
        ratio = by_system["lake"] / by_system["pylance"]
        text = ", ".join(f"{system} {size / 1e6:.1f} MB" for system, size in by_system.items())
        print(f"{'size of ' + table:<52} {ratio:>9.3f} x pylance, aim at most 1.05: {'ok' if ratio <= 1.05 else 'above'}   {text}")


if __name__ == "__main__":
    sys.exit(main())
