"""`lake inspect`: files, manifests and datasets, as text and JSON."""

import json

import lance
import pyarrow as pa
import pytest


@pytest.fixture
def dataset(tmp_path):
    table = pa.table({"id": pa.array(range(10_000), pa.int64()), "text": [f"value {i % 50}" for i in range(10_000)],
                      "vector": pa.array([[1.0] * 128] * 10_000, pa.list_(pa.float32(), 128))})
    path = tmp_path / "upstream.lance"
    written = lance.write_dataset(table, path)
    written.delete("id < 10")
    return path


def test_a_file_down_to_pages_and_encodings(lake, dataset):
    file = next((dataset / "data").glob("*.lance"))
    text = lake.run("inspect", file).stdout
    for word in ("2.2", "10000", "id", "text", "vector", "mini"):
        assert word in text, word
    report = json.loads(lake.run("inspect", file, "--json").stdout)
    assert report["kind"] == "file"
    assert report["num_rows"] == 10_000
    assert report["reading_floor"] == {"lance": "3.0", "reasons": ["files of version 2.2"]}
    assert "read by Lance 3.0 and later (files of version 2.2)" in text
    assert [column["field"] for column in report["columns"]] == ["id", "text", "vector"]
    assert all(page["layout"] for column in report["columns"] for page in column["pages"])


def test_a_manifest(lake, dataset):
    manifest = max((dataset / "_versions").glob("*.manifest"))
    report = json.loads(lake.run("inspect", manifest, "--json").stdout)
    assert report["kind"] == "manifest"
    assert report["version"] == 1
    assert "version" in lake.run("inspect", manifest).stdout


def test_a_dataset(lake, dataset):
    report = json.loads(lake.run("inspect", dataset, "--json").stdout)
    assert report["kind"] == "dataset"
    assert report["version"] == 2
    assert report["num_rows"] == 9_990
    text = lake.run("inspect", dataset).stdout
    assert "deletion" in text
    assert report["reading_floor"]["lance"] == "3.0"
    assert "read by Lance 3.0 and later (files of version 2.2), if none of its data files needs more" in text
    # With a file of another version in it, only a Lance that knows the flag.
    lance.write_dataset(pa.table({"id": pa.array([1], pa.int64())}), dataset, mode="append", data_storage_version="2.1")
    report = json.loads(lake.run("inspect", dataset, "--json").stdout)
    assert report["reading_floor"] == {"lance": "12.0", "reasons": ["files of several versions (flag 256)"]}


def test_what_is_none_of_them_is_an_error(lake, tmp_path):
    (tmp_path / "noise.lance").write_bytes(b"noise" * 100)
    (tmp_path / "empty.manifest").write_bytes(b"")
    for path in ("noise.lance", "empty.manifest", "missing"):
        assert path in lake.run("inspect", tmp_path / path, exit_code=1).stderr
