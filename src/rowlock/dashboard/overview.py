"""The overview: what is wrong first, then all lists, the worst first. And the page where people sign in."""

from collections.abc import Sequence
from typing import Any

import msgspec

from rowlock.dashboard.charts import SPANS, read_span
from rowlock.dashboard.frame import PageRequest, View
from rowlock.diagnostics import RISK, Finding
from rowlock.errors import NotAllowed
from rowlock.model import Counts, add_up
from rowlock.overview import Alert, ListOverview, Overview

LISTS_PER_PAGE = 100
ALERTS_OF_A_KIND = 3
FOLDED_LISTS = 4
"""So many lists with the same first part of the name are folded under it."""
RISK_KIND = "durability"
ALERT_KINDS = {
    RISK_KIND: ("bad", "risks of the database"),
    "late-session": ("bad", "silent workers"),
    "nobody-works": ("bad", "lists that nobody works on"),
    "failing": ("bad", "lists with failed items"),
    "falling-behind": ("warn", "lists that fall behind"),
    "paused": ("info", "paused lists"),
}
"""The level and the title of each kind of alert."""


class Folder(msgspec.Struct, frozen=True):
    """Lists with the same first part of their names."""

    name: str
    lists: Sequence[ListOverview]

    @property
    def counts(self) -> Counts:
        """The items of all of them by state."""
        return add_up(Counts, (each.counts for each in self.lists))

    @property
    def done(self) -> int:
        """How many items of all of them are done."""
        return sum(each.done for each in self.lists)

    @property
    def rate(self) -> float:
        """Items per minute of all of them."""
        return sum(each.rate for each in self.lists)


async def overview(page: PageRequest) -> View:
    """Show what is wrong, and all lists."""
    contains, span = page.query.get("contains", ""), read_span(page)
    query = {"contains": contains, "offset": page.query.get("offset", "0"), "count": LISTS_PER_PAGE}
    found: Overview = await page.call("overview.show", query=query)
    try:
        series = await page.call("throughput.total", query={"span": span})
    except NotAllowed:  # the token is for some lists only
        series = None
    if page.may("system.show"):
        found = _with_risks(found, (await page.call("system.show")).findings)
    document = {**{name: getattr(found, name) for name in found.__struct_fields__}, "throughput": series}
    more = {
        "groups": _alert_groups(found),
        "folders": [Folder("", [each]) for each in found.lists] if contains else _folders(found.lists),
        "contains": contains,
        "span": span,
        "spans": SPANS,
    }
    return View(template="overview.html", title="Overview", document=document, more=more, rows=found.lists)


async def login(page: PageRequest) -> View:
    """Show the form that asks for a token."""
    refused = "The token is not valid any more: it was revoked, or it has expired." if "refused" in page.query else ""
    document = {"next": page.query.get("next", ""), "refused": refused}
    return View(template="login.html", title="Sign in", document=document)


def _with_risks(found: Overview, findings: Sequence[Finding]) -> Overview:
    """Return the overview with the risks of the database as its first alerts."""
    risks = [Alert(RISK_KIND, each.what, each.fix) for each in findings if each.state == RISK]
    counts = {**({RISK_KIND: len(risks)} if risks else {}), **found.alert_counts}
    return msgspec.structs.replace(found, alerts=[*risks, *found.alerts], alert_counts=counts)


def _alert_groups(found: Overview) -> list[dict[str, Any]]:
    """Return the first alerts of each kind, and how many more there are."""
    by_kind: dict[str, list[Alert]] = {}
    for alert in found.alerts:
        by_kind.setdefault(alert.kind, []).append(alert)
    return [
        {
            "level": ALERT_KINDS[kind][0],
            "title": ALERT_KINDS[kind][1],
            "alerts": alerts[:ALERTS_OF_A_KIND],
            "more": found.alert_counts[kind] - len(alerts[:ALERTS_OF_A_KIND]),
        }
        for kind, alerts in by_kind.items()
    ]


def _folders(lists: Sequence[ListOverview]) -> list[Folder]:
    """Return lists in their order; many lists with the same first part of their names are one folder."""
    by_first: dict[str, list[ListOverview]] = {}
    for each in lists:
        by_first.setdefault(each.name.partition("/")[0], []).append(each)
    found: list[Folder] = []
    for first, inside in by_first.items():
        is_folder = len(inside) >= FOLDED_LISTS
        found += [Folder(first, inside)] if is_folder else [Folder("", [each]) for each in inside]
    return found
