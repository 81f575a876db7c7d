"""Receipts: by what a settlement is known again, and what it was answered. Verbs of a transaction."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from rowlock import nesting
from rowlock.db import Transaction
from rowlock.outcomes import Fail, Outcome, Retry, Verdict, all_plainly_done, verdict_of

OutcomesByPosition = Sequence[tuple[int, Outcome]]
"""Positions that were handed out under a claim, each with its outcome."""


def answers(tx: Transaction, token: str, settlings: Sequence[OutcomesByPosition]) -> list[list[Verdict] | None]:
    """What each of these settlements was answered when it landed under the claim; None for one that has not."""
    return [answer(tx, token, settling) for settling in settlings]


def answer(tx: Transaction, token: str, settling: OutcomesByPosition) -> list[Verdict] | None:
    """What this very settlement was answered when it landed under the claim; None if it has not."""
    row = tx.row("tallies/answered", token=token, receipt=digest(settling))
    if row is None:
        return None
    noted = msgspec.json.decode(row[0]) if row[0] else []
    gone, failed = (noted["gone"], noted["failed"]) if isinstance(noted, dict) else (noted, [])
    known = dict.fromkeys(gone, Verdict.GONE) | dict.fromkeys(failed, Verdict.FAILED)
    return [known.get(position) or verdict_of(outcome) for position, outcome in settling]


def note(settling: OutcomesByPosition, landed: Mapping[int, Outcome]) -> str | None:
    """What must be kept beside the digest: what had gone, and which retries were the last and were written as failures.

    None if each item ended as it was asked.
    """
    gone = [position for position, _ in settling if position not in landed]
    failed = [
        position for position, asked in settling if isinstance(asked, Retry) and isinstance(landed.get(position), Fail)
    ]
    if failed:
        return _json({"gone": gone, "failed": failed})
    return _json(gone) if gone else None


def digest(settling: OutcomesByPosition) -> str:
    """By which the same settlement is known again."""
    # All plainly done is known by its positions, whichever way it was asked for.
    if all_plainly_done(outcome for _, outcome in settling):
        return of_text(_json([position for position, _ in settling]))
    try:
        return of_text(_json([(position, outcome) for position, outcome in settling]))
    except (TypeError, ValueError):
        # Said with what JSON cannot say; it is refused where it would have to be kept.
        return of_text(repr(settling))
    except RecursionError:
        raise nesting.too_deep("the data of an outcome") from None


def of_text(text: str) -> str:
    """The digest of a settlement that is written as this text; of one that is plainly done, the list of positions."""
    return blake2b(text.encode(errors="backslashreplace"), digest_size=12).hexdigest()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
