"""The routes of the shop, for programs; and the links to unsubscribe."""

from asyncio import to_thread
from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from rowlock import Invalid, NotFound, Subscription
from rowlock.apps import web
from rowlock.apps.comics import model
from rowlock.apps.comics.pages import TEMPLATES
from rowlock.apps.comics.shop import REFUNDS, SALES, Shop
from rowlock.apps.comics.unsubscribe_links import UnsubscribeLinks
from rowlock.apps.pages import View, open_page

DEFAULT_PAGE, MAX_PAGE = 50, 1_000
MAX_NUMBER = 10**12 - 1
DELETE_ROLE = "worker"
"""The role that the service requires for DELETE."""


class ComicRoutes:
    """Answers requests by the operations of the shop."""

    def __init__(self, shop: Shop, links: UnsubscribeLinks) -> None:
        self._shop = shop
        self._links = links

    def app(self) -> Starlette:
        """Return the ASGI application."""
        return Starlette(
            routes=[
                web.resource("/comics", GET=self.stock, POST=self.arrive),
                web.resource("/subscriptions", GET=self.subscriptions, POST=self.subscribe, DELETE=self.leave),
                web.resource("/subscriptions/{number}", DELETE=self.end),
                web.resource("/notifications", GET=self.notifications),
                web.resource("/completetransaction", POST=self.complete),
                web.resource("/sales", GET=partial(self.ledger, SALES)),
                web.resource("/sales/{number}/refund", POST=self.refund),
                web.resource("/refunds", GET=partial(self.ledger, REFUNDS)),
                web.resource("/pending", GET=self.pending),
                web.resource("/unsubscribe/{who}/{proof}", GET=self.ask_to_unsubscribe, POST=self.unsubscribe),
            ]
        )

    async def arrive(self, request: Request) -> Response:
        """Put a copy of a comic into stock."""
        comic = model.comic(await web.json_object(request))
        await self._shop.arrive(comic)
        return _json(comic)

    async def stock(self, request: Request) -> Response:
        """Return a page of the stock."""
        after, limit = request.query_params.get("after", ""), _count(request)
        if "." in after or "-" in after:
            what = f"after must be the key of a comic, got {after[:50]!r}"
            raise Invalid(what, "give the last key of the page before")
        return _json(await to_thread(self._shop.stock, after=after, limit=limit))

    async def subscribe(self, request: Request) -> Response:
        """Add a subscription and return what is stored."""
        given = await web.json_object(request)
        email, predicates = model.email(given), model.predicates(given)
        number = await self._shop.subscribe(email, predicates)
        return _json(_subscription_document(number, email, predicates) | self._link(request, email))

    def _link(self, request: Request, email: str) -> dict[str, str]:
        """Return the link to unsubscribe, only to callers that may delete: the link needs no token."""
        credentials = request.scope.get("auth")
        may_delete = credentials is not None and DELETE_ROLE in credentials.scopes
        return {"unsubscribe": self._links.unsubscribe(email)} if may_delete else {}

    async def subscriptions(self, request: Request) -> Response:
        """Return a page of subscriptions, all or those of one customer."""
        after = web.query_number(request, "after", default=0, maximum=MAX_NUMBER)
        email = request.query_params.get("email")
        found = await to_thread(self._shop.subscriptions, email=email, after=after, limit=_count(request))
        return _json([_shown(each) | self._link(request, each.subscriber) for each in found])

    async def end(self, request: Request) -> Response:
        """Remove one subscription."""
        number = request.path_params["number"]
        if not await self._shop.unsubscribe(_number(number)):
            raise NotFound(f"there is no subscription {number}", "see GET /subscriptions")
        return _json({"deleted": 1})

    async def leave(self, request: Request) -> Response:
        """Remove all subscriptions of a customer."""
        return _json({"deleted": await self._shop.unsubscribe(model.email(request.query_params))})

    async def notifications(self, _: Request) -> Response:
        """Return delivered notifications, the newest first, one to a line."""
        lines = [model.canonical(each) for each in await to_thread(self._shop.told)]
        return Response("[" + ",\n".join(lines) + "]\n", media_type="application/json")

    async def complete(self, request: Request) -> Response:
        """Sell a comic that was paid, or refund it if all copies are sold."""
        given = await web.json_object(request)
        email, comic = model.email(given), model.comic(given.get("comic", given))
        found, again = await self._shop.complete(email, comic, key=web.idempotency_key(request))
        return _json(found, web.replayed(again=again))

    async def refund(self, request: Request) -> Response:
        """Refund a sale."""
        return _json(await self._shop.refund(str(_number(request.path_params["number"]))))

    async def ledger(self, name: str, request: Request) -> Response:
        """Return a page of sales or refunds."""
        after = request.query_params.get("after", "")
        after = str(_number(after)) if after else ""
        return _json(await to_thread(self._shop.ledger, name, after=after, limit=_count(request)))

    async def pending(self, _: Request) -> Response:
        """Return what is pending."""
        return _json(await to_thread(self._shop.pending))

    async def ask_to_unsubscribe(self, request: Request) -> Response:
        """Return a page with a button: following the link alone, as mail programs do, changes nothing."""
        return _page(request, self._owner(request), count=None)

    async def unsubscribe(self, request: Request) -> Response:
        """Remove all subscriptions of the customer that the link belongs to."""
        email = self._owner(request)
        count = await self._shop.unsubscribe(email)
        return _page(request, email, count=count)

    def _owner(self, request: Request) -> str:
        email = self._links.read(request.path_params["who"], request.path_params["proof"])
        if email is None:
            raise NotFound("invalid link to unsubscribe", "use the link as it is in the message")
        return email


def _shown(each: Subscription) -> dict[str, Any]:
    return _subscription_document(each.id, each.subscriber, each.predicates)


def _subscription_document(number: int, email: str, predicates: Mapping[str, Any]) -> dict[str, Any]:
    return {**predicates, "email": email, "id": number, "querypattern": model.pattern(predicates)}


def _json(value: Any, headers: dict[str, str] | None = None) -> Response:
    return Response(model.canonical(value) + "\n", media_type="application/json", headers=headers)


def _page(request: Request, email: str, *, count: int | None) -> Response:
    document = {"email": email, "count": count}
    view = View(template="unsubscribe.html", title="Unsubscribe", document=document, folder=TEMPLATES)
    return open_page(request, view)


def _number(text: str) -> int:
    return web.check_number(text, "number", maximum=MAX_NUMBER)


def _count(request: Request) -> int:
    return web.query_number(request, "count", default=DEFAULT_PAGE, minimum=1, maximum=MAX_PAGE)
