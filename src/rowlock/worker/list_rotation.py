"""The rotation of lists: which lists may have work for a worker's handlers, served in turn."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from rowlock.engine import Session
from rowlock.engine.settings_cache import SettingsCache
from rowlock.model import Settings
from rowlock.worker.backend import Backend
from rowlock.worker.handlers import Handler
from rowlock.worker.lease_holder import LeaseHooks

MIN_PAUSE_SECONDS = 0.02


class ListRotation:
    """Turns over the lists that are awake. Sleeping lists cost nothing, however many there are."""

    def __init__(self, backend: Backend, session: Session, handlers: Sequence[Handler], *, hooks: LeaseHooks) -> None:
        self._environment = backend.engine.environment
        self._handlers = handlers
        self._settings = SettingsCache(backend.engine, self._environment)
        self._poller = backend.poller(session, fits=lambda name: self.handler_of(name) is not None, hooks=hooks)
        self.leases = self._poller.leases
        self.turns: deque[tuple[str, Handler]] = deque()
        self.awaited: dict[str, int] = {}
        """Lists that can go on when fewer of their items than this are unsettled here."""
        self._pause = MIN_PAUSE_SECONDS
        self._poll_at = 0.0
        self._poll_anyway_at = 0.0

    def handler_of(self, name: str) -> Handler | None:
        """Return the first handler that works the list."""
        return next((each for each in self._handlers if each.is_for(name, lambda: self.settings(name))), None)

    def settings(self, name: str) -> Settings:
        """Return the list's settings, read again every few seconds."""
        return self._settings[name]

    def next(self, room: Callable[[str, Handler], int]) -> tuple[str, Handler, int] | None:
        """Return whose turn it is and how many items it may have; the list stays in turn until it is dropped.

        A list for whose handler there is no room keeps its place: else the same list might be passed over for ever.
        """
        if self._environment.monotonic() >= (self._poll_anyway_at if self.turns else self._poll_at):
            self._poll()
        for turn in self.turns:
            free = room(*turn)
            if free > 0:
                self.turns.remove(turn)
                self.turns.append(turn)
                return *turn, free
        return None

    def drop(self, name: str, *, awaited: int = 0) -> None:
        """Take a list out of turn in which nothing was ready, until it wakes again.

        Where a later gate or a limit waits for items that are unsettled here, until there are fewer than `awaited`.
        """
        self.turns = deque(turn for turn in self.turns if turn[0] != name)
        self.leases.doubt(name)
        if awaited:
            self.awaited[name] = awaited

    def resume_awaited(self, unsettled: Mapping[str, int]) -> None:
        """Put lists back in turn that waited for fewer items to be unsettled here."""
        for name in [name for name, fewer in self.awaited.items() if unsettled.get(name, 0) < fewer]:
            del self.awaited[name]
            self.offer(name)

    def offer(self, name: str) -> None:
        """Put a list in turn that may have work although no poll has shown it."""
        handler = self.handler_of(name)
        if handler is not None and all(turn[0] != name for turn in self.turns):
            self.turns.append((name, handler))

    def poll_soon(self) -> None:
        """Poll at the next opportunity: somebody may have added work."""
        self._pause, self._poll_at = MIN_PAUSE_SECONDS, 0.0

    def seconds_to_poll(self) -> float:
        """Return the seconds until the next poll is due."""
        return max(0.0, self._poll_at - self._environment.monotonic())

    def _poll(self) -> None:
        result = self._poller.poll()
        self._poll_anyway_at = self._environment.monotonic() + self._poller.busy_pause
        self._settings.put(result.settings)
        served = {name for name, _ in self.turns}
        if any(handler.accepts for handler in self._handlers):
            # Of a whole page at once: lists that no handler here works must not cost a query each.
            self._settings.load(result.names)
        for name in (*result.names, *result.held):
            handler = self.handler_of(name)
            if handler is not None and name not in served:
                self.turns.append((name, handler))
        if self.turns or result.more:
            self._pause = MIN_PAUSE_SECONDS
        else:
            self._poll_later()

    def _poll_later(self) -> None:
        wakes = self._poller.next_wake()
        pause = self._pause if wakes is None else min(self._pause, max(wakes, 0.001))
        self._poll_at = self._environment.monotonic() + self._environment.jittered(pause)
        self._pause = min(self._pause * 2, self._poller.max_pause)
