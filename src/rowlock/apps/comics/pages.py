"""The page of the shop: the stock, forms to add a copy, to sell one and to subscribe, and who was notified."""

import re
from asyncio import to_thread
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rowlock import Invalid
from rowlock.apps.comics import model
from rowlock.apps.comics.shop import Shop
from rowlock.apps.pages import PageEntry, PageRequest, Redirect, Role, View, once_key

TEMPLATES = Path(__file__).parent / "templates"
COMICS_SHOWN = 200
SHOWN_FIELDS = ("series", "issue", "publisher", "superhero", "author", "artist", "year", "mint")
"""The fields of a comic in the order of the page."""
_INTEGER = re.compile(r"-?[0-9]{1,10}")
_MASKED = re.compile(r"(?<=.)[^@]*(?=@|$)", re.DOTALL)


class ShopPages:
    """The page of a shop and its forms."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def entries(self) -> tuple[PageEntry, ...]:
        """Return the rows for the table of pages."""
        return (
            PageEntry("/shop", self.show),
            PageEntry("/shop/stock", self.add, "POST", Role.WORKER, "stock", self.show),
            PageEntry("/shop/sell", self.sell, "POST", Role.WORKER, "sell", self.show),
            PageEntry("/shop/subscribe", self.subscribe, "POST", Role.WORKER, "subscribe", self.show),
        )

    async def show(self, _: PageRequest) -> View:
        """Show the stock and the forms."""
        stock = await to_thread(self._shop.stock, limit=COMICS_SHOWN)
        told = await to_thread(self._shop.told)
        stock.sort(key=lambda each: (each["comic"]["series"], each["comic"]["issue"]))
        document = {"stock": stock, "told": [{**each, "email": _masked(each["email"])} for each in told]}
        more = {
            "fields": {name: model.FIELDS[name] for name in SHOWN_FIELDS},
            "encoded": model.canonical,
            "limit": COMICS_SHOWN,
        }
        return View(template="shop.html", title="Shop", document=document, more=more, rows=stock, folder=TEMPLATES)

    async def add(self, page: PageRequest) -> Redirect:
        """Put a copy into stock."""
        comic = model.comic(_typed(page, model.FIELDS))
        await self._shop.arrive(comic, key=once_key(page))
        return page.redirect(page.url("shop"), f"In stock: {_title(comic)}.")

    async def sell(self, page: PageRequest) -> Redirect:
        """Sell a copy, or refund if all are sold."""
        email, comic = model.email(dict(page.form)), _chosen(page.field("comic"))
        found, _ = await self._shop.complete(email, comic, key=once_key(page))
        return page.redirect(page.url("shop"), f"{_title(comic)}: {found['message']}")

    async def subscribe(self, page: PageRequest) -> Redirect:
        """Add a subscription to comics with the values that were given."""
        email = model.email(dict(page.form))
        given = [name for name in model.FIELDS if page.field(name).strip()]
        predicates = model.predicates(_typed(page, given))
        await self._shop.subscribe(email, predicates)
        wanted = f"comics by {', '.join(predicates)}" if predicates else "every comic"
        return page.redirect(page.url("shop"), f"{email} will be notified of {wanted}.")


def _masked(address: str) -> str:
    """Return enough of an address to recognise one's own: every viewer sees this page."""
    return _MASKED.sub("***", address, count=1)


def _title(comic: Mapping[str, Any]) -> str:
    return f"{comic['series']} {comic['issue']}"


def _typed(page: PageRequest, names: Any) -> dict[str, Any]:
    """Return fields of the form as values of their kinds."""
    return {name: _read(name, page.field(name).strip()) for name in names}


def _read(name: str, text: str) -> Any:
    match model.FIELDS[name]:
        case "integer":
            if not _INTEGER.fullmatch(text):
                raise Invalid(f"{name} must be a whole number, got {text[:50]!r}", "correct the field", field=name)
            return int(text)
        case "boolean":
            if text not in ("true", "false"):
                raise Invalid(f"{name} must be true or false, got {text[:50]!r}", "choose one", field=name)
            return text == "true"
    return text


def _chosen(text: str) -> dict[str, Any]:
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        what = f"comic must be one of the stock, got {text[:50]!r}"
        raise Invalid(what, "choose one", field="comic") from None
    return model.comic(given)
