"""The pages that a newcomer looks for exist, and none of their links to files leads nowhere."""

import re

import pytest

from conftest import ROOT

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "docs/README.md", "docs/architecture.md",
         "docs/dependencies.md", "docs/testing.md", "docs/conformance/README.md", "docs/sql.md", "docs/sql-types.md",
         "docs/cli.md", "docs/objects.md", "docs/catalog.md", "docs/commit.md", "docs/format/file.md",
         "docs/format/encodings.md", "docs/format/manifest.md", "docs/format/transaction.md", "docs/format/deletion.md"]
MODULES = sorted(path.parent.name for path in (ROOT / "lake").glob("*/CMakeLists.txt"))


@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_there(page):
    assert len((ROOT / page).read_text()) > 300


@pytest.mark.parametrize("module", MODULES)
def test_each_module_has_a_readme(module):
    text = (ROOT / "lake" / module / "README.md").read_text()
    title = text.splitlines()[0]
    assert title.startswith("# ") and module in title
    assert "belong" in text or "Not here" in text
    assert "nvariants" in text


def test_links_between_pages_lead_somewhere():
    broken = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "lake").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []
