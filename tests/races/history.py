"""A checker of recorded histories: what was asked of an engine, and how it was answered, must fit the promises."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Event = dict[str, Any]
Settled = tuple[str, int]
"""A claim's token and a position that was settled under it."""

SETTLEMENT = "settlements.try_settle_done"
CLAIMS = ("claims.take", "claims.take_thoroughly")


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


def check(events: Iterable[Event], *, present: int) -> list[str]:
    """What in the history breaks a promise, one sentence each; `present` items are on the list at its end."""
    asked: dict[tuple[int, int], Event] = {}
    handed: dict[str, set[int]] = {}
    done: Counter[int] = Counter()
    answered: dict[Settled, str] = {}
    added, lost, wrong = 0, 0, []
    for event in events:
        who = event["process"], event["thread"]
        if event["phase"] == "invoke":
            lost += _positions(asked.get(who))
            asked[who] = event
            continue
        question = asked.pop(who)
        if event["phase"] != "ok":
            lost += _positions(question) if event["phase"] == "unknown" else 0
        elif event["operation"] == "items.add":
            added += event["answer"]["added"]
        for taken in _handed_out(event):
            wrong += _hand_out(taken, handed)
        for token, verdicts in _settled(question, event):
            wrong += _settle(token, verdicts, handed, answered, done)
    # Who was killed between question and answer may have settled or not.
    lost += sum(_positions(question) for question in asked.values())
    wrong += [f"position {position} was done {times} times" for position, times in done.items() if times > 1]
    if not len(done) <= added - present <= len(done) + lost:
        wrong.append(f"of {added} added items {len(done)} were done, {present} are there, {lost} may have been done")
    return wrong


def _positions(question: Event | None) -> int:
    match question:
        case {"operation": "settlements.settle", "arguments": {"args": [_, _, settling]}}:
            return len(settling)
        case {"operation": "pipeline", "arguments": {"works": works}}:
            return sum(len(work["args"][2]) for work in works if work["verb"] == SETTLEMENT)
    return 0


def _handed_out(event: Event) -> list[dict[str, Any]]:
    match event:
        case {"phase": "ok", "operation": "pipeline", "answer": answers}:
            return [answer for answer in answers if isinstance(answer, dict)]
        case {"phase": "ok", "operation": operation, "answer": dict(answer)} if operation in CLAIMS:
            return [answer]
        case {"phase": "ok", "operation": "claims.take_of_several", "answer": taken}:
            return [answer for answer in taken.values() if answer is not None]
    return []


def _settled(question: Event, event: Event) -> list[tuple[str, list[tuple[int, str]]]]:
    """What was settled under which tokens, with the verdicts on each position."""
    match event:
        case {"phase": "ok", "operation": "pipeline", "answer": answers}:
            done = zip(question["arguments"]["works"], answers, strict=True)
            return [(work["args"][1], _pairs(work["args"][2], each)) for work, each in done if isinstance(each, list)]
        case {"phase": "ok", "operation": "settlements.settle", "answer": verdicts}:
            _, token, settling = question["arguments"]["args"]
            return [(token, _pairs([position for position, _ in settling], verdicts))]
    return []


def _pairs(positions: list[int], verdicts: list[str]) -> list[tuple[int, str]]:
    return list(zip(positions, verdicts, strict=True))


def _hand_out(taken: dict[str, Any], handed: dict[str, set[int]]) -> list[str]:
    token, positions = taken["token"], {item["position"] for item in taken["items"]}
    wrong = [f"the token {token} came twice"] if token in handed else []
    handed[token] = positions
    return wrong


def _settle(
    token: str,
    verdicts: Iterable[tuple[int, str]],
    handed: dict[str, set[int]],
    answered: dict[Settled, str],
    done: Counter[int],
) -> list[str]:
    wrong = []
    for position, verdict in verdicts:
        if position not in handed.get(token, ()):
            wrong.append(f"position {position} was settled under {token}, which never had it")
        before = answered.setdefault((token, position), verdict)
        if before != verdict:
            wrong.append(f"position {position} was answered with {before} and then with {verdict}")
        elif verdict == "done" and done[position] == 0:
            done[position] = 1
        elif verdict == "done" and not _again(answered, token, position):
            done[position] += 1
    return wrong


def _again(answered: dict[Settled, str], token: str, position: int) -> bool:
    return not any(each != token and at == position and verdict == "done" for (each, at), verdict in answered.items())
