"""Drives lake's operations on a table: ops_main.cc, one process per step."""

import pathlib
import subprocess

import lance
import pyarrow as pa
from conftest import BUILD_DIR

OPS = BUILD_DIR / "bin/lake_interop_ops"


class Outcome:
    def __init__(self, line):
        self.version, self.deleted, self.updated, self.inserted, self.lost = map(int, line.split())

    @property
    def counts(self):
        return self.deleted, self.updated, self.inserted


class Ops:
    """Steps of the program on one table."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.streams = 0

    def stream(self, table):
        self.streams += 1
        path = self.path.parent / f"{self.path.name}.{self.streams}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return path

    def command(self, step, *arguments):
        arguments = [self.stream(argument) if isinstance(argument, pa.Table) else argument for argument in arguments]
        return [str(part) for part in (OPS, step, self.path, *arguments)]

    def run(self, step, *arguments, exit_code=0):
        result = subprocess.run(self.command(step, *arguments), capture_output=True, text=True, timeout=300, check=False)
        assert result.returncode == exit_code, result.stderr
        return result.stderr if exit_code else result.stdout

    def do(self, step, *arguments, exit_code=0):
        """A step that changes the table; its outcome, or its error."""
        output = self.run(step, *arguments, exit_code=exit_code)
        return output if exit_code else Outcome(output)

    def read(self, step, *arguments, exit_code=0):
        path = self.path.parent / f"{self.path.name}.out.arrow"
        error = self.run(step, path, *arguments, exit_code=exit_code)
        return error if exit_code else pa.ipc.open_stream(pa.OSFile(str(path))).read_all()

    def scan(self, **options):
        return self.read("scan", *(f"{name}={value}" for name, value in options.items()))

    def changes(self, first, last, **options):
        return self.read("changes", first, last, *(f"{name}={value}" for name, value in options.items()))

    def race(self, step, *arguments):
        """Starts a step that waits, worked out, until `finish`."""
        command = self.command(step, *arguments)
        process = subprocess.Popen([command[0], "race", str(self.path), step, *command[3:]], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = process.stdout.readline()
        assert line == "ready\n", line + process.stderr.read()
        return process

    def upstream(self, **options):
        return lance.dataset(str(self.path), **options)


def finish(process, exit_code=0):
    output, error = process.communicate("go\n", timeout=300)
    assert process.returncode == exit_code, error
    return error if exit_code else Outcome(output)


def same(ops, columns=None):
    """Both readers show the same table, and upstream finds nothing wrong with it."""
    dataset = ops.upstream()
    dataset.validate()
    names = columns or dataset.schema.names
    if lineage := dataset.has_stable_row_ids:
        names = [*names, "_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version"]
    expected = dataset.to_table(columns=names)
    actual = ops.scan(columns=",".join(names))
    assert actual.cast(expected.schema).equals(expected)
    if lineage:
        ids = expected["_rowid"].to_pylist()
        assert len(set(ids)) == len(ids)
    return dataset


def by_id(table, *columns):
    """The rows as tuples, in the order of their ids."""
    return sorted(zip(*(table[name].to_pylist() for name in columns or table.column_names), strict=True),
                  key=lambda row: (row[0] is None, row[0]))
