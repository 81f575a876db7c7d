"""Idempotency keys: what is asked again under the same key is done once and answered twice."""

from collections.abc import Callable
from typing import Any

from rowlock import requests
from rowlock.db import Transaction
from rowlock.entries import encoded
from rowlock.errors import Invalid
from rowlock.http.call import Call, Header

LONGEST = 200


async def once(call: Call, work: Callable[[Transaction], Any], *, asked: Any) -> tuple[Any, list[Header]]:
    """Do the work, or give the answer of the first time; with what to say of that in headers."""
    fingerprint = requests.digest(encoded(asked))
    answer, again = await call.service.bridge.write(requests.once, key_of(call), fingerprint, do=work)
    return answer, [(b"idempotency-replayed", b"true")] if again else []


def key_of(call: Call) -> str:
    """The key of a request, told apart from the same one of another caller or for something else."""
    given = call.header(b"idempotency-key")
    if len(given) > LONGEST:
        raise Invalid(f"the Idempotency-Key is longer than {LONGEST} characters", "a UUID will do")
    return requests.digest(call.who.name, call.route.name, given)
