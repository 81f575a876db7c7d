"""Error reports: what a handler raised is logged with its item and passed to hooks, and becomes the outcome."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Any

from rowlock.model import Item
from rowlock.names import short_repr, visible
from rowlock.outcomes import Fail, Outcome, Retry, from_exception

log = logging.getLogger("rowlock.worker")

MAX_LOGGED_CHARACTERS = 500
_MODULES_OF_WORKERS = ("rowlock.", "concurrent.futures")
"""Modules whose frames say nothing about where a handler failed."""

ErrorHook = Callable[[BaseException, Sequence[Item]], None]
"""Called with what a handler raised, and the item or the items of the batch."""


def report(
    error: BaseException,
    items: Sequence[Item],
    *,
    allowed: int,
    hook: ErrorHook | None = None,
    outcome: Retry | Fail | None = None,
) -> Outcome:
    """Log what a handler raised, call the hook, and return the outcome: a retry, if none is given.

    Called where the exception is handled, so that `sys.exc_info()` in a hook has it.
    """
    outcome = from_exception(error) if outcome is None else outcome
    item, more = items[0], f" and {len(items) - 1} more" if len(items) > 1 else ""
    fields = _fields(item, outcome)
    last = f", attempt {item.attempts + 1}" + (f" of {allowed}" if allowed else "")
    how = " for good" if isinstance(outcome, Fail) else last
    told = {**fields, "key": short_repr(item.key), "more": more, "how": how, "place": _place(error)}
    # The traceback itself, which nobody has bounded, is for those who debug.
    raised = error if log.isEnabledFor(logging.DEBUG) else None
    log.warning("%(list)s %(key)s%(more)s failed%(how)s: %(error)s%(place)s", told, extra=fields, exc_info=raised)
    if hook is not None:
        hook(error, items)
    return outcome


def _place(error: BaseException) -> str:
    """Return the innermost frame outside of rowlock, ` (app.py:6 in f)`; empty if all frames are of rowlock."""
    frames = [(frame, line) for frame, line in walk_tb(error.__traceback__) if not _is_ours(frame)]
    if not frames:
        return ""
    frame, line = frames[-1]
    return visible(f" ({Path(frame.f_code.co_filename).name}:{line} in {frame.f_code.co_name})")


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_MODULES_OF_WORKERS)


def _fields(item: Item, outcome: Retry | Fail) -> dict[str, Any]:
    """Return the fields of a log record, with control characters escaped in what the handler said."""
    text = outcome.kind if outcome.error in ("", outcome.kind) else f"{outcome.kind}: {outcome.error}"
    if len(text) > MAX_LOGGED_CHARACTERS:
        text = f"{text[: MAX_LOGGED_CHARACTERS - 1]}…"
    fields = {"list": item.list, "key": item.key, "attempt": item.attempts + 1, "error": visible(text)}
    if outcome.traceback is not None:
        fields["traceback"] = "\n".join(map(visible, outcome.traceback.split("\n")))
    return fields
