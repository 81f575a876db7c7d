"""Idempotency keys: what is asked again under the same key is done once and answered twice."""

from collections.abc import Callable
from typing import Any

from rowlock import idempotency
from rowlock.db import Transaction
from rowlock.errors import Invalid
from rowlock.http.call import Call, Header
from rowlock.item_input import encode_json

LONGEST = 200


async def once(
    call: Call, work: Callable[[Transaction], Any], *, asked: Any, apart: bool = False
) -> tuple[Any, list[Header]]:
    """Do the work, or give the answer of the first time; with what to say of that in headers.

    What takes so long that nobody else should wait for it is done `apart`.
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
    """The key of a request, told apart from the same one of another caller or for something else."""
    given = call.header(b"idempotency-key")
    if len(given) > LONGEST:
        raise Invalid(f"the Idempotency-Key is longer than {LONGEST} characters", "a UUID will do")
    return idempotency.digest(call.principal.name, call.route.name, given)
