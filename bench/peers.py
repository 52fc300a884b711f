"""The peers of bench/run.py, each in its own process: peers.py pylance|parquet FOLDER THREADS.

Reads one JSON list [verb, arguments...] per line and answers {"seconds", "rows", "unsynced"} or {"error"}. Works by
bench/works.py. A write is followed by syncs of what it wrote, for lake answers only for what is durable; "unsynced" is
the time without them.
"""

import concurrent.futures
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


class Peer:
    def __init__(self, folder):
        self.folder, self.sources = folder, {}

    def load(self, source, path):
        with pa.OSFile(path) as file:
            self.sources[source] = pa.ipc.open_file(file).read_all()
        return self.sources[source].num_rows


class Pylance(Peer):
    def __init__(self, folder):
        super().__init__(folder)
        self.datasets = {}

    def path(self, table):
        return self.folder / f"{table}.lance"

    def dataset(self, table):
        if table not in self.datasets:
            self.datasets[table] = lance.dataset(self.path(table))
        return self.datasets[table]

    def write(self, table, source):
        lance.write_dataset(self.sources[source], self.path(table))
        yield
        sync_tree(self.path(table))
        return self.sources[source].num_rows

    def open(self, table):
        self.datasets[table] = lance.dataset(self.path(table))
        return 0

    def scan(self, table, columns, where):
        names = None if columns == "*" else columns.split(",")
        return count(self.dataset(table).scanner(columns=names, filter=where or None).to_batches())

    def count(self, table, where):
        return 0 if self.dataset(table).count_rows(where) else -1

    def take(self, table, columns, rows):
        names = None if columns == "*" else columns.split(",")
        return self.dataset(table).take(rows, columns=names).num_rows

    def sql(self, text):
        return count(self.dataset("t").sql(text).build().to_batch_records())

    def append(self, table, source):
        lance.write_dataset(self.sources[source].slice(0, 1), self.path(table), mode="append")
        return 1

    def appends(self, table, source, threads, number):
        def many(_):
            for _ in range(number):
                self.append(table, source)
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(many, range(threads)))
        return threads * number

    def many(self, table, source, number):
        """A table of `number` + 1 fragments of one row."""
        lance.write_dataset(self.sources[source].slice(0, 1), self.path(table))
        for _ in range(number):
            self.append(table, source)
        return number + 1

    def blobs(self, table):
        """All of them, whole."""
        dataset = self.dataset(table)
        return len(dataset.read_blobs("blob", indices=list(range(dataset.count_rows()))))

    def blob_ranges(self, table, rows, length):
        """A part of one blob a call, the place in it by the row."""
        dataset = self.dataset(table)
        for row in rows:
            dataset.read_blob_ranges("blob", [(row, row * 65_537 % ((1 << 20) - length), length)], selector="indices")
        return len(rows)

    def update(self, table, column, where):
        return lance.dataset(self.path(table)).update({column: f"{column} + 1"}, where=where)["num_rows_updated"]

    def delete(self, table, where):
        dataset = lance.dataset(self.path(table))
        dataset.delete(where)
        return 0

    def merge(self, table, source, key):
        merge = lance.dataset(self.path(table)).merge_insert(key).when_matched_update_all().when_not_matched_insert_all()
        done = merge.execute(self.sources[source])
        return done["num_updated_rows"] + done["num_inserted_rows"]

    def compact(self, table):
        lance.dataset(self.path(table)).optimize.compact_files(num_threads=int(sys.argv[3]))
        return 0

    def drop(self, table):
        shutil.rmtree(self.path(table))
        return 0


class Parquet(Peer):
    def __init__(self, folder):
        super().__init__(folder)
        self.connection = duckdb.connect(config={"threads": int(sys.argv[3])})

    def path(self, table):
        return self.folder / f"{table}.parquet"

    def write(self, table, source):
        rows = self.sources[source]
        self.connection.execute(f"COPY (SELECT * FROM rows) TO '{self.path(table)}' (FORMAT parquet, COMPRESSION zstd)")
        yield
        sync_tree(self.path(table))
        return rows.num_rows

    def view(self, table):
        self.connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{self.path(table)}')")
        return 0

    def sql(self, text):
        return count(self.connection.execute(text).fetch_record_batch(1 << 16))

    def drop(self, table):
        self.path(table).unlink()
        return 0


def timed(call):
    begin = time.perf_counter()
    result, unsynced = call(), None
    if hasattr(result, "send"):
        next(result)
        unsynced = time.perf_counter() - begin
        try:
            next(result)
        except StopIteration as stop:
            result = stop.value
    return {"seconds": time.perf_counter() - begin, "rows": result, "unsynced": unsynced}


def main():
    peer = {"pylance": Pylance, "parquet": Parquet}[sys.argv[1]](pathlib.Path(sys.argv[2]))
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        try:
            answer = timed(lambda: getattr(peer, verb)(*arguments))
        except Exception as error:  # the driver shows it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    # Set before the libraries start their threads.
    os.environ["LANCE_CPU_THREADS"] = os.environ["TOKIO_WORKER_THREADS"] = sys.argv[3]
    os.environ.setdefault("LANCE_LOG", "error")
    import duckdb
    import lance
    import pyarrow as pa
    main()
