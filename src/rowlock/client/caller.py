"""Runs verbs by asking a server: the table of operations says how, there is no code per verb."""

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import msgspec

from rowlock import claims, ranges, receipts, settlements
from rowlock.api.operation import ApiRequest, Operation, name_of
from rowlock.api.operations import BY_VERB
from rowlock.client import derived, sessions, upload
from rowlock.client.transport import Transport
from rowlock.db.database import Verb
from rowlock.errors import NeedsDatabase

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_ROWS = 1_000

DERIVED: Mapping[Callable[..., Any], Callable[..., Any]] = {**upload.VERBS, **derived.VERBS, **sessions.VERBS}
"""Verbs that take more than one plain request."""

OF_TRANSACTIONS = "a transaction of yours cannot travel to a server: settle without using="
NEEDS_DATABASE: Mapping[Callable[..., Any], str] = {
    claims.is_held: OF_TRANSACTIONS,
    receipts.answers: OF_TRANSACTIONS,
    settlements.hold: OF_TRANSACTIONS,
    settlements.settle_beside: OF_TRANSACTIONS,
    ranges.snapshot: "a snapshot is one read of the whole list: page through its items instead",
}
"""Verbs of handles that no request offers, and why."""


class Caller:
    """Runs verbs by asking a server."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Have a verb run by the server; NeedsDatabase if no request offers it."""
        answer: T
        if verb in DERIVED:
            answer = DERIVED[verb](self, *args, **kwargs)
        elif verb in BY_VERB:
            answer = self.ask(BY_VERB[verb], BY_VERB[verb].request(*args, **kwargs))
        else:
            hint = NEEDS_DATABASE.get(verb, "use an Engine, where the database is")
            raise NeedsDatabase(f"{name_of(verb)} is not offered over HTTP", hint)
        return answer

    def ask(self, operation: Operation, request: ApiRequest) -> Any:
        """Send a request, or as many as its body takes, and return what the verb returned there."""
        if hasattr(request.body, "parts"):
            parts = (msgspec.structs.replace(request, body=part) for part in request.body.parts())
            return sum(operation.result(self.transport.send(operation, part), *request.path) for part in parts)
        document = self.transport.send(operation, request)
        result = operation.result(document, *request.path)
        limit = request.query.get("count", DEFAULT_ROWS)
        # A page with much data comes in parts.
        while getattr(document, "next", None) is not None and len(result) < limit:
            following = {**request.query, "after": document.next, "count": limit - len(result)}
            document = self.transport.send(operation, msgspec.structs.replace(request, query=following))
            result += operation.result(document, *request.path)
        return result
