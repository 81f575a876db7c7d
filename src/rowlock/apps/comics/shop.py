"""The shop: comics arrive, are asked for, sold and refunded. Each operation is one transaction."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby, islice
from typing import Any

from rowlock import Engine, Item, NotFound, RecordInfo, Subscription, Transaction
from rowlock.apps.comics import model

TOPIC = "comics"
STOCK, SALES, REFUNDS = "comics/stock", "comics/sales", "comics/refunds"
PATTERNS = "comics/patterns"
EVERYTHING = "*"
"""The key of the empty pattern: keys must not be empty."""
HISTORY_KEPT = "3650d"
"""How long notifications are kept: so long nobody is notified twice."""
DEFAULT_PAGE = 50
APOLOGY = "We are sorry: the last copy has gone. Your money is on its way back, and you will hear when another comes."
THANKS = "Thank you: it is yours."

Verb = Callable[[Transaction], Any]


def _each(tx: Transaction, asked: list[Verb]) -> list[Any]:
    # A subscriber is notified of comics that arrive in the same transaction, so subscriptions come first.
    order = sorted(range(len(asked)), key=lambda number: getattr(asked[number], "func", None) is not _subscribe)
    answers = {number: asked[number](tx) for number in order}
    return [answers[number] for number in range(len(asked))]


class Shop:
    """The operations of the shop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.topic = engine.topic(TOPIC)
        self.topic.define(model.FIELDS, keep_for=HISTORY_KEPT)
        for name in (STOCK, SALES, REFUNDS, PATTERNS):
            engine[name].add([])  # makes the list, so that it can be read
        self._together = engine.grouped.together(_each)

    async def arrive(self, comic: Mapping[str, Any], *, key: str = "") -> None:
        """Put a copy into stock and publish it; with a key only once."""
        do = partial(_arrive, comic=comic)
        once = f"comics stock\0{key}" if key else ""
        await self._together.awaited(partial(_once, key=once, asked=comic, do=do))

    async def subscribe(self, email: str, predicates: Mapping[str, Any]) -> int:
        """Add a subscription and return its number; one that exists keeps its number."""
        number: int = await self._together.awaited(partial(_subscribe, email=email, predicates=predicates))
        return number

    async def complete(self, email: str, comic: Mapping[str, Any], *, key: str) -> tuple[dict[str, Any], bool]:
        """Sell a copy, or refund if all are sold; return the result and whether it is repeated."""
        do = partial(_complete, email=email, comic=comic)
        found: tuple[dict[str, Any], bool] = await self._together.awaited(
            partial(_once, key=f"comics {email}\0{key}" if key else "", asked=[email, comic], do=do)
        )
        return found

    async def refund(self, number: str) -> dict[str, Any]:
        """Refund a sale and put the copy back into stock."""
        found: dict[str, Any] = await self._together.awaited(partial(_refund, number=number))
        return found

    async def unsubscribe(self, which: int | str) -> int:
        """Remove one subscription by its number, or all of a customer; return how many there were."""
        count: int = await self._together.awaited(lambda tx: tx.topic(TOPIC).unsubscribe(which))
        return count

    def stock(self, *, after: str = "", limit: int = DEFAULT_PAGE) -> list[dict[str, Any]]:
        """Return comics in stock with the number of copies, strictly after one."""
        copies = self._engine[STOCK].items(after=f"{after}." if after else "")
        groups = groupby(copies, key=lambda copy: copy.key.partition("-")[0])
        found = []
        for key, group in islice(groups, limit):
            first = next(group)
            found.append({"comic": first.data, "copies": 1 + sum(1 for _ in group), "key": key})
        return found

    def subscriptions(self, *, email: str | None, after: int, limit: int) -> list[Subscription]:
        """Return subscriptions in the order of their numbers."""
        return self.topic.subscriptions(subscriber=email, after=after, limit=limit)

    def told(self) -> list[dict[str, Any]]:
        """Return delivered notifications, the newest first."""
        found = self.topic.notifications(delivered=True, limit=DEFAULT_PAGE)
        return [{"comic": _ordered(each.record), "email": each.subscriber} for each in found]

    def ledger(self, name: str, *, after: str, limit: int) -> list[dict[str, Any]]:
        """Return sales or refunds in the order of their numbers, strictly after one."""
        return [_entry(item) for item in self._engine[name].page(after=_padded(after), limit=limit)]

    def pending(self) -> dict[str, Any]:
        """Return what is pending: comics that are not matched and notifications that are not delivered."""
        patterns = sorted((item.key.removeprefix(EVERYTHING), _after(item)) for item in self._engine[PATTERNS].items())
        waiting = [each for each in self.topic.records(limit=DEFAULT_PAGE) if each.matched_at is None]
        untold = self.topic.notifications(delivered=False, limit=DEFAULT_PAGE)
        return {
            "comics": [{"comic": _ordered(each.record), "queries": _queries(each, patterns)} for each in waiting],
            "notifications": [{"comic": _ordered(each.record), "email": each.subscriber} for each in untold],
            "failed": self.topic.failed(),
        }


def _ordered(comic: Mapping[str, Any]) -> dict[str, Any]:
    return {name: comic[name] for name in model.FIELDS if name in comic}


def _after(pattern: Item) -> int:
    """Return the last record before the pattern was known; 0 for patterns of earlier versions."""
    return int(pattern.data["after"]) if pattern.data else 0


def _queries(record: RecordInfo, patterns: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    known = [names for names, after in patterns if after < record.id]
    return [
        model.query(record.record, names)
        for names in known
        if set(filter(None, names.split(","))) <= record.record.keys()
    ]


def _padded(number: str) -> str:
    return number.rjust(12, "0") if number else ""


def _entry(item: Item) -> dict[str, Any]:
    return {"id": int(item.key), **item.data}


def _arrive(tx: Transaction, *, comic: Mapping[str, Any]) -> dict[str, Any]:
    # The number first: the counter is locked until the commit, so records and new patterns are ordered by it.
    known, number = model.digest(comic), tx.counter(STOCK).next()
    tx.topic(TOPIC).publish(comic, key=known)
    tx[STOCK].add(f"{known}-{number:012}", data=comic)
    return dict(comic)


def _subscribe(tx: Transaction, *, email: str, predicates: Mapping[str, Any]) -> int:
    pattern = model.pattern(predicates) or EVERYTHING
    if pattern not in tx[PATTERNS]:
        _note_pattern(tx, pattern)
    return tx.topic(TOPIC).subscribe(email, predicates)


def _note_pattern(tx: Transaction, pattern: str) -> None:
    # While the counter is locked no comic arrives: all later records have higher ids than the newest one now.
    tx.counter(STOCK).next()
    newest = tx.topic(TOPIC).records(limit=1)
    tx[PATTERNS].add(pattern, data={"after": newest[0].id if newest else 0})


def _once(tx: Transaction, *, key: str, asked: Any, do: Verb) -> tuple[Any, bool]:
    return tx.once(key, asked, do=lambda: do(tx)) if key else (do(tx), False)


def _complete(tx: Transaction, *, email: str, comic: Mapping[str, Any]) -> dict[str, Any]:
    known = model.digest(comic)
    while copies := _copies(tx, known):
        # Of two customers who want the last copy, only one can settle it.
        if tx[STOCK].done(copies[0].key):
            return {"sale": _written(tx, SALES, email, comic), "message": THANKS}
    tx.topic(TOPIC).forget(email, known)
    return {"refund": _written(tx, REFUNDS, email, comic), "message": APOLOGY}


def _copies(tx: Transaction, known: str) -> list[Item]:
    return [copy for copy in tx[STOCK].page(after=f"{known}-", limit=1) if copy.key.startswith(f"{known}-")]


def _written(tx: Transaction, ledger: str, email: str, comic: Mapping[str, Any]) -> dict[str, Any]:
    number = tx.counter(ledger).next()
    entry = {"comic": dict(comic), "email": email}
    tx[ledger].add(f"{number:012}", data=entry)
    return {"id": number, **entry}


def _refund(tx: Transaction, *, number: str) -> dict[str, Any]:
    key = _padded(number)
    if key not in tx[SALES]:
        raise NotFound(f"there is no sale {number}", "see GET /sales; a sale is refunded once")
    sale = tx[SALES].show(key).data
    if not tx[SALES].done(key):
        raise NotFound(f"there is no sale {number} any more", "a sale is refunded once")
    _arrive(tx, comic=sale["comic"])
    return {"refund": _written(tx, REFUNDS, sale["email"], sale["comic"])}
