"""The page of a list: its states, gates, settings and workers, how to work it, and what can be done with it."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from rowlock.dashboard.charts import SPANS, read_span
from rowlock.dashboard.frame import PageRequest, Redirect, View
from rowlock.errors import Invalid, InvalidSetting
from rowlock.model import ListInfo, Settings
from rowlock.names import plural
from rowlock.overview import ListDetails
from rowlock.throughput import Throughput

MAX_WORKERS = 50
RATE_STEPS = 5
"""Steps of a series that an estimate is made from."""
EDITED_SETTINGS = {
    "concurrency": ("Items at once", "for all workers together, such as 10"),
    "rate": ("Rate", "such as 100/1m"),
    "attempts": ("Attempts", "until an item is given up; 0 for no limit"),
    "backoff": ("Back-off", "such as 1s..10m"),
    "keep_for": ("Keep errors and results for", "such as 7d"),
}
"""Settings with a field of their own, with its label and its help; the others are edited as JSON."""
NUMBERS = ("concurrency", "attempts")
ACTIONS = {
    "pause": ("lists.pause", "Paused: nothing is handed out."),
    "resume": ("lists.resume", "Resumed."),
    "seal": ("gates.seal", "Sealed: the list takes no more items, and completes when none is left."),
    "reopen": ("gates.reopen", "Reopened: the list takes items again."),
    "complete": ("gates.complete", "Completed."),
}
"""Operations of a list that take nothing but its name, and the notice after each."""


async def show(page: PageRequest) -> View:
    """Show a list."""
    name = page.parameters["list"]
    span = read_span(page)
    found: ListDetails = await page.call("overview.of_list", name, query={"span": span})
    info, series = found.list, found.throughput
    has_gates = bool(info.settings.gates or info.gate or info.counts.gated)
    document = {
        "list": info,
        "gates": found.gates if has_gates else [],
        "workers": found.workers[:MAX_WORKERS],
        "done_share": _share(info),
        "eta_seconds": _eta(info, series),
        "throughput": series,
    }
    more = {
        "commands": commands(page, name),
        "more_workers": len(found.workers) - len(found.workers[:MAX_WORKERS]),
        "fields": EDITED_SETTINGS,
        "other_settings": _other_settings(info.settings),
        "now": datetime.now(UTC),
        "span": span,
        "spans": SPANS,
        "actions": _possible_actions(page, info),
    }
    return View(template="list.html", title=name, document=document, more=more, rows=[info])


def _share(info: ListInfo) -> float:
    known = info.progress.done + info.counts.total
    return info.progress.done / known if known else 0.0


def _eta(info: ListInfo, series: Throughput) -> float | None:
    """Return how long the unfinished items take at the rate of the steps that are over; None if nothing is done."""
    over = series.steps[:-1][-RATE_STEPS:]
    settled = sum(each.done + each.moved for each in over)
    left = info.counts.total - info.counts.failed
    return left * series.step * len(over) / settled if settled and left else None


def _possible_actions(page: PageRequest, info: ListInfo) -> list[str]:
    """Return the actions that would change something, and that the caller may do."""
    apply = {
        "pause": info.state == "open",
        "resume": info.state == "paused",
        "seal": not info.sealed and info.state != "complete",
        "reopen": info.sealed or info.state == "complete",
        "complete": info.sealed and info.state != "complete",
    }
    return [action for action, (operation, _) in ACTIONS.items() if apply[action] and page.may(operation)]


def _other_settings(settings: Settings) -> str:
    shown = {name: value for name, value in msgspec.to_builtins(settings).items() if name not in EDITED_SETTINGS}
    return msgspec.json.format(msgspec.json.encode(shown), indent=2).decode()


def commands(page: PageRequest, name: str) -> dict[str, str]:
    """Return lines that work a list of this server: for the shell, curl and Python."""
    url, quoted = page.base_url, shell_quoted(name)
    items = f"{url}{page.url('v1', 'lists', name, 'items').removeprefix(page.root)}"
    token = " -H 'Authorization: Bearer YOUR_TOKEN'" if page.signed_in else ""
    return {
        "Shell": f"rowlock --server {url} work {quoted} -- echo {{}}",
        "Add by curl": f"printf 'a.txt\\nb.txt\\n' | curl{token} --data-binary @- '{items}'",
        "Python": f"from rowlock import Client, Worker\n\nworker = Worker(Client({url!r}))\n"
        f"worker.on({name!r}, lambda item: print(item.key))\nworker.run()",
    }


def shell_quoted(text: str) -> str:
    """Return text as one word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


async def add(page: PageRequest) -> Redirect:
    """Add the items that were pasted, one key to a line."""
    name = page.parameters.get("list") or page.field("list").strip()
    if not name:
        raise Invalid("list must not be empty, got ''", "give the name of a list")
    lines = page.field("items").replace("\r\n", "\n")
    if not lines.strip():
        raise Invalid("items must hold at least one key, got none", "write one key to a line")
    added = await page.call("items.add", name, body=lines)
    known = f" Already there: {added.existing:,}." if added.existing else ""
    return page.redirect(page.url("lists", name), f"Added {plural(added.added)} to {name}.{known}")


async def act(page: PageRequest) -> Redirect:
    """Pause, resume, seal, reopen or complete a list."""
    name, action = page.parameters["list"], page.field("action")
    if action not in ACTIONS:
        raise Invalid(f"action must be one of {', '.join(ACTIONS)}, got {action[:50]!r}")
    operation, notice = ACTIONS[action]
    await page.call(operation, name)
    return page.redirect(page.url("lists", name), notice)


async def change_settings(page: PageRequest) -> Redirect:
    """Change the settings of a list by the fields of the form."""
    name = page.parameters["list"]
    changes: dict[str, Any] = {}
    for field in EDITED_SETTINGS:
        text = page.field(field).strip()
        changes[field] = _setting(field, text)
    if page.field("others").strip():
        changes |= _read_others(page.field("others"))
    await page.call("lists.change_settings", name, body=changes)
    return page.redirect(page.url("lists", name), "The settings are changed.")


def _setting(field: str, text: str) -> Any:
    if not text:
        return msgspec.structs.asdict(Settings())[field]
    if field not in NUMBERS:
        return text
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise InvalidSetting(f"{field} must be a whole number, got {text[:50]!r}", "correct the field")
    return int(text)


def _read_others(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        raise InvalidSetting(f"other settings must be a JSON object, got {text[:50]!r}", "check its quotes") from None


async def open_gate(page: PageRequest) -> Redirect:
    """Open a gate by hand."""
    name, gate = page.parameters["list"], page.field("gate")
    await page.call("gates.open_gate", name, body={"gate": int(gate) if gate.isdecimal() and len(gate) <= 12 else gate})
    return page.redirect(page.url("lists", name), f"Gate {gate} is open.")


async def rename(page: PageRequest) -> Redirect:
    """Rename a list."""
    info = await page.call("lists.rename", page.parameters["list"], body={"name": page.field("name").strip()})
    return page.redirect(page.url("lists", info.name), f"The list is called {info.name} now.")


async def ask_to_drop(page: PageRequest) -> View:
    """Show what would be lost, and ask for the name of the list."""
    name = page.parameters["list"]
    info = await page.call("lists.show", name)
    samples = (await page.call("items.page", name, query={"count": 5})).items
    document = {"list": info, "samples": [item.key for item in samples]}
    return View(template="drop.html", title=f"Drop {name}", document=document)


async def drop(page: PageRequest) -> Redirect:
    """Drop a list whose name was typed."""
    name = page.parameters["list"]
    if page.field("name") != name:
        raise Invalid(f"name must be that of the list, {name!r}, got {page.field('name')[:200]!r}", "type it again")
    dropped = await page.call("lists.drop", name)
    return page.redirect(page.url(), f"Dropped {name} with {plural(dropped.dropped)}.")
