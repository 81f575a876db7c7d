"""The first five minutes: a real shell on a pseudo-terminal, and all that a new user sees there, compared.

`five_minutes.txt` has the two terminals as they look after each command. What differs from run to run is masked, and
nothing else: see `masked`. After a wanted change write it again, and read the difference:

    REWRITE_TRANSCRIPT=1 pytest tests/faces/test_five_minutes.py
"""

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import socket

import pexpect
from tests.faces.shell import Shell
from tests.receivers import Heard, Receiver, receiver, said
from tests.waiting import WAIT_SECONDS, until
from tools.recording import PROMPT, Screen

TRANSCRIPT = Path(__file__).with_name("five_minutes.txt")
COLUMNS = 160
BEFORE_INTERRUPT, BEFORE_KILL, ALL = 500, 1_984, 2_000
"""Up to which page the site answers until Ctrl-C, until kill -9, and at last."""
JOBS = 16
MISSING, BUSY = (1990, 1995, 2000), (1986, 1993)
WORK = f"rowlock work pages -j {JOBS} --attempts 2 --backoff 100ms --expiry 2s -- curl -sSf -o got/{{name}} {{}}"
PROGRAM = """cat > fetch.py <<'END'
from urllib.request import urlopen

from rowlock import Engine, Worker

engine = Engine("rowlock.db")
worker = Worker(engine, concurrency=1)


@worker.on("news", attempts=1)
def fetch(item):
    with urlopen(item.key) as page:
        print(item.key, page.status)


worker.run(until="done")
print(engine["news"].counts())
END"""


class Site:
    """A site of 2,000 pages. Pages after `answered` wait; some are missing, and some are busy until it is healed."""

    def __init__(self) -> None:
        self.answered = BEFORE_INTERRUPT
        self.healed = False
        self.waiting = 0
        self._changed = threading.Condition()

    def answer(self, heard: Heard, _: socket) -> bytes:
        """Answer a request for a page, as soon as the test allows it."""
        number = int(heard.path.rpartition("/")[2].removesuffix(".html"))
        with self._changed:
            self.waiting += 1
            self._changed.wait_for(lambda: number <= self.answered, WAIT_SECONDS)
            self.waiting -= 1
        if number in MISSING:
            return said(b"", "404 Not Found", connection="close")
        if number in BUSY and not self.healed:
            return said(b"", "503 Service Unavailable", connection="close")
        return said(b"a page\n", connection="close")

    def answer_up_to(self, number: int) -> None:
        """Answer pages up to a number, also those that wait."""
        with self._changed:
            self.answered = number
            self._changed.notify_all()


class Terminal:
    """A shell of a user, and what stands on its screen."""

    def __init__(self, shell: Shell) -> None:
        self._screen = Screen()
        self._shell: pexpect.spawn[str] = pexpect.spawn(
            "bash",
            ["--norc", "--noprofile", "--noediting", "-i"],
            cwd=shell.folder,
            env=shell.environment,
            encoding="utf-8",
            timeout=WAIT_SECONDS,
            dimensions=(50, COLUMNS),
        )
        self._shell.delaybeforesend = None
        self.wait_for_prompt()

    @property
    def lines(self) -> list[str]:
        """All lines so far."""
        return [line.rstrip() for line in self._screen.lines]

    def run(self, command: str) -> None:
        """Type a command, and wait until it has ended."""
        self.start(command)
        self.wait_for_prompt()

    def start(self, command: str) -> None:
        """Type a command, line by line."""
        for at, line in enumerate(command.splitlines()):
            if at:
                self.wait(lambda: self._screen.lines[-1] == "> ")
            echoed = len(self._screen.lines) + 1
            self._shell.sendline(line)
            self.wait(lambda echoed=echoed: len(self._screen.lines) >= echoed)

    def wait_for_prompt(self) -> None:
        """Wait until the shell asks for a command."""
        self.wait(lambda: self._screen.lines[-1] == PROMPT)

    def wait_for(self, text: str) -> None:
        """Wait until a text stands in the last line, or in the line before it."""
        self.wait(lambda: any(text in line for line in self._screen.lines[-2:]))

    def wait(self, condition: Callable[[], bool]) -> None:
        """Read what the terminal is sent, until a condition holds for its lines."""

        def read() -> bool:
            try:
                self._screen.feed(self._shell.read_nonblocking(65536, timeout=0))
            except pexpect.TIMEOUT:
                return condition()
            return False

        try:
            until(read)
        except (AssertionError, pexpect.EOF) as error:
            raise AssertionError("\n".join(["the terminal shows:", *self.lines])) from error

    def interrupt(self) -> None:
        """Press Ctrl-C. A status line, which the program takes away, is kept for the transcript."""
        if self._screen.lines[-1]:
            self._screen.lines.insert(-1, f"{self._screen.lines[-1]}^C")
        self._shell.sendintr()

    def kill(self) -> None:
        """End the command that runs with SIGKILL."""
        os.kill(os.tcgetpgrp(self._shell.child_fd), signal.SIGKILL)
        self.wait_for_prompt()

    def close(self) -> None:
        """Close the terminal; what runs in it is hung up."""
        self._shell.close(force=True)


class Story:
    """The transcript: what was shown, terminal by terminal."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._terminals: dict[str, tuple[Terminal, int]] = {}
        self._told: list[str] = []

    def at(self, name: str) -> Terminal:
        """Go to a terminal, which is opened the first time."""
        if next(reversed(self._terminals), None) != name:
            self._tell()
        terminal, told = self._terminals.pop(name, None) or (Terminal(self._shell), 0)
        self._terminals[name] = terminal, told
        return terminal

    def _tell(self) -> None:
        if self._terminals:
            name, (terminal, told) = self._terminals.popitem()
            lines = terminal.lines[:-1]  # without the prompt, which a later command stands behind
            self._told += [f"== {name}", *lines[told:]]
            self._terminals[name] = terminal, len(lines)

    def text(self) -> str:
        """Return all of it."""
        self._tell()
        return "\n".join(self._told) + "\n"

    def close(self) -> None:
        """Close all terminals."""
        for terminal, _ in self._terminals.values():
            terminal.close()


@contextmanager
def opened(shell: Shell) -> Iterator[Story]:
    """A story in the folder of a shell."""
    programs = shell.folder.parent / "programs"
    programs.mkdir()
    (programs / "rowlock").write_text(f'#!/bin/sh\nexec {sys.executable} -m rowlock "$@"\n')
    (programs / "rowlock").chmod(0o755)
    shell.environment.update(
        PATH=f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}", PS1=PROMPT, HISTFILE="", LC_ALL="C.UTF-8"
    )
    story = Story(shell)
    try:
        yield story
    finally:
        story.close()


def masked(text: str, site: Receiver) -> str:
    """Return a transcript without ports, versions, durations and rates; lines of concurrent commands are sorted."""
    for pattern, mask in (
        (rf"127\.0\.0\.1:{site.port}\b", "127.0.0.1:18000"),
        (r"127\.0\.0\.1:(?!18000)\d+", "127.0.0.1:18642"),
        (r"^rowlock \d+\.\d\S*", "rowlock VERSION"),
        (r" in (\d+m )?[\d.]+ ?s$", " in N s"),
        (r"last seen \d+ s ago", "last seen N s ago"),
        (r"[\d,.]+/s(  eta [\dhms. ]+?)?(?=  )", "N/s"),
        (r"request\.py:\d+", "request.py:N"),
    ):
        text = re.sub(pattern, mask, text, flags=re.MULTILINE)
    return re.sub(r"(http://\S+: curl: .*\n)+", _sorted_lines, text)


def _sorted_lines(found: re.Match[str]) -> str:
    return "".join(sorted(found[0].splitlines(keepends=True)))


def work_through(first: Terminal, site: Site, port: int) -> None:
    """Work the pages, stopped by Ctrl-C and by kill -9."""
    first.run("rowlock --version")
    first.run(f"seq -f 'http://127.0.0.1:{port}/%g.html' 2000 | rowlock add pages")
    first.run("mkdir got")
    first.start(WORK)
    until(lambda: site.waiting == JOBS)
    first.wait_for("500 done, 1,500 left")
    first.interrupt()
    first.wait_for("stopping: 16 running")
    site.answer_up_to(BEFORE_INTERRUPT + JOBS)
    first.wait_for_prompt()
    site.answer_up_to(BEFORE_KILL)
    first.start(WORK)
    until(lambda: site.waiting == JOBS)
    first.wait_for("1,468 done, 16 left")
    first.kill()
    site.answer_up_to(ALL)
    first.run(WORK)
    first.run("ls got | wc -l")


def look_and_retry(first: Terminal, site: Site) -> None:
    """Look at what is left, and retry what can be done now."""
    first.run("rowlock status")
    first.run("rowlock ls pages")
    first.run("rowlock failures pages")
    site.healed = True
    first.run("rowlock retry pages --error 503")
    first.run(WORK)


def serve_and_ask(story: Story, port: int) -> None:
    """Start the service, ask it with curl, and work in Python what it was given."""
    second = story.at("terminal 2")
    second.start("rowlock up --port 0")
    second.wait_for("Ctrl-C stops")
    address = re.findall(r"http://127\.0\.0\.1:\d+", "\n".join(second.lines))[-1]
    first = story.at("terminal 1")
    first.run(f"curl {address}/v1/lists/pages")
    first.run(f"curl {address}/v1/lists/pages/items")
    first.run(f"seq -f 'http://127.0.0.1:{port}/%g.html' 1999 2000 > two.txt")
    first.run(f"curl --data-binary @two.txt {address}/v1/lists/news/items")
    first.run(PROGRAM)
    first.run("python fetch.py")
    first.run("rowlock failures news")
    story.at("terminal 2").interrupt()
    second.wait_for_prompt()


def test_the_first_five_minutes_look_as_written(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home")
    shell.folder.mkdir()
    site = Site()
    with receiver(site.answer) as server, opened(shell) as story:
        work_through(story.at("terminal 1"), site, server.port)
        look_and_retry(story.at("terminal 1"), site)
        serve_and_ask(story, server.port)
        shown = masked(story.text(), server)
    if os.environ.get("REWRITE_TRANSCRIPT"):
        TRANSCRIPT.write_text(shown)
    assert shown == TRANSCRIPT.read_text()
