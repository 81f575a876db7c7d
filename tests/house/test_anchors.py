"""Links lead to headings that exist, and the `type` of a problem to the paragraph about its code."""

import re
import tomllib
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path

from tests.house.places import DOCS, PAGES, ROOT, documented, shown

from rowlock import errors
from rowlock.http.problems import DOCS as PROBLEM_TYPES
from rowlock.http.problems import problem

CONTENTS = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]

_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)|[`*]")
_LINK = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")
_CODE = re.compile(r"^### `([\w-]+)`$", re.MULTILINE)


def anchor(heading: str) -> str:
    """Return the id that a heading gets on the site."""
    plain = unicodedata.normalize("NFKD", _MARKUP.sub(r"\1", heading)).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the ids of a page's headings."""
    return frozenset(anchor(heading) for heading in _HEADING.findall(_BLOCK.sub("", page.read_text())))


def lost(page: Path) -> list[str]:
    """Return the links of a page whose page exists and whose heading does not."""
    links = _LINK.findall(_BLOCK.sub("", page.read_text()))
    targets = ((path, name, (page.parent / path).resolve() if path else page) for path, name in links)
    return [
        f"{path}#{name}" for path, name, target in targets if target.suffix == ".md" and name not in anchors(target)
    ]


def test_links_lead_to_headings() -> None:
    assert {shown(page): found for page in PAGES if (found := lost(page))} == {}


def test_a_link_to_a_heading_that_is_not_there_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Read `me` first!\n\n[here](#read-me-first) and [there](#nowhere)\n")
    assert lost(page) == ["#nowhere"]


def test_the_type_of_a_problem_is_the_address_of_its_paragraph() -> None:
    address, _, code = problem(errors.NoSuchList("there is no list 'a'"))["type"].partition("#")
    page = DOCS / f"{address.removeprefix(CONTENTS['site_url'])}.md"
    assert f"{address}#" == PROBLEM_TYPES
    assert code in anchors(page)


def test_the_code_of_an_error_is_the_anchor_of_its_paragraph_alone() -> None:
    text = documented("reference/errors.md")
    found = Counter(map(anchor, _HEADING.findall(_BLOCK.sub("", text))))
    assert _CODE.findall(text)
    assert [code for code in _CODE.findall(text) if found[code] != 1] == []
