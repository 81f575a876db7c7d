"""Receipts: recognise a repeated settlement by its digest, and return the verdicts of the first one."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec

from rowlock import json_codec
from rowlock.db import Tx
from rowlock.json_codec import encode_json
from rowlock.outcomes import Fail, Outcome, Retry, Verdict, all_plainly_done, verdict_of

OutcomesByPosition = Sequence[tuple[int, Outcome]]
"""Positions of a claim, each with its outcome."""


def answers(tx: Tx, token: str, settlings: Sequence[OutcomesByPosition]) -> list[list[Verdict] | None]:
    """Return the verdicts of settlements that were written under the claim; None for one that was not."""
    return [answer(tx, token, settling) for settling in settlings]


def answer(tx: Tx, token: str, settling: OutcomesByPosition) -> list[Verdict] | None:
    """Return the verdicts of a settlement that was written under the claim; None if it was not."""
    row = tx.row("tallies/find_receipt", token=token, receipt=digest(settling))
    if row is None:
        return None
    noted = msgspec.json.decode(row[0]) if row[0] else []
    gone, failed = (noted["gone"], noted["failed"]) if isinstance(noted, dict) else (noted, [])
    known = dict.fromkeys(gone, Verdict.GONE) | dict.fromkeys(failed, Verdict.FAILED)
    return [known.get(position) or verdict_of(outcome) for position, outcome in settling]


def note(settling: OutcomesByPosition, written: Mapping[int, Outcome]) -> str | None:
    """Return what the digest does not say: which items had gone, and which retries were written as failures.

    None if each item ended as its outcome says.
    """
    gone = [position for position, _ in settling if position not in written]
    failed = [
        position for position, said in settling if isinstance(said, Retry) and isinstance(written.get(position), Fail)
    ]
    if failed:
        return encode_json({"gone": gone, "failed": failed})
    return encode_json(gone) if gone else None


def digest(settling: OutcomesByPosition) -> str:
    """Return the digest by which a repeated settlement is known."""
    # All plainly done is known by its positions, whichever verb settles it.
    if all_plainly_done(outcome for _, outcome in settling):
        return of_text(encode_json([position for position, _ in settling]))
    try:
        return of_text(encode_json([(position, outcome) for position, outcome in settling]))
    except (TypeError, ValueError):
        # An outcome that JSON cannot express; it is refused where it would have to be stored.
        return of_text(repr(settling))
    except RecursionError:
        raise json_codec.too_deep("the data of an outcome") from None


def of_text(text: str) -> str:
    """Return the digest of a settlement in JSON; of one that is plainly done, that is the list of positions."""
    return blake2b(text.encode(errors="backslashreplace"), digest_size=12).hexdigest()
