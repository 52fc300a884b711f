"""What is measured: each work with what every system is told to do, and the aim that the ratio is held against.

A step is a list: a verb and its arguments, as bench/worker.h and bench/peers.py know them. TAKE stands for row numbers,
drawn anew for each repetition; FRESH for the name of a table that is made for this repetition, by the step or by the
steps of `setup`, which are not timed, and dropped after it.
"""

import dataclasses

from data import RND_MAX

TAKE, FRESH = "<rows>", "<fresh>"
GROUP_BY = "SELECT low, count(*) AS n, sum(rnd) AS s FROM {} GROUP BY 1"


@dataclasses.dataclass
class Work:
    name: str
    # How many times the rate of `against` is wanted.
    aim: float
    lake: list
    peers: dict = dataclasses.field(default_factory=dict)
    against: str = "pylance"
    # Rows that a repetition takes, and of which table.
    takes: int = 0
    of: str = "t"
    # What lake and pylance are told before each repetition.
    setup: list = dataclasses.field(default_factory=list)
    # Repetitions are at least this many times the ones asked for: what is short is measured more often.
    times: int = 1
    # Time in syncs is left out of lake's time: pylance never syncs.
    without_syncs: bool = False
    # Takes so much new memory that it must not be the host's to find first: bench/run.py, warm_memory.
    much_memory: bool = False


def scan(name, aim, columns, where="", **kwargs):
    select = f"SELECT {columns} FROM t" + (f" WHERE {where}" if where else "")
    return Work(name, aim, ["scan", "bench.t", columns, where],
                {"pylance": ["scan", "t", columns, where], "parquet": ["sql", select]}, **kwargs)


def take(count, columns, aim, name):
    return Work(name, aim, ["take", "bench.t", columns, TAKE], {"pylance": ["take", "t", columns, TAKE]}, takes=count,
                times=4)


def change(name, setup, step, **kwargs):
    """The same for both, on a table made anew."""
    return Work(name, 1 / 0.7, step, {"pylance": step}, setup=setup, without_syncs=True, **kwargs)


WORKS = [
    Work("write", 2.5, ["write", FRESH, "t"], {"pylance": ["write", FRESH, "t"], "parquet": ["write", FRESH, "t"]},
         much_memory=True),
    scan("full scan", 3, "*"),
    scan("one int64 column", 2, "rnd"),
    scan("one dictionary string column", 3, "low"),
    scan("one random string column", 3, "str24"),
    scan("filter 0.1 %, all columns", 2, "*", f"rnd<{RND_MAX // 1000}"),
    scan("filter 10 %, all columns", 2, "*", f"rnd<{RND_MAX // 10}"),
    Work("count with filter 10 %", 1.5, ["count", "bench.t", f"rnd<{RND_MAX // 10}"],
         {"pylance": ["count", "t", f"rnd<{RND_MAX // 10}"],
          "parquet": ["sql", f"SELECT count(*) FROM t WHERE rnd<{RND_MAX // 10}"]}),
    Work("group by in SQL", 1, ["sql", GROUP_BY.format("bench.t")],
         {"pylance": ["sql", GROUP_BY.format("dataset")], "parquet": ["sql", GROUP_BY.format("t")]}, against="parquet"),
    take(100, "*", 5, "take 100, all columns"),
    take(10_000, "*", 4, "take 10,000, all columns"),
    take(100, "rnd", 5, "take 100, one int64 column"),
    Work("scan of vectors", 3, ["scan", "bench.vectors", "vec", ""], {"pylance": ["scan", "vectors", "vec", ""]},
         much_memory=True),
    Work("scan of vectors against pread", 0.6, ["scan", "bench.vectors", "vec", ""], {"pread": ["pread", "bench.vectors"]},
         against="pread", much_memory=True),
    Work("append of one row, without its syncs", 2, ["append", "bench.a", "t"], {"pylance": ["append", "a", "t"]}, times=8,
         without_syncs=True),
    Work("append of one row, against its two rounds of syncs", 1 / 1.3, ["append", "bench.a", "t"],
         {"two rounds": ["sync", "two rounds"]}, against="two rounds", times=8),
    Work("8 threads x 25 appends", 1 / 0.7, ["appends", "bench.a", "t", "8", "25"], {"pylance": ["appends", "a", "t", 8, 25]}),
    Work("open with 200 versions and fragments", 2, ["open", "<many>"], {"pylance": ["open", "many"]}, times=8),
    Work("scan of 200 fragments of one row", 2, ["scan", "<many>", "*", ""], {"pylance": ["scan", "many", "*", ""]}, times=2),
    change("update 1 % of 1 M rows", [["write", FRESH, "m"]], ["update", FRESH, "v", "k=7"]),
    change("delete 1 % of 1 M rows", [["write", FRESH, "m"]], ["delete", FRESH, "k=8"]),
    change("merge-insert 1 % of 1 M rows", [["write", FRESH, "m"]], ["merge", FRESH, "changes", "id"]),
    change("compact 201 one-row fragments", [["many", FRESH, "m", 200]], ["compact", FRESH]),
    change("compact 1 M rows after deleting 20 %", [["write", FRESH, "m"], ["delete", FRESH, "k<20"]], ["compact", FRESH]),
    Work("blob v2: write 200 x 1 MiB", 1, ["write", FRESH, "blobs"], {"pylance": ["write", FRESH, "blobs"]}, much_memory=True),
    Work("blob v2: range of 64 KiB, 20 calls", 5, ["blob_ranges", "bench.blobs", TAKE, 65536],
         {"pylance": ["blob_ranges", "blobs", TAKE, 65536]}, takes=20, of="blobs", times=4),
    Work("blob v2: read all 200", 2, ["blobs", "bench.blobs"], {"pylance": ["blobs", "blobs"]}),
    Work("full scan in SQL", 1, ["sql", "SELECT * FROM bench.t"], {"parquet": ["sql", "SELECT * FROM t"]}, against="parquet"),
    Work("filter 0.1 % in SQL", 1, ["sql", f"SELECT * FROM bench.t WHERE rnd<{RND_MAX // 1000}"],
         {"parquet": ["sql", f"SELECT * FROM t WHERE rnd<{RND_MAX // 1000}"]}, against="parquet"),
    Work("filter 10 % in SQL", 1, ["sql", f"SELECT * FROM bench.t WHERE rnd<{RND_MAX // 10}"],
         {"parquet": ["sql", f"SELECT * FROM t WHERE rnd<{RND_MAX // 10}"]}, against="parquet"),
]
