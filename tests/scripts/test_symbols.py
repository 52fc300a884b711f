"""Calls into libraries of which Arrow and DuckDB carry copies go to Debian's: those get security updates."""

import os
import re
import subprocess

import pytest

BINDING = re.compile(r"binding file \S*/lake \[0\] to (\S+) \[0\]: normal symbol `([^']+)'")
OWNERS = {
    r"(EVP|SHA256|CRYPTO|OPENSSL)_": "libcrypto.so",
    r"utf8proc_": "libutf8proc.so",
    r"sqlite3_": "libsqlite3.so",
    r"ZSTD_": "libzstd.so",
    r"LZ4_": "liblz4.so",
    r"_ZNK?6google8protobuf": "libprotobuf.so",
    r"_ZN3fmt2v9": "libfmt.so",
    r"_ZNK?5boost4json": "libboost_json.so",
}


@pytest.fixture(scope="module")
def bindings(lake_program):
    environment = {**os.environ, "LD_DEBUG": "bindings", "LD_BIND_NOW": "1"}
    shown = subprocess.run([lake_program, "version"], env=environment, capture_output=True, text=True, check=True).stderr
    found = {symbol: os.path.basename(library) for library, symbol in BINDING.findall(shown)}
    assert len(found) > 500
    return found


@pytest.mark.parametrize("symbols, owner", OWNERS.items(), ids=OWNERS.values())
def test_bound_to_debians_library(bindings, symbols, owner):
    # A template's instance may also be made in the program itself.
    wrong = {symbol: library for symbol, library in bindings.items()
             if re.match(symbols, symbol) and not library.startswith((owner, "lake"))}
    assert not wrong
    if owner.startswith("libcrypto"):
        assert bindings["EVP_sha256"].startswith(owner)
