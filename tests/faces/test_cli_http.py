"""`rowlock work` by HTTP: to the address that is given, or to the processor of the list's settings."""

import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faces.shell import QuickShell, Shell, says
from tests.faces.waiting import started, until
from tests.receivers import Heard, Receiver, free_port, receiver, said
from tests.waiting import WAIT_SECONDS

from rowlock import verify

ALLOW = ("--allow-host", "localhost")
QUICK = ("--backoff", "1ms", "--attempts", "2")
SECRET = "whsec_" + "A" * 43 + "="


def judge(heard: Heard, _: socket.socket) -> bytes:
    """Done, but for keys that say otherwise."""
    match heard.headers["rowlock-key"]:
        case "bad":
            return said({"error": {"message": "m"}}, "500 Internal Server Error")
        case "hopeless":
            return said({"error": {"message": "never", "no_retry": True}})
    return said({"done": True})


@pytest.fixture
def server() -> Iterator[Receiver]:
    """A processor that judges by keys."""
    with receiver(judge) as made:
        yield made


def test_each_item_is_sent(any_shell: Shell, server: Receiver) -> None:
    any_shell("add", "names", given="".join(f"{number}\n" for number in range(50)))
    ran = any_shell("work", "names", "--http", server.url, *ALLOW, "-j", "4")
    assert (ran.status, ran.out) == (0, "")
    assert ran.error.startswith("done 50 · failed 0 · retried 0 in ")
    assert {heard.headers["rowlock-key"] for heard in server.heard} == {str(number) for number in range(50)}
    assert server.connections <= 4


def test_what_failed_says_why(quick: QuickShell, server: Receiver) -> None:
    quick("add", "names", "good", "bad", "hopeless")
    ran = quick("work", "names", "--http", server.url, *ALLOW, *QUICK)
    assert ran.status == 1
    assert sorted(quick("failures", "names").lines) == [
        "names\t1\terror\tStatus 200 OK; message: never\thopeless",
        "names\t1\terror\tStatus 500 Internal Server Error; message: m\tbad",
    ]


def test_a_request_is_signed_and_has_headers(quick: QuickShell, server: Receiver) -> None:
    quick("add", "names", "a", "--data", '{"size": 3}')
    options = ("--secret-env", "HOOK", "--header", "x-team: blue", "--header", "x-key: ${ROWLOCK_SECRET_API}")
    ran = quick("work", "names", "--http", server.url, *ALLOW, *options, HOOK=SECRET, ROWLOCK_SECRET_API="hunter2")
    assert ran.status == 0
    [heard] = server.heard
    assert (heard.headers["x-team"], heard.headers["x-key"]) == ("blue", "hunter2")
    assert verify(heard.body, heard.headers, secrets=SECRET)


def test_the_lists_own_processor_needs_no_words(quick: QuickShell, server: Receiver) -> None:
    quick("add", "names", "a", "b")
    quick("settings", "names", f"processor={server.url}")
    assert quick("work", "names", ROWLOCK_ALLOW_HOSTS="localhost").status == 0
    assert len(server.heard) == 2


def test_private_hosts_are_allowed_in_a_file(quick: QuickShell, server: Receiver) -> None:
    quick("add", "names", "a")
    quick.write("rowlock.toml", 'allow_hosts = "elsewhere.example, localhost"\n')
    assert quick("work", "names", "--http", server.url).status == 0
    assert "allow_hosts\telsewhere.example, localhost\tfile rowlock.toml" in quick("config", "show").lines


def test_a_private_host_is_refused_before_anything_is_claimed(quick: QuickShell, server: Receiver) -> None:
    quick("add", "names", "a")
    quick("settings", "names", f"processor={server.url}")
    for words in (("--http", server.url), (), ("--http", f"http://127.0.0.1:{server.port}/", *ALLOW)):
        ran = quick("work", "names", *words)
        assert (ran.status, "resolves to a private address (127.0.0.1)" in ran.error) == (4, True)
    assert (server.connections, quick("ls", "names").lines) == (0, ["a\t0\tready"])


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--http", "ftp://x"), "must begin with http:// or https://"),
        (("--http", "https://ann:hunter2@x/"), "must not hold a user or a password"),
        (("--http", "https://x/", "--", "echo"), "a command cannot be combined with --http"),
        (("--http", "https://x/", "--batch", "3"), "--batch needs a command"),
        (("--http", "https://x/", "--shell"), "--shell needs a command"),
        (("--http", "https://x/", "--later", "30s"), "--later needs a command"),
        (("--http", "https://x/", "--header", "nothing"), "a header must be NAME: VALUE"),
        (("--http", "https://x/", "--header", "host: y"), "is set by rowlock"),
        (("--http", "https://x/", "--header", "a: b\nc: d"), "invalid name or value of the header"),
        (("--http", "https://x/", "--timeout", "soon"), "a duration must be a number with a unit, got 'soon'"),
        (("--http", "https://x/", "--secret-env", "NOPE"), "NOPE is not set"),
        (("--http", "https://x/", "--allow-host", "http://x"), "invalid host to allow"),
        (("--secret-env", "X", "--", "echo"), "--secret-env needs --http"),
        (("--allow-host", "x", "--", "echo"), "--allow-host needs --http"),
        ((), "work needs a command, --http, or a processor in the settings of 'names'"),
    ],
)
def test_what_cannot_be_is_refused(quick: QuickShell, words: tuple[str, ...], wrong: str) -> None:
    quick("add", "names", "a")
    ran = quick("work", "names", *words)
    assert (ran.status, wrong in ran.error, "hunter2" in ran.error) == (2, True, False)
    assert quick("ls", "names").lines == ["a\t0\tready"]


def test_words_for_requests_need_an_address(quick: QuickShell) -> None:
    quick("settings", "names", "processor=https://x.example/")
    for words in (("--header", "a: b"), ("--timeout", "3s"), ("--secret-env", "X")):
        assert "needs --http" in quick("work", "names", *words).error


def test_a_processor_is_set_and_shown_without_secrets(quick: QuickShell) -> None:
    written = '{"url": "https://x.example/", "headers": {"authorization": "Bearer ${ROWLOCK_SECRET_X}"}}'
    shown = quick("settings", "names", f"processor={written}").lines
    assert f"processor\t{written.replace(': ', ':').replace(', ', ',')}\tlist" in shown
    assert quick("settings", "names", "--json").document["processor"]["url"] == "https://x.example/"
    assert "processor\t\tdefault" in quick("settings", "names", "processor=").lines


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("nonsense", "must begin with http:// or https://"),
        ("{}", "missing field 'url'"),
        ('{"url"', "invalid processor"),
        ('{"url": "https://x/", "what": 1}', "unknown field 'what'"),
        ('{"url": "https://x/", "headers": {"x-token": "hunter2"}}', "could be seen by everybody"),
        ('{"url": "https://x/", "secret_env": "HOME"}', "cannot come from the variable 'HOME'"),
    ],
)
def test_a_processor_that_cannot_be_is_refused(quick: QuickShell, value: str, wrong: str) -> None:
    ran = quick("settings", "names", f"processor={value}")
    assert (ran.status, wrong in ran.error, "hunter2" in ran.error) == (2, True, False)


def test_a_signal_lets_requests_finish(shell: Shell, quick: QuickShell) -> None:
    go_on = threading.Event()

    def patient(*_: object) -> bytes:
        go_on.wait(WAIT_SECONDS)
        return said({"done": True})

    quick("add", "names", "a", "b", "c")
    with (
        receiver(patient) as server,
        started(shell, "work", "names", "-j", "1", "--http", server.url, *ALLOW) as working,
    ):
        until(lambda: server.heard)
        working.send_signal(signal.SIGINT)
        assert says(working, "stopping: 1 running finish or go back")
        go_on.set()
        assert working.wait(WAIT_SECONDS) == 130
    assert len(quick("ls", "names").lines) == 2


def test_the_doctor_asks_the_processors(quick: QuickShell, tmp_path: Path) -> None:
    quick("add", "names", "a")
    with receiver(said({}, "503 Service Unavailable")) as ill, receiver(said({})) as well:
        quick("settings", "names", f'processor={{"url": "{ill.url}", "health": "/ill"}}')
        ran = quick("doctor", "--health", well.url, *ALLOW)
        assert ran.status == 1
        assert f"processor of {well.url}\tfine\tit is healthy\t" in ran.lines
        told = f"http://localhost:{ill.port}/ill says 503 Service Unavailable"
        assert f"processor of names\trisk\t{told}\tmake sure that it runs; its items fail meanwhile" in ran.lines
        quick("settings", "names", f'processor={{"url": "{well.url}", "health": "/"}}')
        assert quick("doctor", *ALLOW).status == 0


def test_the_doctor_reports_a_processor_without_a_health_address(quick: QuickShell) -> None:
    quick("add", "names", "a")
    quick("settings", "names", 'processor={"url": "http://127.0.0.1:1/"}')
    [line] = [line for line in quick("doctor", *ALLOW).lines if line.startswith("processor of names")]
    assert line.split("\t")[1:3] == ["information", "it was not asked: it has no health address"]


def test_the_doctor_asks_a_processor_while_the_database_is_away(quick: QuickShell) -> None:
    database = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    with receiver(said({}, "500 No")) as ill:
        ran = quick("-d", database, "doctor", "--health", ill.url, *ALLOW)
    assert ran.status == 5
    assert [line.split("\t")[1] for line in ran.lines] == ["unreachable", "risk"]
