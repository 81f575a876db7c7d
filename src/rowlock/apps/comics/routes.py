"""The paths of the shop, and its page for people."""

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rowlock import Invalid, NotFound, Subscription
from rowlock.apps.comics import model
from rowlock.apps.comics.links import UnsubscribeLinks
from rowlock.apps.comics.shop import REFUNDS, SALES, Shop

Endpoint = Callable[[Request], Awaitable[Response]]

HERE = Path(__file__).parent
PAGE, MOST = 50, 1_000
DELETES = "worker"
"""The role that DELETE needs: the service asks for it on every path of an application that changes something."""
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)


class ComicRoutes:
    """Answers requests with what the shop knows."""

    def __init__(self, shop: Shop, links: UnsubscribeLinks) -> None:
        self._shop = shop
        self._links = links

    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                _route("/comics", GET=self.stock, POST=self.arrive),
                _route("/subscriptions", GET=self.subscriptions, POST=self.subscribe, DELETE=self.leave),
                _route("/subscriptions/{number}", DELETE=self.end),
                _route("/notifications", GET=self.notifications),
                _route("/completetransaction", POST=self.complete),
                _route("/sales", GET=partial(self.ledger, SALES)),
                _route("/sales/{number}/refund", POST=self.refund),
                _route("/refunds", GET=partial(self.ledger, REFUNDS)),
                _route("/pending", GET=self.pending),
                _route("/unsubscribe/{who}/{proof}", GET=self.ask_to_unsubscribe, POST=self.unsubscribe),
                _route("/shop", GET=_file("page.html", "text/html")),
                _route("/shop/page.js", GET=_file("page.js", "text/javascript")),
                _route("/shop/page.css", GET=_file("page.css", "text/css")),
            ]
        )

    async def arrive(self, request: Request) -> Response:
        """A copy of a comic comes into stock."""
        comic = model.comic(model.document(await request.body()))
        await self._shop.arrive(comic)
        return _json(comic)

    async def stock(self, request: Request) -> Response:
        """What is there."""
        after, limit = request.query_params.get("after", ""), _count(request)
        if "." in after or "-" in after:
            raise Invalid("after= names no comic", "give the key of the last one of the page before")
        return _json(await to_thread(self._shop.stock, after=after, limit=limit))

    async def subscribe(self, request: Request) -> Response:
        """Somebody wishes for comics; what is stored."""
        given = model.document(await request.body())
        email, wish = model.email(given), model.wish(given)
        number = await self._shop.subscribe(email, wish)
        return _json(_wish(number, email, wish) | self._link(request, email))

    def _link(self, request: Request, email: str) -> dict[str, str]:
        """The link to unsubscribe, for those who may take wishes back themselves: whoever has it needs no token."""
        credentials = request.scope.get("auth")
        may_delete = credentials is not None and DELETES in credentials.scopes
        return {"unsubscribe": self._links.unsubscribe(email)} if may_delete else {}

    async def subscriptions(self, request: Request) -> Response:
        """All wishes, or those of one address."""
        email, after = request.query_params.get("email"), _number(request.query_params.get("after", "0"))
        found = await to_thread(self._shop.subscriptions, email=email, after=after, limit=_count(request))
        return _json([_shown(each) | self._link(request, each.subscriber) for each in found])

    async def end(self, request: Request) -> Response:
        """One wish is taken back."""
        number = request.path_params["number"]
        if not await self._shop.unsubscribe(_number(number)):
            raise NotFound(f"there is no subscription {number}", "see GET /subscriptions")
        return _json({"deleted": 1})

    async def leave(self, request: Request) -> Response:
        """All wishes of an address are taken back."""
        return _json({"deleted": await self._shop.unsubscribe(model.email(request.query_params))})

    async def notifications(self, _: Request) -> Response:
        """Who was told of what, newest first, one to a line."""
        lines = [model.canonical(each) for each in await to_thread(self._shop.told)]
        return Response("[" + ",\n".join(lines) + "]\n", media_type="application/json")

    async def complete(self, request: Request) -> Response:
        """Somebody pays: the comic is sold, or, if there is none, the money goes back."""
        given = model.document(await request.body())
        email, comic = model.email(given), model.comic(given.get("comic", given))
        found, again = await self._shop.complete(email, comic, key=request.headers.get("idempotency-key", "")[:200])
        return _json(found, {"idempotency-replayed": "true"} if again else {})

    async def refund(self, request: Request) -> Response:
        """A sale is taken back."""
        return _json(await self._shop.refund(str(_number(request.path_params["number"]))))

    async def ledger(self, name: str, request: Request) -> Response:
        """Sales or refunds, in their order."""
        after = request.query_params.get("after", "")
        after = str(_number(after)) if after else ""
        return _json(await to_thread(self._shop.ledger, name, after=after, limit=_count(request)))

    async def pending(self, _: Request) -> Response:
        """What is still to be done."""
        return _json(await to_thread(self._shop.pending))

    async def ask_to_unsubscribe(self, request: Request) -> Response:
        """A page with a button: whoever only follows the link, as mail programs do, changes nothing."""
        email = self._owner(request)
        return _page(
            f"<p>Shall <b>{escape(email)}</b> hear no more of us?</p>"
            '<form method="post"><button>Unsubscribe</button></form>'
        )

    async def unsubscribe(self, request: Request) -> Response:
        """All wishes of whoever has that link are taken back."""
        email = self._owner(request)
        count = await self._shop.unsubscribe(email)
        return _page(f"<p><b>{escape(email)}</b> is told of nothing any more; wishes taken back: {count}.</p>")

    def _owner(self, request: Request) -> str:
        email = self._links.read(request.path_params["who"], request.path_params["proof"])
        if email is None:
            raise NotFound("this is no link of ours", "use it as it stands in the message")
        return email


def _shown(each: Subscription) -> dict[str, Any]:
    return _wish(each.id, each.subscriber, each.predicates)


def _wish(number: int, email: str, wish: Mapping[str, Any]) -> dict[str, Any]:
    return {**wish, "email": email, "id": number, "querypattern": model.pattern(wish)}


def _route(path: str, **methods: Endpoint) -> Route:
    async def answer(request: Request) -> Response:
        chosen = "GET" if request.method == "HEAD" else request.method
        return await methods[chosen](request)

    return Route(path, answer, methods=list(methods))


def _json(value: Any, headers: dict[str, str] | None = None) -> Response:
    return Response(model.canonical(value) + "\n", media_type="application/json", headers=headers)


def _file(name: str, kind: str) -> Endpoint:
    content = (HERE / name).read_bytes()

    async def answer(_: Request) -> Response:
        return _guarded(content, kind)

    return answer


def _page(body: str) -> Response:
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Comics</title>'
    return _guarded(f'{head}<link rel="stylesheet" href="/shop/page.css"><main>{body}</main></html>', "text/html")


def _guarded(content: bytes | str, kind: str) -> Response:
    headers = {"content-security-policy": POLICY, "x-content-type-options": "nosniff", "cache-control": "no-cache"}
    return Response(content, media_type=f"{kind}; charset=utf-8", headers={**headers, "referrer-policy": "no-referrer"})


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise Invalid(f"{text[:50]!r} is no number", "give one like 7")
    return int(text)


def _count(request: Request) -> int:
    count = _number(request.query_params.get("count", str(PAGE)))
    if not 1 <= count <= MOST:
        raise Invalid(f"count={count} cannot be", f"give 1 to {MOST}")
    return count
