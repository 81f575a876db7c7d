"""Pages of items: those that match a filter, one item, failures in groups, and changes of many with a preview."""

from typing import Any

import msgspec

from rowlock.dashboard import item_filters
from rowlock.dashboard.frame import PageRequest, Redirect, View
from rowlock.dashboard.item_filters import FilterText
from rowlock.dashboard.lists import shell_quoted
from rowlock.errors import Invalid
from rowlock.model import ItemDetails, ListInfo
from rowlock.names import plural
from rowlock.overview import ItemOverview

ROWS = 50
SAMPLES = 5
CHANGES = {
    "retry": ("items.retry", "Retry", "Retried"),
    "done": ("items.done_matching", "Mark as done", "Marked as done"),
    "abandon": ("items.abandon", "Abandon", "Abandoned"),
}
"""Changes of many items: the operation, the word on the button, and the word in the notice."""
MAX_CHANGED_KEYS = 10_000


async def show(page: PageRequest) -> View:
    """Show a page of the items that match the filter."""
    name = page.parameters["list"]
    info: ListInfo = await page.call("lists.show", name)
    text = page.field("q") or page.query.get("q", "")
    after = page.query.get("after", "")
    if page.is_rejected("items.search"):
        where, items, following = FilterText(text, {}), [], None
    else:
        where = item_filters.parse(text, info.settings)
        found = await page.call("items.search", name, query={**where.query, "count": ROWS, "after": after})
        items, following = found.items, found.next
    document = {"list": name, "filter": where.query, "items": items, "next": following}
    more = {"info": info, "where": where, "changes": CHANGES, "after": after, "ticked": set(page.fields("key"))}
    return View(template="items.html", title=f"Items of {name}", document=document, more=more, rows=items)


async def show_failures(page: PageRequest) -> View:
    """Show failed items in groups of the same error."""
    name = page.parameters["list"]
    info: ListInfo = await page.call("lists.show", name)
    groups = (await page.call("failures.groups", name)).failures
    quote = item_filters.quote
    filters = [f"state:failed kind:{quote(group.kind)} shape:{quote(group.shape)}" for group in groups]
    document = {"list": name, "failures": groups}
    more = {"info": info, "filters": filters, "changes": CHANGES}
    return View(template="failures.html", title=f"Failures of {name}", document=document, more=more, rows=groups)


async def change(page: PageRequest) -> View | Redirect:
    """Change the selected items, or all that match; first show how many, and some of them."""
    name, verb = page.parameters["list"], page.field("change")
    if verb not in CHANGES:
        raise Invalid(f"change must be one of {', '.join(CHANGES)}, got {verb[:50]!r}")
    keys = page.fields("key")[:MAX_CHANGED_KEYS]
    info: ListInfo = await page.call("lists.show", name)
    where = item_filters.parse(page.field("q"), info.settings)
    is_whole = page.field("scope") == "matching"
    if not is_whole and not keys:
        raise Invalid("no item is selected", "tick some items, or choose all that match")
    if is_whole and not where:
        raise Invalid("no filter is given, and all items of the list would match", "filter them, such as state:ready")
    if page.field("confirmed") != "yes":
        return await _preview(page, where if is_whole else None, verb=verb, keys=keys)
    operation, _, past = CHANGES[verb]
    query, body = (where.query, None) if is_whole else ({}, {"keys": keys})
    changed = await page.call(operation, name, query=query, body=body)
    return page.redirect(page.url("lists", name, "items", q=where.text), f"{past}: {plural(changed.value)}.")


async def _preview(page: PageRequest, where: FilterText | None, *, verb: str, keys: list[str]) -> View:
    name, is_retry = page.parameters["list"], verb == "retry"
    if where is not None:
        counted = await page.call("items.count_matching", name, query={**where.query, "retryable": is_retry})
        found = await page.call("items.search", name, query={**where.query, "count": SAMPLES})
        samples, count, is_more = [item.key for item in found.items], counted.count, counted.next is not None
    else:
        operation = CHANGES[verb][0]
        count = (await page.call(operation, name, query={"dry_run": True}, body={"keys": keys})).value
        samples, is_more = keys[:SAMPLES], False
    document = {"list": name, "change": verb, "count": count, "more": is_more, "samples": samples}
    label = f"{CHANGES[verb][1]}: {'at least ' if is_more else ''}{plural(count)}"
    more = {"label": label, "where": where, "keys": [] if where is not None else keys, "q": page.field("q")}
    return View(template="preview.html", title=label, document=document, more=more)


async def show_item(page: PageRequest) -> View:
    """Show one item with its data and its attempts."""
    name, key = page.parameters["list"], page.parameters["key"]
    found: ItemOverview = await page.call("overview.of_item", name, key)
    item = found.item
    document = {"item": item, "times": found.times, "gate": found.gate, "results": found.results}
    data, commands, pauses = _pretty(item.raw_data), _commands(page, item), _pauses(item)
    more = {"data": data, "commands": commands, "changes": CHANGES, "pauses": pauses}
    return View(template="item.html", title=key, document=document, more=more, rows=item.failures)


def _pauses(item: ItemDetails) -> dict[int, float]:
    """Return how many seconds after the failed attempt before it each attempt failed."""
    earlier = {each.attempt: each.at for each in item.failures}
    return {
        each.attempt: (each.at - earlier[each.attempt - 1]).total_seconds()
        for each in item.failures
        if each.attempt - 1 in earlier
    }


def _pretty(text: str | None) -> str:
    """Return JSON with indentation; numbers and texts stay as they are stored."""
    return "" if text is None else msgspec.json.format(text, indent=2)


def _commands(page: PageRequest, item: ItemDetails) -> dict[str, str]:
    url = f"{page.base_url}{page.url('v1', 'lists', item.list, 'items', item.key).removeprefix(page.root)}"
    token = " -H 'Authorization: Bearer YOUR_TOKEN'" if page.signed_in else ""
    named = f"{shell_quoted(item.list)} {shell_quoted(item.key)}"
    return {
        "curl": f"curl -H 'Accept: application/json'{token} '{url}'",
        "shell": f"rowlock --server {page.base_url} show {named}",
    }


async def save_item(page: PageRequest) -> Redirect:
    """Change data, due time or priority of an item."""
    name, key = page.parameters["list"], page.parameters["key"]
    changes: dict[str, Any] = {}
    if page.field("data").strip() != page.field("data_before").strip():
        changes["data"] = _read_data(page.field("data"))
    if page.field("due").strip():
        changes["due"] = None if page.field("due").strip() == "now" else page.field("due").strip()
    if page.field("priority") != page.field("priority_before"):
        changes["priority"] = _read_number(page.field("priority"))
    if changes:
        await page.call("items.save", name, key, body=changes)
    return page.redirect(page.url("lists", name, "items", key), "Saved." if changes else "Nothing was changed.")


def _read_data(text: str) -> Any:
    if not text.strip():
        return None
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise Invalid(f"data must be JSON, got {text[:50]!r}", 'write text in quotes: "like this"') from None
    return msgspec.Raw(text.encode())


def _read_number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Invalid(f"priority must be 0 to 9, got {text[:50]!r}", "0 goes first, 9 last")
    return int(text)
