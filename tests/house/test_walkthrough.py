"""The page that follows one command through the code names the functions that really run, in their order."""

import re
from pathlib import Path

import pytest
from tests.house.places import ROOT, SOURCE, documented
from tests.house.walks import command

from rowlock import Engine

_STEP = re.compile(r"src/rowlock/(\S+\.(?:py|sql))(?: +(\S+))?$", re.MULTILINE)


def steps() -> list[tuple[str, str]]:
    """The files of the page's first block, each with the function in it; empty for a statement."""
    block = documented("design/walkthrough.md").split("```")[1]
    return _STEP.findall(block)


def test_the_walkthrough_names_the_functions_that_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = str(tmp_path / "walk.db")
    with Engine(address) as engine:
        engine["thumbs"].add("a.jpg")
    calls = command("-d", address, "done", "thumbs", "a.jpg").calls
    assert "done\t1" in capsys.readouterr().out
    named = [f"{file}:{function}" for file, function in steps() if function]
    assert len(named) >= 5
    assert [place for place in calls if place in named] == named


def test_the_walkthrough_names_the_statement_that_the_verb_runs() -> None:
    verb, statement = steps()[-2:]
    assert f'"{statement[0].removeprefix("sql/").removesuffix(".sql")}"' in (SOURCE / verb[0]).read_text()


def test_every_file_that_the_walkthrough_names_exists() -> None:
    page = documented("design/walkthrough.md")
    files = re.findall(r"(?:src|tests|tools)/[\w/.]+\.(?:py|sql)", page)
    assert [file for file in files if not (ROOT / file).exists()] == []
