"""Walks: which of our own functions one request or one item runs through, found by tracing all threads."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import msgspec
from tests.house.places import SOURCE
from tests.http.serving import read, serving
from tests.waiting import WAIT_SECONDS

from rowlock import Engine, Worker, tracing
from rowlock.cli import main as main_of_cli
from rowlock.environment import Environment

_IN_THE_BACKGROUND = ("rowlock heart", "rowlock hints", "rowlock upkeep", "rowlock ticks", "rowlock http")
"""Threads that work at times of their own, beside every request."""
ITEMS_OF_A_WALK = 6
_COMPREHENSIONS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


class Walk:
    """The functions of the package that ran while it was recorded, each once."""

    def __init__(self) -> None:
        self._codes: dict[CodeType, None] = {}
        self._recording = False

    @contextmanager
    def of_all_threads(self) -> Iterator[None]:
        """Trace this thread and all that are started in the block, in which OpenTelemetry counts as not imported."""
        api = sys.modules.pop(tracing.API, None)  # another test may have imported it, and spans are functions too
        threading.setprofile(self._trace)
        sys.setprofile(self._trace)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            if api is not None:
                sys.modules[tracing.API] = api

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record what runs in the block."""
        self._recording = True
        try:
            yield
        finally:
            self._recording = False

    def _trace(self, frame: FrameType, event: str, _: Any) -> None:
        if self._recording and event == "call" and not threading.current_thread().name.startswith(_IN_THE_BACKGROUND):
            self._codes[frame.f_code] = None

    @property
    def calls(self) -> list[str]:
        """The functions by file and name, in the order of their first calls; comprehensions are left out."""
        codes = (code for code in self._codes if code.co_name not in _COMPREHENSIONS)
        places = ((Path(code.co_filename), code.co_qualname) for code in codes)
        return [f"{path.relative_to(SOURCE)}:{name}" for path, name in places if path.is_relative_to(SOURCE)]

    @property
    def functions(self) -> list[str]:
        """The functions by file and name, sorted."""
        return sorted(self.calls)

    @property
    def files(self) -> list[str]:
        """The files in which they stand."""
        return sorted({place.rpartition(":")[0] for place in self.functions})


def post_of_one_item(directory: Path) -> Walk:
    """Walk through the POST of one item, from the socket to the commit and back.

    The connection is open and caches are warm: the first POST creates the list, the second reads the statement.
    """
    walk = Walk()
    with walk.of_all_threads(), Engine(str(directory / "post.db")) as engine, serving(engine) as served:
        connection = HTTPConnection(served.client.host, served.client.port, timeout=WAIT_SECONDS)
        _post(connection, "first")
        _post(connection, "second")
        with walk.recorded():
            _post(connection, "third")
        connection.close()
    return walk


def _post(connection: HTTPConnection, key: str) -> None:
    headers = {"accept": "application/json", "content-type": "application/json"}
    connection.request("POST", "/v1/lists/walk/items", msgspec.json.encode({"items": [key]}), headers)
    assert read(connection).json["added"] == 1


def one_item_of_a_worker(directory: Path) -> Walk:
    """Walk through a worker's claim, run and settlement of one item among others, when caches are warm."""
    walk = Walk()
    clock = WalkingClock()
    environment = Environment(monotonic=lambda: clock.now)
    with walk.of_all_threads(), Engine(str(directory / "work.db"), environment=environment) as engine:
        engine["walk"].add(str(number) for number in range(ITEMS_OF_A_WALK))
        worker = Worker(engine, concurrency=1)
        worker.on("walk", _recording(walk.recorded(), clock))
        worker.run(until="idle")
    return walk


def command(*arguments: str) -> Walk:
    """Walk through a command of the command line, in this process."""
    walk = Walk()
    given = patch.object(sys, "argv", ["rowlock", *arguments])
    with walk.of_all_threads(), walk.recorded(), given, suppress(SystemExit):
        main_of_cli()
    return walk


class WalkingClock:
    """A clock that moves with each item: no claim takes more than one, and the worker polls for other work rarely."""

    def __init__(self) -> None:
        self.now = 0.0

    def advance(self) -> None:
        """Move by the time that an item takes."""
        self.now += 0.12


def _recording(record: AbstractContextManager[None], clock: WalkingClock) -> Callable[[Any], None]:
    """Make a handler that records from its fourth item to its fifth: caches are warm, and no poll is due."""

    def handle(item: Any) -> None:
        clock.advance()
        if item.key == "3":
            record.__enter__()
        elif item.key == "4":
            record.__exit__(None, None, None)

    return handle


def main() -> None:
    """Print the walks."""
    import tempfile

    for walk in (post_of_one_item, one_item_of_a_worker):
        with tempfile.TemporaryDirectory() as directory:
            found = walk(Path(directory))
        shown = found.functions if "--all" in sys.argv else []
        figures = f"{walk.__name__}\t{len(found.functions)} functions\t{len(found.files)} files"
        sys.stdout.writelines(f"{line}\n" for line in (figures, *shown))


if __name__ == "__main__":
    main()
