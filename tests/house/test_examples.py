"""Every example of README and docs does what its page says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.house.examples import BIN, LOCAL_SERVICE, SERVER, SERVICE, Example, commands, examples, like, run
from tests.house.places import PAGES, shown
from tests.http.serving import serving

from rowlock import Engine

WITH_EXAMPLES = [page for page in PAGES if examples(page)]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=shown)
def test_the_examples_of_a_page_work(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ROWLOCK_DATABASE_URL", raising=False)
    (tmp_path / ".venv").symlink_to(BIN.parent)
    text = page.read_text()
    server = request.getfixturevalue("unmigrated_url") if SERVER in text else ""
    service = request.getfixturevalue("service") if SERVICE in text or LOCAL_SERVICE in text else ""
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for example in examples(page):
            # The address of the tests' server has options already.
            places = {f"{SERVER}?": f"{server}&", SERVER: server, SERVICE: service, LOCAL_SERVICE: service}
            follow(page, example, names, places)
    finally:
        close(names)


@pytest.fixture
def service(sqlite_url: str) -> Iterator[str]:
    """The address of a service with nothing in it."""
    with Engine(sqlite_url) as engine, serving(engine) as served:
        yield f"http://127.0.0.1:{served.client.port}"


def follow(page: Path, example: Example, names: dict[str, Any], addresses: dict[str, str]) -> None:
    text = example.text
    for written, meant in addresses.items():
        text = text.replace(written, meant)
    if example.language == "python":
        # Blank lines in front, so that a traceback tells the line of the page.
        exec(compile("\n" * example.line + text, shown(page), "exec"), names)
        return
    for command, expected in commands(text) if example.language == "console" else [(text, "…")]:
        printed = run(command, Path.cwd())
        assert like(expected).fullmatch(printed), f"$ {command}\n{printed}"


def close(names: dict[str, Any]) -> None:
    for value in names.values():
        if isinstance(value, Engine):
            value.close()


def test_a_wrong_transcript_is_seen(tmp_path: Path) -> None:
    [(command, expected)] = commands("$ echo three\nfour\n")
    assert not like(expected).fullmatch(run(command, tmp_path))


def test_a_transcript_is_read_command_by_command() -> None:
    assert commands("$ one\n$ two \\\n> three\nlike\n\nthis\n") == [("one", ""), ("two \\\nthree", "like\n\nthis")]


def test_dots_alone_on_a_line_stand_for_any_lines() -> None:
    assert like("one\n…\nfour").fullmatch("one\ntwo\nthree\nfour")
    assert not like("one…\nfour").fullmatch("one\ntwo\nthree\nfour")


def test_there_are_examples() -> None:
    assert {shown(page) for page in WITH_EXAMPLES} >= {"README.md", "docs/quickstart.md"}
