"""Every source that takes bytes apart has a fuzz target, and every target all that scripts/fuzz needs. What the targets
find is in the evidence of `make test-long`."""

import re
import subprocess

import pytest

from conftest import ROOT

MODULES = ["format", "table", "objects", "catalog", "commit"]
TAKES_BYTES_APART = re.compile(r"\bParseMessage\(|\bParseFrom(?:String|Array)\(|json::parse\(|\bfrom_chars\(|\bLoadLittle<"
                               r"|portable_deserialize|RecordBatchFileReader")
# Sources that look so and are not decoders of their own.
OTHERWISE = {
    "lake/format/parse_message_internal.cc": "what every decoder of a message calls",
    "lake/table/blob_writer.cc": "thresholds in the metadata of the writer's own fields",
    "lake/table/operation_message.cc": "bytes of lake's own operations",
}


def targets():
    return {path.stem: path for path in sorted(ROOT.glob("lake/*/*_fuzzer.cc"))}


def covered(path):
    return [source for line in path.read_text().splitlines() if line.startswith("// Covers: ")
            for source in line.removeprefix("// Covers: ").split()]


def decoders():
    for module in MODULES:
        for path in sorted((ROOT / "lake" / module).glob("*.cc")):
            if path.stem.endswith(("_test", "_fuzzer")):
                continue
            if "decoder" in path.stem or path.stem.startswith("v20_") or TAKES_BYTES_APART.search(path.read_text()):
                yield str(path.relative_to(ROOT))


def test_every_decoder_has_a_target():
    fuzzed = {source for path in targets().values() for source in covered(path)}
    found = set(decoders())
    assert len(found) > 30
    assert found - fuzzed - set(OTHERWISE) == set()
    assert set(OTHERWISE) <= found - fuzzed, "no longer needed"


def test_every_target_has_sources_corpus_and_mutant():
    for name, path in targets().items():
        assert covered(path), name
        for source in covered(path):
            assert (ROOT / source).is_file(), f"{name} covers {source}"
        assert any((ROOT / "tests/corpus" / name).iterdir()), name
        assert (ROOT / "tests/mutants" / f"{name}.patch").is_file(), name
    assert {path.stem for path in (ROOT / "tests/mutants").glob("*.patch")} == set(targets())


@pytest.mark.parametrize("mutant", sorted((ROOT / "tests/mutants").glob("*.patch")), ids=lambda mutant: mutant.stem)
def test_the_mutant_fits_the_source(mutant):
    tried = subprocess.run(["git", "apply", "--check", mutant], cwd=ROOT, capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stderr
