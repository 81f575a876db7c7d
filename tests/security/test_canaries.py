"""Secrets with a mark in them: no page, answer, log, audit record, metric, history or error of ours shows the mark."""

import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.faces.shell import QuickShell
from tests.receivers import receiver, said
from tests.security.asking import InProcess, asked
from tests.security.test_authorization import CASES, filled
from tests.worker.running import work_off

from rowlock import Engine, Worker
from rowlock.errors import RowlockError
from rowlock.http.auth import COOKIE
from rowlock.http.monitoring import AccessLog

MARK = "Canary7c1f"
PASSWORD = f"{MARK}password"
SIGNING = "whsec_Q2FuYXJ5N2MxZkNhbmFyeTdjMWZDYW5hcnk3YzFm"


class Watched:
    """A service whose every output is collected."""

    def __init__(self, url: str) -> None:
        self.events: list[dict[str, Any]] = []
        self.access = io.StringIO()
        self.engine = Engine(url, history=self.events.append)
        self.tokens = {role: self.engine.tokens.create(role, label="ann") for role in ("viewer", "admin")}
        self.engine["work"].add("a")

    @property
    def secrets(self) -> list[str]:
        """What must not be shown: all of each token but its prefix and its last four letters."""
        return [token.text[3:-4] for token in self.tokens.values()]

    def pages(self, ask: InProcess) -> Iterator[str]:
        """Every answer to a request that only reads, for an admin, with its headers."""
        names = dict.fromkeys(("list", "topic", "session", "claim", "own_session", "static"), "work")
        for case in CASES:
            if case.method == "GET" and case.target not in ("/live", "/v1/events?list={list}"):
                for cookie in (False, True):
                    reply = ask("GET", filled(case.target, names), **self.shown(cookie=cookie))
                    yield f"{reply.headers} {reply.text}"

    def shown(self, *, cookie: bool) -> dict[str, str]:
        text = self.tokens["admin"].text
        return {"cookie": f"{COOKIE}={text}"} if cookie else {"authorization": f"Bearer {text}"}


@pytest.fixture
def watched(postgres_url: str, caplog: pytest.LogCaptureFixture) -> Iterator[Watched]:
    """A service on a database whose address has a password, which a server that trusts its clients ignores."""
    caplog.set_level(logging.DEBUG)
    made = Watched(postgres_url.replace("postgres@", f"postgres:{PASSWORD}@"))
    yield made
    made.engine.close()


def test_no_output_of_a_service_shows_a_token_or_the_password_of_its_database(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    with asked(watched.engine, access_log=AccessLog(watched.access)) as ask:
        ask("POST", "/v1/lists/work/pause", **watched.shown(cookie=False))
        for token in watched.tokens.values():
            # In places where a token does not belong.
            ask("GET", f"/v1/lists/{token.text}?after={token.text}", **watched.shown(cookie=False))
            ask("GET", f"/{token.text}")
            ask("GET", "/v1/lists", authorization=f"Bearer {token.text}x")
            ask("GET", "/v1/lists", authorization=f"Basic {token.text}")
        pages = list(watched.pages(ask))
    shown = [*pages, watched.access.getvalue(), repr(watched.events), caplog.text, repr(watched.engine)]
    assert len(pages) > 100
    assert watched.access.getvalue().count("\n") > 100
    assert [text[:200] for text in shown for secret in (*watched.secrets, MARK) if secret in text] == []


def test_a_database_that_cannot_be_reached_does_not_show_its_password(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    urls = (
        f"postgresql://ann:{PASSWORD}@127.0.0.1:1/work",
        f"postgresql://ann@127.0.0.1:1/work?password={PASSWORD}",
        f"postgresql://ann:{PASSWORD}@127.0.0.1:1/work?nonsense=1",
        f"mysql://ann:{PASSWORD}@127.0.0.1/work",
        f"postgresql://ann:{PASSWORD}@a@b/work",
        f"host=127.0.0.1 port=1 password={PASSWORD}",
    )
    told = [_failure(url) for url in urls]
    assert all(told)
    assert [text for text in (*told, caplog.text) if MARK in text] == []


def _failure(url: str) -> str:
    try:
        with Engine(url, patience=0) as engine, asked(engine) as ask:
            return ask("GET", "/v1/lists").text
    except RowlockError as error:
        return f"{error} {error.hint} {error.fields} {error!r} {error.__cause__!r} {error.__context__!r}"


@pytest.mark.parametrize("words", [("config", "show"), ("doctor",), ("ls",), ("ls", "nowhere"), ("token", "ls")])
def test_a_command_does_not_show_the_password_of_its_database(tmp_path: Path, words: tuple[str, ...]) -> None:
    shell = QuickShell(tmp_path, ROWLOCK_DATABASE=f"postgresql://ann:{PASSWORD}@127.0.0.1:1/work")
    ran = shell(*words, ROWLOCK_PATIENCE="0")
    assert ran.out + ran.error
    assert MARK not in ran.out + ran.error


def test_the_secrets_of_a_processor_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("ROWLOCK_SECRET_API", PASSWORD)
    monkeypatch.setenv("ROWLOCK_SECRET_HOOK", SIGNING)
    headers = {"Authorization": "Bearer ${ROWLOCK_SECRET_API}"}
    with receiver(said({"error": "boom"}, "500 Internal Server Error")) as server, Engine(tmp_path / "w.db") as engine:
        processor = {"url": server.url, "headers": headers, "secret_env": "ROWLOCK_SECRET_HOOK"}
        engine["work"].settings(processor=processor, attempts=1)
        engine["work"].add("a")
        worker = Worker(engine)
        worker.process(allow=["localhost"])
        work_off(worker)
        watched = [repr(engine["work"].info()), repr(engine["work"].failures("a")), repr(worker), caplog.text]
        with asked(engine) as ask:
            watched += [ask("GET", path).text for path in ("/lists/work", "/lists/work/failures", "/v1/lists/work")]
    assert server.heard[0].headers["authorization"] == f"Bearer {PASSWORD}"
    assert [text for text in watched if MARK in text or SIGNING[6:] in text] == []


def test_stored_tokens_are_digests(tmp_path: Path) -> None:
    with Engine(tmp_path / "w.db") as engine:
        text = engine.tokens.create("admin", label="ann").text
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("w.db*"))
    assert b"ann" in stored
    assert text.encode() not in stored
    assert text[3:33].encode() not in stored


def test_a_database_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    with Engine(tmp_path / "w.db") as engine:
        engine["work"].add("a")
        assert {oct(path.stat().st_mode & 0o777) for path in tmp_path.glob("w.db*")} == {"0o600"}
