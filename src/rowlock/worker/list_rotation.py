"""The supply: which lists may have work for our handlers, served in turn."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

import msgspec

from rowlock import lists
from rowlock.engine import Session
from rowlock.model import Settings
from rowlock.worker.backend import Backend
from rowlock.worker.handlers import Handler
from rowlock.worker.lease_holder import LeaseHooks

SETTINGS_KEPT = 5.0
MANY_SETTINGS = 1_000
NONE = Settings()
"""Those of a list that is just being dropped."""
SHORTEST_PAUSE = 0.02


class CachedSettings(msgspec.Struct, frozen=True):
    """A list's settings as they were read a moment ago."""

    settings: Settings
    read_at: float


class ListRotation:
    """Turns over the lists that are awake; sleeping ones cost nothing, however many there are."""

    def __init__(self, backend: Backend, session: Session, handlers: Sequence[Handler], *, hooks: LeaseHooks) -> None:
        self._source = backend.source
        self._handlers = handlers
        self._poller = backend.poller(session, fits=lambda name: self.handler_of(name) is not None, hooks=hooks)
        self.leases = self._poller.leases
        self.turns: deque[tuple[str, Handler]] = deque()
        self.awaited: dict[str, int] = {}
        """Lists that can go on when we have fewer of their items in hand than so many."""
        self._settings: dict[str, CachedSettings] = {}
        self._pause = SHORTEST_PAUSE
        self._look_at = 0.0
        self._look_anyway_at = 0.0

    def handler_of(self, name: str) -> Handler | None:
        """The first handler that works the list."""
        return next((each for each in self._handlers if each.is_for(name, lambda: self.settings(name))), None)

    def next(self, room: Callable[[str, Handler], int]) -> tuple[str, Handler, int] | None:
        """Whose turn it is and how many it may have; the list stays in turn until it is dropped.

        One for whose handler there is no room keeps its place: else the same one might be passed over for ever.
        """
        if self._source.environment.monotonic() >= (self._look_anyway_at if self.turns else self._look_at):
            self._look()
        for turn in self.turns:
            free = room(*turn)
            if free > 0:
                self.turns.remove(turn)
                self.turns.append(turn)
                return *turn, free
        return None

    def drop(self, name: str, *, awaited: int = 0) -> None:
        """Nothing was ready there: out of turn until it wakes again; or, where a later gate or a limit waits for what
        is in our hands, until there are fewer than so many."""
        self.turns = deque(turn for turn in self.turns if turn[0] != name)
        self.leases.doubt(name)
        if awaited:
            self.awaited[name] = awaited

    def look_again(self, in_hand: Mapping[str, int]) -> None:
        """Put back in turn what waited for us to have less of it in hand."""
        for name in [name for name, fewer in self.awaited.items() if in_hand.get(name, 0) < fewer]:
            del self.awaited[name]
            self.offer(name)

    def offer(self, name: str) -> None:
        """Put a list in turn that may have work although no look has shown it."""
        handler = self.handler_of(name)
        if handler is not None and all(turn[0] != name for turn in self.turns):
            self.turns.append((name, handler))

    def look_soon(self) -> None:
        """Somebody has added work: look at once."""
        self._pause, self._look_at = SHORTEST_PAUSE, 0.0

    def seconds_to_look(self) -> float:
        """How long there is nothing to do but wait."""
        return max(0.0, self._look_at - self._source.environment.monotonic())

    def _look(self) -> None:
        seen = self._poller.look()
        now = self._source.environment.monotonic()
        self._look_anyway_at = now + self._poller.busy_pause
        self._settings |= {name: CachedSettings(settings, now) for name, settings in seen.settings.items()}
        served = {name for name, _ in self.turns}
        if any(handler.accepts for handler in self._handlers):
            self._read_settings(seen.names)
        for name in (*seen.names, *seen.held):
            handler = self.handler_of(name)
            if handler is not None and name not in served:
                self.turns.append((name, handler))
        if self.turns or seen.more:
            self._pause = SHORTEST_PAUSE
        else:
            self._wait_longer()

    def _wait_longer(self) -> None:
        environment = self._source.environment
        wakes = self._poller.next_wake()
        pause = self._pause if wakes is None else min(self._pause, max(wakes, 0.001))
        self._look_at = environment.monotonic() + environment.jittered(pause)
        self._pause = min(self._pause * 2, self._poller.longest_pause)

    def settings(self, name: str) -> Settings:
        """The list's settings, read again every few seconds."""
        self._read_settings([name])
        return self._settings[name].settings

    def _read_settings(self, names: Sequence[str]) -> None:
        # Of a whole page at once: lists that are nobody's here must not cost a question each.
        now = self._source.environment.monotonic()
        wanted = [name for name in names if self._is_stale(name, now)]
        if len(self._settings) + len(wanted) > MANY_SETTINGS:
            self._settings.clear()
            wanted = list(names)
        if wanted:
            found = self._source.read(lists.settings_of, wanted)
            self._settings |= {name: CachedSettings(found.get(name, NONE), now) for name in wanted}

    def _is_stale(self, name: str, now: float) -> bool:
        known = self._settings.get(name)
        return known is None or now - known.read_at > SETTINGS_KEPT
