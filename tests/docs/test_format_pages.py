"""Every format piece has its page in docs/format/: each alternative that a message can hold is named by the page that the message's
file refers to, and each source that decodes bytes from outside stands in the list of pages with the code that reads them."""

import re

import pytest

from conftest import ROOT

PAGES = ROOT / "docs/format"
PROTOS = sorted((ROOT / "lake").rglob("*.proto"))
# What they cover works on what others have decoded.
HAVE_NO_FORMAT_OF_THEIR_OWN = {"dataset_fuzzer.cc", "inspect_fuzzer.cc"}


def spellings(name):
    """A name of a message, with or without underscores, in any case, and as words."""
    words = name.split("_")
    return {name, "".join(words), " ".join(words), "-".join(words)}


def named(name, text):
    return any(re.search(rf"(?<![a-z0-9_]){re.escape(spelling)}(?![a-z0-9_])", text, re.IGNORECASE) for spelling in spellings(name))


def alternatives(proto):
    """The names in every oneof of a file."""
    names = []
    for body in re.findall(r"oneof \w+ \{([^}]*)\}", proto.read_text()):
        names += re.findall(r"^\s*[\w.]+ (\w+) = \d+;", body, re.MULTILINE)
    return names


@pytest.mark.parametrize("proto", PROTOS, ids=[proto.name for proto in PROTOS])
def test_the_page_of_a_message_names_all_that_it_can_hold(proto):
    pages = re.findall(r"docs/format/\w+\.md", proto.read_text())
    assert pages, f"{proto.name} names no page"
    text = "".join((ROOT / page).read_text() for page in pages)
    assert [name for name in alternatives(proto) if not named(name, text)] == []


def test_messages_have_alternatives_to_name():
    assert sum(len(alternatives(proto)) for proto in PROTOS) > 60


def listed_code():
    """The sources in the last column of the list of pages."""
    listed = {}
    for line in (PAGES / "README.md").read_text().splitlines():
        if match := re.match(r"\| \[(\w+\.md)\]\(\1\) \|.*\| (.*) \|$", line):
            listed[match[1]] = {name for name in re.findall(r"`([\w/]+)`", match[2])}
    return listed


def test_the_list_has_every_page():
    assert set(listed_code()) == {page.name for page in PAGES.glob("*.md")} - {"README.md"}


def test_what_decodes_bytes_from_outside_is_listed_with_its_page():
    """The fuzz targets say what does."""
    listed = set().union(*listed_code().values())
    sources = set()
    for target in (ROOT / "lake").rglob("*_fuzzer.cc"):
        if target.name in HAVE_NO_FORMAT_OF_THEIR_OWN:
            continue
        sources |= set(re.findall(r"^// Covers: (lake/(?:format|table)/\w+\.cc)", target.read_text(), re.MULTILINE))
    assert len(sources) > 30
    assert sorted(source for source in sources if source.removeprefix("lake/").removesuffix(".cc") not in listed) == []


def test_what_is_listed_is_there():
    missing = [name for names in listed_code().values() for name in names
               if not any((ROOT / "lake" / f"{name}{ending}").exists() for ending in (".cc", ".h"))]
    assert missing == []
