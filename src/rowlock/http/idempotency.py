"""Idempotency keys: a request that is repeated under its key is carried out once and answered twice."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from rowlock import idempotency
from rowlock.errors import Invalid
from rowlock.group_commit.calls import group_rule
from rowlock.http.call import Call, Header
from rowlock.json_codec import encode_json

MAX_KEY_CHARACTERS = 200
NOT_COMPARED = ("trace", "version", "prefixes")
"""Arguments that may differ when the same request is repeated."""


async def run_once(call: Call, arguments: dict[str, Any]) -> tuple[Any, list[Header]]:
    """Run the operation's verb, or give the document of the first time; with the headers that tell which."""
    path = list(call.path.values())
    compared = {name: value for name, value in arguments.items() if name not in NOT_COMPARED}
    work = partial(idempotency.answered, verb=call.route.verb, answer=call.route.answer, path=path, arguments=arguments)
    apart = group_rule(call.route.verb).key(*path, **arguments).isolated
    stored, headers = await once(call, work, asked=[path, compared], apart=apart)
    return msgspec.convert(stored, call.route.gives), headers


async def once(call: Call, work: Callable[..., Any], *, asked: Any, apart: bool = False) -> tuple[Any, list[Header]]:
    """Do the work, or give the answer of the first time; with the headers that tell which.

    Work that takes so long that no other request should wait for it is done `apart`.
    """
    key, fingerprint, executor = key_of(call), idempotency.digest(encode_json(asked)), call.service.executor
    if apart:
        answer, again = await executor.run_in_thread(
            lambda: executor.engine.run(idempotency.run_once, key, fingerprint, do=work)
        )
    else:
        answer, again = await executor.write(idempotency.run_once, key, fingerprint, do=work)
    return answer, [(b"idempotency-replayed", b"true")] if again else []


def key_of(call: Call) -> str:
    """The key of a request, kept apart from equal keys of other callers and other operations."""
    given = call.header(b"idempotency-key")
    if len(given) > MAX_KEY_CHARACTERS:
        what = f"Idempotency-Key must be at most {MAX_KEY_CHARACTERS} characters, got {len(given)}"
        raise Invalid(what, "a UUID will do")
    return idempotency.digest(call.principal.name, call.route.name, given)
