"""Pages beside the work: search, the reference of the API, and the cheat sheet of this server."""

from itertools import groupby
from typing import Any

import msgspec

from rowlock.api.operation import Operation
from rowlock.api.operations import OPERATIONS
from rowlock.dashboard.frame import PageRequest, Redirect, View
from rowlock.errors import Invalid, NotAllowed, NotFound

MAX_FOUND_LISTS = 50
MAX_SPLITS = 3
"""Slashes of a text, from its end, that may stand between a list and a key."""


async def search(page: PageRequest) -> View | Redirect:
    """Find lists by a part of their name; a whole name, or a list, a slash and a key, leads there at once."""
    text = page.query.get("q", "").strip()
    found = (await page.call("overview.show", query={"contains": text, "count": MAX_FOUND_LISTS})).lists
    if any(each.name == text for each in found):
        return page.redirect(page.url("lists", text))
    if not found:
        parts = text.split("/")
        for number in range(len(parts) - 1, max(0, len(parts) - 1 - MAX_SPLITS), -1):
            name, key = "/".join(parts[:number]), "/".join(parts[number:])
            if name and key and await _exists(page, name, key):
                return page.redirect(page.url("lists", name, "items", key))
    return View(template="search.html", title="Search", document={"q": text, "lists": found}, rows=found)


async def _exists(page: PageRequest, name: str, key: str) -> bool:
    try:
        await page.call("items.show", name, key)
    except (NotFound, Invalid, NotAllowed):
        return False
    return True


async def cheat_sheet(page: PageRequest) -> View:
    """Show how to use this server."""
    limits = await page.call("health.limits")
    known = msgspec.structs.asdict(limits)
    rows = [{"limit": name, "value": value} for name, value in known.items()]
    return View(template="help.html", title="Help", document={"url": page.base_url, "limits": known}, rows=rows)


async def reference(page: PageRequest) -> View:
    """Show every operation of the API, with a form that tries it."""
    described = msgspec.json.decode(await page.call("health.description"))["paths"]
    shown = [_described(page, each, described) for each in sorted(OPERATIONS, key=lambda each: each.tag)]
    groups = [(tag, list(found)) for tag, found in groupby(shown, key=lambda each: each["tag"])]
    document = {"operations": shown}
    return View(template="reference.html", title="API", document=document, more={"groups": groups}, rows=shown)


def _described(page: PageRequest, operation: Operation, described: dict[str, Any]) -> dict[str, Any]:
    fields = msgspec.structs.fields(operation.query_type)
    body = operation.body
    return {
        "name": operation.name,
        "tag": operation.tag,
        "method": operation.method,
        "path": operation.path,
        "role": operation.role or "",
        "what": described[operation.path][operation.method.lower()].get("summary", ""),
        "parameters": operation.parameters,
        "query": [field.encode_name for field in fields],
        "body": [] if body is None else list(getattr(body, "__struct_encode_fields__", ())),
        "takes_body": body is not None,
        "allowed": page.may(operation.name),
    }
