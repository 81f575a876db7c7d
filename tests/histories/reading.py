"""Recorded histories as calls and deeds: what was asked of an engine, when, and how it was answered."""

import json
import re
from collections.abc import Iterable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import msgspec

Event = dict[str, Any]

_RANGE = re.compile(r"range\((\d+), (\d+)\)")


def read(path: Path) -> list[Event]:
    """The events of a file; what was cut off by a kill is left out."""
    lines = path.read_text().splitlines(keepends=True)
    return [_event(line) for line in lines if line.endswith("\n")]


def _event(line: str) -> Event:
    # A kill may tear a line at the end of a page, and the next writer's follows at once.
    try:
        return json.loads(line)  # type: ignore[no-any-return]
    except json.JSONDecodeError:
        return json.loads(line[line.rindex('{"at":') :])  # type: ignore[no-any-return]


class Span(msgspec.Struct, frozen=True):
    """When a call began and ended: places in the history, and seconds. Its effect lies in between, if it has one."""

    phase: str
    began: int
    ended: float
    began_at: float
    ended_at: float

    @property
    def landed(self) -> bool:
        """Whether it is certain that it took effect."""
        return self.phase == "ok"

    @property
    def may_have_landed(self) -> bool:
        """Whether it took effect, or may have."""
        return self.phase != "no"

    def before(self, other: "Span") -> bool:
        """Return whether it had ended when the other one began."""
        return self.ended < other.began

    def overlaps_or_precedes(self, other: "Span") -> bool:
        """Return whether its effect may have come before the other's."""
        return self.began < other.ended


class Deed(msgspec.Struct, frozen=True):
    """One verb of a call: a pipeline and a transaction have several, which take effect together."""

    verb: str
    args: list[Any]
    options: dict[str, Any]
    answer: Any
    span: Span
    session: str = ""
    """The session of the other verbs in its pipeline."""
    code: str = ""
    """The code of the error that it ended with."""


def deeds(events: Iterable[Event]) -> list[Deed]:
    """All verbs of a history in the order in which they were asked for."""
    return [deed for asked, end, span in _calls(events) for deed in _works(asked, end, span)]


def _calls(events: Iterable[Event]) -> Iterator[tuple[Event, Event, Span]]:
    open_calls: dict[tuple[Any, ...], tuple[int, Event]] = {}
    found: list[tuple[Event, Event, Span]] = []
    for place, event in enumerate(events):
        who = event["process"], event["call"] if "call" in event else event["thread"]
        if event["phase"] == "invoke":
            if who in open_calls:
                found.append(_unknown(*open_calls[who]))
            open_calls[who] = place, event
        elif who in open_calls:
            began, asked = open_calls.pop(who)
            times = asked.get("at", began), event.get("at", place)
            found.append((asked, event, Span(event["phase"], began, place, *times)))
    # A process that was killed between question and answer may have done it or not.
    found += [_unknown(began, asked) for began, asked in open_calls.values()]
    return iter(sorted(found, key=lambda each: each[2].began))


def _unknown(began: int, asked: Event) -> tuple[Event, Event, Span]:
    return asked, {}, Span("unknown", began, inf, asked.get("at", began), inf)


def _works(asked: Event, end: Event, span: Span) -> Iterator[Deed]:
    given, answer = asked["arguments"], end.get("answer")
    match asked["operation"]:
        case "pipeline":
            works = given["works"]
            answers = answer if span.landed else [None] * len(works)
            sessions = [work["args"][0] for work in works if work["verb"].startswith("settlements.")]
            for work, each in zip(works, answers, strict=True):
                yield Deed(work["verb"], work["args"], work["kwargs"], each, span, "".join(sessions[:1]))
        case "transaction":
            for work in given["works"]:
                yield Deed(work["verb"], work["args"], work["kwargs"], work["answer"] if span.landed else None, span)
        case operation:
            options = {name: value for name, value in given.items() if name != "args"}
            yield Deed(operation, given.get("args", []), options, answer, span, code=end.get("code", ""))


def numbers(answer: Any) -> range:
    """The numbers that a counter gave: written as text, since JSON has no ranges."""
    found = _RANGE.fullmatch(str(answer))
    return range(int(found[1]), int(found[2])) if found else range(0)


def keys_added(deed: Deed) -> list[tuple[str, int | None]]:
    """The keys of an add, with the gate of each if it was named; none if the history does not say."""
    found: list[tuple[str, int | None]] = []
    for batch in deed.args[1] if len(deed.args) > 1 and isinstance(deed.args[1], list | tuple) else []:
        rows = json.loads(batch["json"])
        same = batch.get("same")
        found += [(row, same["gate"]) if same is not None else (row["key"], row["gate"]) for row in rows]
    return found


def delays_added(deed: Deed) -> list[tuple[str, float]]:
    """The keys of an add that wait, with the seconds of each."""
    found: list[tuple[str, float]] = []
    for batch in deed.args[1] if len(deed.args) > 1 and isinstance(deed.args[1], list | tuple) else []:
        delay = (batch.get("same") or {}).get("delay", 0)
        found += [(key, delay / 1_000) for key in json.loads(batch["json"])] if delay else []
    return found
