"""Measures lake beside pylance and DuckDB on Parquet: same data, same machine, same run.

Each system is one long-lived process that is told to do one operation and answers with its own time, so that neither
start-up nor transport is measured. Repetitions interleave: one of each system, then the next round. All systems get the
same number of threads and a warm page cache. Writes are followed by syncs in every system: lake does so by itself, for
the peers the worker syncs the files that they wrote. Prints ratios of medians and keeps every time as JSON.

Usage: bench/run.py --worker build/release/bin/lake_bench [--rows 2000000] [--repetitions 5] [--out FILE]
"""

import argparse
import hashlib
import json
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
import pyarrow.parquet as pq

THREADS = 2
TAKEN = 100
OPERATIONS = ("write", "full scan", "one column", "filter 0.1 %", "filter 10 %", "count with filter", f"take {TAKEN}",
              "append one row")


def make_table(rows, seed=20261129):
    rng = np.random.default_rng(seed)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rng.random(rows * 16, dtype=np.float32)), 16)
    return pa.table({
        "id": pa.array(np.arange(rows, dtype=np.int64)),
        "device": pa.array(np.char.add("device-", rng.integers(0, 500, rows).astype(str))),
        "value": pa.array(rng.random(rows)),
        "counter": pa.array(rng.integers(0, 1_000_000, rows, dtype=np.int32)),
        "note": pa.array([hashlib.blake2b(str(i).encode(), digest_size=12).hexdigest() for i in range(rows)]),
        "at": pa.array(np.arange(rows, dtype=np.int64) * 1000, pa.timestamp("us")),
        "vector": vectors,
    })


# --- the systems ---------------------------------------------------------------------------------------------


class LakeSystem:
    name = "lake"
    # Parquet has no lists of fixed size: DuckDB reads them as lists of any.
    SOURCE = "SELECT * REPLACE (vector::FLOAT[16] AS vector) FROM read_parquet('{}')"

    def __init__(self, worker, folder, parquet):
        self.parquet = parquet
        self.tables = 0
        self.process = subprocess.Popen([worker, folder / "lake", str(THREADS)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.do("sql", "CREATE SCHEMA bench")
        self.do("sql", "CREATE TABLE bench.t AS " + self.SOURCE.format(parquet))

    def do(self, *fields):
        self.process.stdin.write("\t".join(map(str, fields)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n").split("\t")
        if answer[0] != "ok":
            sys.exit(f"lake: {' '.join(map(str, fields))[:200]}: {' '.join(answer[1:]) or 'the worker died'}")
        return float(answer[1]), int(answer[2])

    def run(self, operation, indices):
        if operation == "write":
            self.tables += 1
            seconds, _ = self.do("sql", f"CREATE TABLE bench.w{self.tables} AS " + self.SOURCE.format(self.parquet))
            self.do("sql", f"DROP TABLE bench.w{self.tables}")
            return seconds, 0
        if operation.startswith("take"):
            return self.do("take", "bench.t", "id,value,note", ",".join(map(str, indices)))
        return self.do("sql", {
            "full scan": "SELECT * FROM bench.t",
            "one column": "SELECT value FROM bench.t",
            "filter 0.1 %": "SELECT id, note FROM bench.t WHERE value < 0.001",
            "filter 10 %": "SELECT id, note FROM bench.t WHERE value < 0.1",
            "count with filter": "SELECT count(*) FROM bench.t WHERE counter < 500000",
            "append one row": "INSERT INTO bench.t SELECT * FROM bench.t LIMIT 1",
        }[operation])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class PeerSystem:
    """A peer in a process of its own: bench/peers.py."""

    def __init__(self, name, folder, parquet):
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, pathlib.Path(__file__).with_name("peers.py"), name, folder, parquet, str(THREADS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, operation, indices):
        self.process.stdin.write(json.dumps([operation, indices]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.name}: {operation}: the worker died")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# --- import of one file ----------------------------------------------------------------------------------------


def measure_import(lake, folder, size, repetitions):
    source = folder / "source.bin"
    with open(source, "wb") as file:
        block = np.random.default_rng(1).bytes(1 << 24)
        for _ in range(size >> 24):
            file.write(block)
    times = {"lake": [], "hash": [], "copy and fsync": []}
    for _ in range(repetitions):
        times["lake"].append(lake.do("import", source)[0])
        begin = time.perf_counter()
        with open(source, "rb") as file:
            hashlib.file_digest(file, "sha256")
        times["hash"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        shutil.copyfile(source, folder / "copy.bin")
        handle = os.open(folder / "copy.bin", os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
        times["copy and fsync"].append(time.perf_counter() - begin)
        (folder / "copy.bin").unlink()
    return times


# ------------------------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--import-mib", type=int, default=1024)
    parser.add_argument("--folder", type=pathlib.Path, help="where to work; default: a temporary folder beside build/")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/bench.json"))
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)

    with tempfile.TemporaryDirectory(dir=arguments.folder or arguments.out.parent) as name:
        folder = pathlib.Path(name)
        parquet = folder / "source.parquet"
        pq.write_table(make_table(arguments.rows), parquet, row_group_size=1 << 17)
        systems = [LakeSystem(arguments.worker, folder, parquet), PeerSystem("pylance", folder, parquet),
                   PeerSystem("parquet", folder, parquet)]
        rng = np.random.default_rng(7)
        times, wrong = {}, []
        for operation in OPERATIONS:
            for repetition in range(arguments.repetitions + 1):
                indices = [int(i) for i in rng.integers(0, min(arguments.rows, 100_000), TAKEN)]
                counts = {}
                for system in systems:
                    seconds, counts[system.name] = system.run(operation, indices)
                    # The first round only warms up.
                    if repetition and seconds is not None:
                        times.setdefault(operation, {}).setdefault(system.name, []).append(seconds)
                if len({count for count in counts.values() if count}) > 1:
                    wrong.append(f"{operation}: different numbers of rows: {counts}")
        times["import of one file"] = measure_import(systems[0], folder, arguments.import_mib << 20,
                                                     arguments.repetitions)
        for system in systems:
            system.close()

    report = {"rows": arguments.rows, "repetitions": arguments.repetitions, "threads": THREADS,
              "import_mib": arguments.import_mib, "machine": platform.processor() or platform.machine(),
              "cores": os.cpu_count(), "times": times}
    arguments.out.write_text(json.dumps(report, indent=1))
    print_report(times)
    print(f"every time: {arguments.out}")
    for line in wrong:
        print(f"error: {line}")
    return 1 if wrong else 0


def print_report(times):
    print(f"{'operation':<20} {'lake':>10}   others (ratio of medians: above 1, lake is slower)")
    for operation, by_system in times.items():
        median = {name: statistics.median(values) for name, values in by_system.items()}
        ours = median.pop("lake")
        others = "   ".join(f"{name} {seconds * 1e3:.1f} ms ({ours / seconds:.2f})" for name, seconds in median.items())
        print(f"{operation:<20} {ours * 1e3:>7.1f} ms   {others}")


if __name__ == "__main__":
    sys.exit(main())
