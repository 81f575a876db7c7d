"""Standing queries on comics and records that meet them: ten fields, skewed, interest where most values are."""

from collections.abc import Iterator
from typing import Any

import numpy as np

# Name, number of values, sharpness of Zipf's law, how often a subscription names it.
TEXTS = (
    ("publisher", 40, 1.6, 3.0),
    ("series", 20_000, 0.95, 3.0),
    ("title", 200_000, 0.85, 2.0),
    ("writer", 5_000, 0.9, 1.5),
    ("artist", 5_000, 0.9, 1.5),
    ("format", 8, 1.5, 1.0),
    ("country", 60, 1.4, 1.0),
)
NUMBERS = (("year", 1.5), ("price", 2.0), ("grade", 1.0))
FIELDS = {name: "text" for name, *_ in TEXTS} | {name: "integer" for name, _ in NUMBERS}
WITH_PREFIX = ("series", "title")
SIZES = (0.10, 0.25, 0.30, 0.20, 0.15)
"""Shares of subscriptions with one to five predicates."""
TELLING = [place for place, (_, values, *_) in enumerate(TEXTS) if values >= 1_000]
DULL = 0.01
"""Share of subscriptions that may name nothing but what many others name too."""
CHUNK = 20_000


class Comics:
    """A world of comics, the same for the same seed."""

    def __init__(self, seed: int = 1) -> None:
        chance = np.random.default_rng(seed)
        self._codes, self._shares = [], []
        for _, values, sharpness, _ in TEXTS:
            weights = 1.0 / np.arange(1, values + 1) ** sharpness
            self._shares.append(np.cumsum(weights / weights.sum()))
            self._codes.append(chance.permutation(1_000_000)[:values])

    def subscriptions(self, size: int, seed: int = 2) -> Iterator[tuple[str, dict[str, Any]]]:
        """Subscribers, each with what it asks for."""
        chance = np.random.default_rng(seed)
        for start in range(0, size, CHUNK):
            count = min(CHUNK, size - start)
            for number, asked in enumerate(self._asked(chance, count), start):
                yield f"reader-{number:07d}@example.org", asked

    def records(self, size: int, seed: int = 3) -> list[dict[str, Any]]:
        """Records; one value in fifty is missing."""
        chance = np.random.default_rng(seed)
        columns = [self._texts(chance, place, size) for place in range(len(TEXTS))]
        columns += [self._numbers(chance, place, size) for place in range(len(NUMBERS))]
        there = chance.random((size, len(FIELDS))) >= 0.02
        return [
            {name: column[row] for name, column, here in zip(FIELDS, columns, there[row], strict=True) if here}
            for row in range(size)
        ]

    def _texts(self, chance: np.random.Generator, place: int, count: int) -> list[str]:
        found = np.searchsorted(self._shares[place], chance.random(count))
        codes = self._codes[place][np.minimum(found, len(self._codes[place]) - 1)]
        return [f"{'abcdefg'[place]}{code:06d}" for code in codes.tolist()]

    def _numbers(self, chance: np.random.Generator, place: int, count: int) -> list[int]:
        if place == 0:
            drawn = 2026 - np.minimum(chance.exponential(18, count), 95)
        elif place == 1:
            drawn = np.exp(chance.normal(7.5, 1.3, count))
        else:
            drawn = np.clip(chance.normal(75, 15, count), 5, 100)
        return [int(each) for each in drawn]

    def _asked(self, chance: np.random.Generator, count: int) -> Iterator[dict[str, Any]]:
        wanted = self._wanted(chance, count)
        texts = [self._texts(chance, place, count) for place in range(len(TEXTS))]
        others = [[self._texts(chance, place, count) for _ in range(4)] for place in range(len(TEXTS))]
        numbers = [self._numbers(chance, place, count) for place in range(len(NUMBERS))]
        kinds, extents = chance.random((count, len(FIELDS))), chance.integers(0, 4, (count, len(FIELDS)))
        for row in range(count):
            asked = {}
            for place in wanted[row]:
                kind, extent = kinds[row, place], int(extents[row, place])
                if place < len(TEXTS):
                    more = [each[row] for each in others[place][: extent + 1]]
                    asked[TEXTS[place][0]] = text_asked(TEXTS[place][0], texts[place][row], more, kind)
                else:
                    name = NUMBERS[place - len(TEXTS)][0]
                    asked[name] = number_asked(name, numbers[place - len(TEXTS)][row], kind, extent)
            yield asked

    def _wanted(self, chance: np.random.Generator, count: int) -> list[list[int]]:
        weights = np.array([weight for *_, weight in TEXTS] + [weight for _, weight in NUMBERS])
        order = (chance.exponential(size=(count, len(weights))) / weights).argsort(1)
        sizes = 1 + np.searchsorted(np.cumsum(SIZES), chance.random(count) * sum(SIZES))
        telling, dull = chance.choice(TELLING, count), chance.random(count) < DULL
        found = [order[row, : sizes[row]].tolist() for row in range(count)]
        for row, places in enumerate(found):
            if not dull[row] and not set(places) & set(TELLING):
                places.append(int(telling[row]))
        return found


def text_asked(name: str, value: str, more: list[str], kind: float) -> Any:
    """Mostly a value; one in ten is one of several, and some titles need only begin so."""
    if kind < 0.10:
        return {"in": [value, *more]}
    if kind < 0.15 and name in WITH_PREFIX:
        return {"prefix": value[: 4 + len(more) % 2]}
    return value


def number_asked(name: str, value: int, kind: float, extent: int) -> Any:
    """Years around one, prices up to one or near it, grades from one on."""
    if name == "year":
        span = (0, 4, 9, 19)[extent]
        return {"from": value - span // 2, "to": value + (span + 1) // 2}
    if name == "price":
        return {"to": value} if kind < 0.6 else {"from": int(value * 0.85), "to": int(value * 1.15)}
    return {"from": value}
