"""Handlers of access tokens: they go by the engine's cache, so that this process knows a change at once."""

from rowlock.api.tokens import CreatedToken, Revoked, TokenOptions
from rowlock.errors import NoSuchToken
from rowlock.http.call import Answer, Call


async def create(call: Call) -> Answer:
    """Make a token."""
    options: TokenOptions = await call.document()
    tokens = call.service.engine.tokens
    made = await call.service.executor.run_in_thread(
        lambda: tokens.create(options.role, lists=options.lists, label=options.label, expires=options.expires)
    )
    return Answer(CreatedToken(made.text, made.info), 201)


async def revoke(call: Call) -> Revoked:
    """End a token; every server refuses it within a second."""
    tokens, token = call.service.engine.tokens, _id(call.path["id"])
    return Revoked(await call.service.executor.run_in_thread(lambda: tokens.revoke(token)))


def _id(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise NoSuchToken(f"there is no token {text[:100]!r}", "GET /v1/tokens tells their ids")
    return int(text)
