"""Hooks of a worker: functions of the user's that it calls on events, and whose errors it only logs."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from rowlock.model import Item
from rowlock.outcomes import Outcome, Verdict
from rowlock.worker.error_reports import ErrorHook

log = logging.getLogger("rowlock.worker")


AfterItem = Callable[[Item, Outcome, Verdict], None]


class ItemHooks(msgspec.Struct, frozen=True):
    """Functions that are called for each item; a field that is None costs nothing."""

    before: Callable[[Item], None] | None = None
    after: AfterItem | None = None
    on_error: ErrorHook | None = None


NO_HOOKS = ItemHooks()


class Hooks:
    """The registered hooks of a worker, by event."""

    def __init__(self) -> None:
        self._functions: dict[str, list[Callable[..., None]]] = {}

    def add(self, event: str, function: Callable[..., None]) -> None:
        """Call this function too when the event happens."""
        self._functions.setdefault(event, []).append(function)

    def remove(self, event: str, function: Callable[..., None]) -> None:
        """Call this function no longer when the event happens."""
        self._functions[event].remove(function)

    def call(self, event: str, *arguments: Any) -> None:
        """Call the functions of an event; an error of one does not keep the others from being called."""
        for function in self._functions.get(event, ()):
            try:
                function(*arguments)
            except Exception:
                log.exception("a hook raised")

    def of_items(self) -> ItemHooks:
        """Return what is called for each item."""
        return ItemHooks(
            before=partial(self.call, "before") if self._functions.get("before") else None,
            after=self._after if self._functions.get("after") or self._functions.get("failed") else None,
            on_error=partial(self.call, "error") if self._functions.get("error") else None,
        )

    def _after(self, item: Item, outcome: Outcome, verdict: Verdict) -> None:
        self.call("after", item, outcome, verdict)
        if verdict is Verdict.FAILED:
            self.call("failed", item, outcome, verdict)
