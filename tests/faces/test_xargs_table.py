"""Every row of the page that compares rowlock with xargs and GNU parallel: it works, or says why not."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.faces.shell import QuickShell, Shell
from tests.sample_items import claimed_item

from rowlock.worker.exec.command_template import CommandTemplate

PAGE = Path(__file__).parents[2] / "docs" / "compare" / "xargs.md"
KEYS = ["in/a.txt", "in/b.txt", "in/c.txt"]
_CELL = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"`([^`]*)`")

ROWS = [
    [cell.strip().replace(r"\|", "|") for cell in _CELL.split(line)[1:-1]]
    for line in PAGE.read_text().splitlines()
    if line.startswith("|") and not line.startswith(("| ---", "| xargs | GNU"))
]
WORKING = [(_CODE.findall(row[2])[-1], _CODE.findall(row[3])[0].split(" · ")) for row in ROWS if row[3]]


def test_every_row_works_or_has_a_reason() -> None:
    assert [row for row in ROWS if not row[3] and not row[2].startswith(("no: ", "always: "))] == []
    assert len(WORKING) > 25


@pytest.mark.parametrize(("words", "prints"), WORKING, ids=[words for words, _ in WORKING])
def test_a_row_prints_what_it_says(shell: Shell, quick: QuickShell, words: str, prints: list[str]) -> None:
    quick("add", "t", *KEYS, "--data", '{"size": 3}')
    assert sorted(shell("work", "t", *shlex.split(words)).lines) == sorted(prints)


PATHS = [
    "a/b.c/d",
    "a/b.tar.gz",
    "x",
    ".hid",
    "a/.hid",
    "/x",
    "/x.y",
    "a.",
    "./x",
    "http://h/p/q.html",
    "a b/c d.e",
    "a/",
]


@pytest.mark.skipif(shutil.which("parallel") is None, reason="GNU parallel is not installed")
@pytest.mark.parametrize("placeholder", ["{}", "{.}", "{/}", "{//}", "{/.}", "{#}"])
def test_a_placeholder_has_the_value_that_parallel_gives_it(placeholder: str) -> None:
    command = ["parallel", "-k", "-j1", "-q", "printf", r"%s\n", placeholder, ":::", *PATHS]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    template = CommandTemplate((placeholder, "x"))
    assert [template.filled([claimed_item(path)], number=at)[0] for at, path in enumerate(PATHS, 1)] == told
