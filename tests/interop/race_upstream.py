"""Changes a table in step with other processes, by upstream: race_upstream.py PATH. What race_main.cc says holds here too."""

import sys

import lance
import pyarrow as pa
from lance.optimize import Compaction

RETRIES = 20


def wait():
    print("ready", flush=True)
    sys.stdin.readline()


def rows(path):
    return pa.ipc.open_stream(pa.OSFile(path)).read_all()


def append(dataset, path):
    fragments = lance.fragment.write_fragments(rows(path), dataset.uri, mode="append")
    wait()
    committed = lance.LanceDataset.commit(dataset.uri, lance.LanceOperation.Append(fragments), read_version=dataset.version,
                                          max_retries=RETRIES)
    return committed.version, 0, 0, sum(fragment.physical_rows for fragment in fragments)


def delete(dataset, ids):
    wait()
    deleted = dataset.delete(f"id IN ({ids})", conflict_retries=RETRIES)["num_deleted_rows"]
    return dataset.version, deleted, 0, 0


def update(dataset, ids, delta, kind):
    wait()
    updated = dataset.update({"v": f"v + {delta}", "kind": f"'{kind}'"}, where=f"id IN ({ids})", conflict_retries=RETRIES)
    return dataset.version, 0, updated["num_rows_updated"], 0


def merge(dataset, path):
    builder = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().conflict_retries(RETRIES)
    source = rows(path)
    wait()
    stats = builder.execute(source)
    return dataset.version, 0, stats["num_updated_rows"], stats["num_inserted_rows"]


def compact(dataset, target_rows):
    plan = Compaction.plan(dataset, {"target_rows_per_fragment": int(target_rows)})
    if not plan.num_tasks():
        return 0, 0, 0, 0
    rewritten = [task.execute(dataset) for task in plan.tasks]
    wait()
    Compaction.commit(dataset, rewritten)
    return dataset.version, 0, 0, 0


def index(dataset, column, index_type):
    """Trains one anew, or brings all up to date."""
    wait()
    if index_type == "update":
        dataset.optimize.optimize_indices()
    elif index_type == "IVF_FLAT":
        dataset.create_index(column, index_type, num_partitions=4, replace=True)
    else:
        dataset.create_scalar_index(column, index_type, replace=True)
    return dataset.version, 0, 0, 0


def main(path):
    steps = {"append": append, "delete": delete, "update": update, "merge": merge, "compact": compact, "index": index}
    for line in sys.stdin:
        step, *arguments = line.rstrip("\n").split("\t")
        dataset = lance.dataset(path)
        read = dataset.version
        try:
            version, *counts = steps[step](dataset, *arguments)
            print("done", version if version > read else 0, *counts, flush=True)
        except Exception as error:  # noqa: BLE001
            print("failed", str(error).replace("\n", " "), flush=True)


main(sys.argv[1])
