"""Requests: what was asked under a key of the caller's own, and what was answered. Verbs of a transaction.

What is remembered commits with what was done: asked again after a lost answer, it is answered again and not done twice.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec

from rowlock.db import Transaction
from rowlock.errors import KeyReused

KEPT_MILLISECONDS = 24 * 3_600_000
"""How long an answer is remembered, in milliseconds."""


def digest(*parts: str | bytes) -> str:
    """A short name for texts that may be long."""
    whole = blake2b(digest_size=18)
    for part in parts:
        text = part.encode(errors="backslashreplace") if isinstance(part, str) else part
        whole.update(len(text).to_bytes(8, "big") + text)
    return whole.hexdigest()


def run_once(tx: Transaction, key: str, fingerprint: str, *, do: Callable[[Transaction], Any]) -> tuple[Any, bool]:
    """Do it, or give the answer of the first time; and whether it was that. The answer comes as JSON gives it back.

    KeyReused if something else was asked under that key before.
    """
    known = find(tx, key, fingerprint)
    if known is not None:
        return known, True
    answer = do(tx)
    record(tx, key, fingerprint, answer=answer)
    return answer, False


def find(tx: Transaction, key: str, fingerprint: str) -> Any:
    """What was answered before under that key; None if nothing was asked."""
    row = tx.row("idempotency/find", key=key)
    if row is None:
        return None
    if row[0] != fingerprint:
        what = "something else was asked before under the same key"
        raise KeyReused(what, "take a new key for each request; the same one only to ask the same again")
    return msgspec.json.decode(row[1])


def record(tx: Transaction, key: str, fingerprint: str, *, answer: Any) -> None:
    """Note what is answered; it commits with what was done."""
    tx.run("idempotency/remember", key=key, fingerprint=fingerprint, answer=msgspec.json.encode(answer).decode())


def prune(tx: Transaction, *, limit: int = 1000, age: int = KEPT_MILLISECONDS) -> int:
    """Forget what nobody asks again; how many."""
    return tx.run("idempotency/prune", limit=limit, age=age)
