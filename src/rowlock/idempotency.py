"""Verbs of idempotency keys: the answer to a request, stored in the transaction that carried it out.

A request that is repeated after its answer was lost gets the stored answer and is not executed again.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from rowlock.db import Tx
from rowlock.errors import KeyReused
from rowlock.json_codec import encode_json

KEPT_MILLISECONDS = 24 * 3_600_000
"""How long an answer is stored."""


class StoredAnswer(msgspec.Struct, frozen=True):
    """The answer to a request, and the digest of the request."""

    fingerprint: str
    answer: Any


def digest(*parts: str | bytes) -> str:
    """Return a short name for texts that may be long."""
    whole = blake2b(digest_size=18)
    for part in parts:
        text = part.encode(errors="backslashreplace") if isinstance(part, str) else part
        whole.update(len(text).to_bytes(8, "big") + text)
    return whole.hexdigest()


def run_once(tx: Tx, key: str, fingerprint: str, *, do: Callable[[Tx], Any]) -> tuple[Any, bool]:
    """Run a function, or return the stored answer of the first run; and whether it was stored.

    A stored answer is as JSON gives it back. KeyReused if the key was used for another request.
    """
    known = find(tx, key, fingerprint)
    if known is not None:
        return known, True
    answer = msgspec.to_builtins(do(tx))
    record(tx, key, fingerprint, answer=answer)
    return answer, False


def answered(
    tx: Tx,
    *,
    verb: Callable[..., Any],
    path: Sequence[Any],
    arguments: Mapping[str, Any],
    answer: Callable[..., Any] = lambda result, *_: result,
) -> Any:
    """Run a verb and return its answer, ready to be remembered: for `run_once`."""
    return answer(verb(tx, *path, **arguments), *path)


def find(tx: Tx, key: str, fingerprint: str) -> Any:
    """Return the answer that is stored under a key; None if no answer is stored."""
    stored = tx.struct(StoredAnswer, "idempotency/find", key=key)
    if stored is None:
        return None
    if stored.fingerprint != fingerprint:
        what = "the idempotency key was used before for another request"
        raise KeyReused(what, "use a new key for each request, and the same one only to repeat it")
    return stored.answer


def record(tx: Tx, key: str, fingerprint: str, *, answer: Any) -> None:
    """Store the answer to a request; it commits with what the request did."""
    tx.run("idempotency/remember", key=key, fingerprint=fingerprint, answer=encode_json(answer))


def prune(tx: Tx, *, limit: int = 1000, age: int = KEPT_MILLISECONDS) -> int:
    """Delete answers that are older than `age` milliseconds, and return how many."""
    return tx.run("idempotency/prune", limit=limit, age=age)
