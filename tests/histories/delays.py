"""Delays in a history: no item is handed out before its time, as far as the database's clock was not set."""

from collections.abc import Iterable, Iterator, Sequence

from tests.histories.reading import Deed, Span, delays_added
from tests.histories.turns import Handed, Settled

MADE_READY = ("items.retry", "items.save", "item_search.change", "items.add", "lists.drop")
"""Verbs that may make a delayed item ready at once."""

CLOCK_SECONDS = 0.001
"""The database counts milliseconds; a time within one may look earlier than it was."""


def handed_out_early(deeds: Sequence[Deed], handed: Iterable[Handed], settled: Iterable[Settled]) -> Iterator[str]:
    """Yield a sentence for each item that was claimed before it was due."""
    claims = list(handed)
    keys = {position: item.get("key") for claim in claims for position, item in claim.items.items()}
    for key, since, due in [*_delayed_by_adds(deeds), *_delayed_by_retries(settled, keys)]:
        for claim in claims:
            is_early = since.before(claim.span) and claim.span.ended_at + CLOCK_SECONDS < due and key in _keys(claim)
            if is_early and not _may_be_ready(key, deeds, since, claim.span):
                early = due - claim.span.ended_at
                yield f"the item {key!r} was handed out under {claim.token} {early:.1f} seconds before it was due"


def _delayed_by_adds(deeds: Iterable[Deed]) -> Iterator[tuple[str, Span, float]]:
    for deed in deeds:
        if deed.verb == "items.add" and deed.span.landed and deed.answer.get("existing") == 0:
            for key, seconds in delays_added(deed):
                yield key, deed.span, deed.span.began_at + seconds


def _delayed_by_retries(settled: Iterable[Settled], keys: dict[int, str]) -> Iterator[tuple[str, Span, float]]:
    first: dict[tuple[str, int], Settled] = {}
    for each in settled:
        for position, seconds in each.delays.items():
            if not each.span.may_have_landed:
                continue
            # A settlement that is sent again is answered as before, and delays nothing.
            earlier = first.setdefault((each.token, position), each)
            if each.span.landed and each.verdicts[position] == "retried" and position in keys:
                yield keys[position], each.span, earlier.span.began_at + seconds


def _keys(claim: Handed) -> set[str]:
    return {item["key"] for item in claim.items.values() if "key" in item}


def _may_be_ready(key: str, deeds: Iterable[Deed], since: Span, upto: Span) -> bool:
    """Whether a caller may have made the item ready by hand in between."""
    return any(
        deed.verb in MADE_READY
        and deed.span.may_have_landed
        and deed.span.ended >= since.began
        and deed.span.overlaps_or_precedes(upto)
        and deed.span is not since
        and (len(deed.args) < 2 or deed.verb == "item_search.change" or key in str(deed.args[1]))
        for deed in deeds
    )
