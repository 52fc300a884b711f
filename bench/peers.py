"""The peers of bench/run.py, each in its own process: peers.py pylance|parquet FOLDER PARQUET THREADS.

Reads one JSON list [operation, indices] per line and answers [seconds, rows]; seconds is null for what a peer does not
do.
"""

import json
import os
import pathlib
import shutil
import sys
import time


def sync_tree(folder):
    for path in [pathlib.Path(folder), *pathlib.Path(folder).rglob("*")]:
        handle = os.open(path, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


def count(batches):
    return sum(batch.num_rows for batch in batches)


class Pylance:
    def __init__(self, folder, parquet):
        self.folder, self.parquet = folder, parquet
        self.path = folder / "pylance.lance"
        self._write(self.path)

    def _write(self, path):
        file = pq.ParquetFile(self.parquet)
        reader = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(1 << 16))
        lance.write_dataset(reader, path)
        sync_tree(path)

    def run(self, operation, indices):
        if operation == "write":
            path = self.folder / "written.lance"
            shutil.rmtree(path, ignore_errors=True)
            return lambda: self._write(path) or 0
        if operation == "append one row":
            row = lance.dataset(self.path).take([0])

            def append():
                before = set(self.path.rglob("*"))
                lance.write_dataset(row, self.path, mode="append")
                for path in set(self.path.rglob("*")) - before:
                    handle = os.open(path, os.O_RDONLY)
                    os.fsync(handle)
                    os.close(handle)
                return 0
            return append
        columns = {"full scan": None, "one column": ["value"]}
        if operation in columns:
            return lambda: count(lance.dataset(self.path).scanner(columns=columns[operation]).to_batches())
        limits = {"filter 0.1 %": 0.001, "filter 10 %": 0.1}
        if operation in limits:
            return lambda: count(lance.dataset(self.path).scanner(
                columns=["id", "note"], filter=f"value < {limits[operation]}").to_batches())
        if operation == "count with filter":
            return lambda: lance.dataset(self.path).count_rows("counter < 500000") and 1
        return lambda: lance.dataset(self.path).take(indices, columns=["id", "value", "note"]).num_rows


class Parquet:
    def __init__(self, folder, parquet):
        self.folder, self.parquet = folder, parquet
        self.connection = duckdb.connect(config={"threads": int(sys.argv[4])})

    def run(self, operation, indices):
        if operation == "write":
            def write():
                target = self.folder / "written.parquet"
                self.connection.execute(f"COPY (SELECT * FROM '{self.parquet}') TO '{target}' (FORMAT parquet)")
                sync_tree(target)
                return 0
            return write
        query = {
            "full scan": "SELECT * FROM t",
            "one column": "SELECT value FROM t",
            "filter 0.1 %": "SELECT id, note FROM t WHERE value < 0.001",
            "filter 10 %": "SELECT id, note FROM t WHERE value < 0.1",
            "count with filter": "SELECT count(*) FROM t WHERE counter < 500000",
        }.get(operation)
        if query is None:
            return None
        query = query.replace("FROM t", f"FROM '{self.parquet}'")
        return lambda: count(self.connection.execute(query).fetch_record_batch(1 << 16))


def main():
    folder, parquet = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    peer = {"pylance": Pylance, "parquet": Parquet}[sys.argv[1]](folder, parquet)
    for line in sys.stdin:
        operation, indices = json.loads(line)
        call = peer.run(operation, indices)
        seconds, rows = None, 0
        if call:
            begin = time.perf_counter()
            rows = call()
            seconds = time.perf_counter() - begin
        print(json.dumps([seconds, rows]), flush=True)


if __name__ == "__main__":
    # Set before the libraries start their threads.
    os.environ["LANCE_CPU_THREADS"] = os.environ["TOKIO_WORKER_THREADS"] = sys.argv[4]
    os.environ.setdefault("LANCE_LOG", "error")
    import duckdb
    import lance
    import pyarrow as pa
    import pyarrow.parquet as pq
    main()
