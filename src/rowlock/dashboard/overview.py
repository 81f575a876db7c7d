"""The overview: what is wrong first, then all lists, the worst first. And the page where people sign in."""

from typing import Any

from rowlock.dashboard.frame import PageRequest, View
from rowlock.model import ListInfo

MAX_LISTS = 200
FOLDED_LISTS = 4
"""So many lists with the same first part of the name are folded under it."""


async def overview(page: PageRequest) -> View:
    """Show what is wrong, and all lists."""
    infos: list[ListInfo] = (await page.call("lists.page", query={"count": MAX_LISTS})).lists
    sessions = (await page.call("sessions.page")).sessions
    infos.sort(key=_severity)
    document = {
        "lists": infos,
        "findings": _findings(infos, workers=len(sessions)),
        "totals": _totals(infos, workers=len(sessions)),
    }
    folders = {"folders": _folders(infos)}
    return View(template="overview.html", title="Overview", document=document, more=folders, rows=infos)


async def login(page: PageRequest) -> View:
    """Show the form that asks for a token."""
    refused = "The token is not valid any more: it was revoked, or it has expired." if "refused" in page.query else ""
    document = {"next": page.query.get("next", ""), "refused": refused}
    return View(template="login.html", title="Sign in", document=document)


def _severity(info: ListInfo) -> tuple[Any, ...]:
    """Return what lists are sorted by: failed items, then items that wait, then the name."""
    return -info.counts.failed, -info.counts.ready, info.state != "open", info.name


def _findings(infos: list[ListInfo], *, workers: int) -> list[dict[str, str]]:
    found = []
    for info in infos:
        if info.counts.failed:
            what = f"{info.counts.failed:,} items of {info.name} have failed"
            found.append({"level": "bad", "what": what, "list": info.name, "next": "failures"})
        if info.counts.ready and not workers and info.state == "open":
            what = f"{info.counts.ready:,} items of {info.name} are ready, but no worker is alive"
            found.append({"level": "warn", "what": what, "list": info.name, "next": ""})
    return found


def _totals(infos: list[ListInfo], *, workers: int) -> dict[str, int]:
    states = ("ready", "delayed", "gated", "claimed", "failed")
    counts = {state: sum(getattr(info.counts, state) for info in infos) for state in states}
    return {**counts, "done": sum(info.progress.done for info in infos), "workers": workers}


def _folders(infos: list[ListInfo]) -> list[dict[str, Any]]:
    """Return lists in their order; many lists with the same first part of their name are one folder."""
    by_first: dict[str, list[ListInfo]] = {}
    for info in infos:
        by_first.setdefault(info.name.partition("/")[0], []).append(info)
    found: list[dict[str, Any]] = []
    for first, inside in by_first.items():
        if len(inside) >= FOLDED_LISTS:
            found.append({"name": first, "lists": inside})
        else:
            found += [{"name": "", "lists": [info]} for info in inside]
    return found
