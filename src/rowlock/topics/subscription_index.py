"""Subscription index: the entries under which a record finds subscriptions. Pure functions, no database access.

A predicate is reduced to *terms*, each the hash of a field and a value, a beginning or a cell. A subscription is filed
under the sum of its one or two rarest terms, its *key*; a record computes the keys of all *shapes* in use, which are
the combinations of fields that any key is made of, and looks nowhere else. What the key does not say is checked in the
columns of the row: a hash for each field with equality, a low and a high end for each field with an order.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from hashlib import blake2b
from itertools import combinations, product
from math import prod
from struct import pack, unpack
from typing import Any

import msgspec

from rowlock.topics.predicates import ORDERED, Fields, Predicates

CODES, RANGES = 12, 6
"""Fields with equality and fields with an order that have columns; what goes beyond is checked by hand."""
ROWS = 32
"""Rows that a subscription may be spread over by its one-of predicates; wider ones are checked by hand."""
LENGTHS = (64, 48, 32, 24, 16, 12, 8, 6, 5, 4, 3, 2, 1)
"""Lengths under which beginnings are filed."""
LOWEST, HIGHEST = -(2**63), 2**63 - 1
GROUPS = {f"c{slot}": 2 << slot // 4 for slot in range(CODES)}
GROUPS |= {f"{end}{slot}": 16 << slot // 3 for end in "lh" for slot in range(RANGES)}
"""The bit of `checks` that says whether a row has anything in a column: most have little, and are looked at quickly."""
CROWDED = 1024
"""KeyDirectory with more than this are worth telling apart by a range."""
BY_HAND = 8
"""How much longer it takes to check a row by hand."""
MOST_SHAPES = 256


class Conjunction(msgspec.Struct):
    """One way in which a subscription can be fulfilled."""

    terms: dict[str, int] = {}
    """The terms under which it can be filed, by the part of a shape that each is."""
    columns: dict[str, dict[str, int]] = {}
    """What is stored to be checked, by what it checks; what the key says itself is left out."""
    spans: dict[int, tuple[int | None, int | None]] = {}
    """Ranges by the number of their field."""
    unchecked: set[str] = set()
    """What no column says: left to a key that has it, or to be checked by hand."""


class IndexEntry(msgspec.Struct, frozen=True):
    """A row under a key."""

    shape: str
    key: int
    sort: int
    columns: dict[str, int]
    """What is stored beside the key: codes, low and high ends, and which groups of them there are."""


class ColumnLayout:
    """A topic's fields with the columns that they have."""

    def __init__(self, topic: int, fields: Fields) -> None:
        self.topic = topic
        self.fields = dict(fields)
        self.numbers = {name: number for number, name in enumerate(fields)}
        equal = [name for name, kind in fields.items() if kind not in ORDERED]
        ordered = [name for name, kind in fields.items() if kind in ORDERED]
        self.codes = {name: slot for slot, name in enumerate(equal[:CODES])}
        self.ranges = {name: slot for slot, name in enumerate(ordered[:RANGES])}
        self.everything = _hashed(topic, "all", "")
        self._coders = {name: _CODERS.get(kind) for name, kind in fields.items()}

    def term(self, name: str, value: Any) -> tuple[str, int]:
        """The term of equality."""
        part = f"{self.numbers[name]}e"
        return part, _hashed(self.topic, part, str(self.code(name, value)))

    def code(self, name: str, value: Any) -> Any:
        """A value in the order of whole numbers, if its field has one."""
        coder = self._coders[name]
        return value if coder is None else coder(value)


@lru_cache(maxsize=65536)
def _hashed(topic: int, part: str, value: str) -> int:
    """A term as a number of 64 bits: of two different ones nobody will live to see the same."""
    text = f"{topic}\0{part}\0{value}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def wrapped(total: int) -> int:
    """A sum as a signed number of 64 bits, as databases and arrays add."""
    return (total + 2**63) % 2**64 - 2**63


def _number_code(value: float) -> int:
    # The bits of a float, read as a whole number, have its order; those of a negative one backwards.
    bits: int = unpack("<q", pack("<d", value))[0]
    return bits if bits >= 0 else bits ^ HIGHEST


_CODERS: dict[str, Callable[[Any], int]] = {
    "date": lambda value: date.fromisoformat(value).toordinal(),
    "number": lambda value: _number_code(float(value)),
}
"""How values of a kind become numbers; others are what they are."""


def rows(layout: ColumnLayout, predicates: Predicates) -> list[Conjunction]:
    """The ways in which canonical predicates can be fulfilled; a record fulfils one of them or none."""
    wide = {name: asked["in"] for name, asked in predicates.items() if isinstance(asked, dict) and "in" in asked}
    plain = any(not isinstance(asked, dict) or "prefix" in asked for asked in predicates.values())
    spread = _spread(wide, alone=not plain)
    found = []
    for values in product(*spread.values()):
        row = Conjunction()
        for name, asked in {**predicates, **dict(zip(spread, values, strict=True))}.items():
            _enter(layout, row, name, asked)
        found.append(row)
    return found


def _spread(wide: Mapping[str, Sequence[Any]], *, alone: bool) -> dict[str, Sequence[Any]]:
    chosen: dict[str, Sequence[Any]] = {}
    count = 1
    for name, values in sorted(wide.items(), key=lambda each: len(each[1])):
        # The narrowest is spread however wide it is, where there is nothing else to file under.
        if count * len(values) <= ROWS or (alone and not chosen):
            chosen[name] = values
            count *= len(values)
    return chosen


def _enter(layout: ColumnLayout, row: Conjunction, name: str, asked: Any) -> None:
    number = layout.numbers[name]
    match asked:
        case {"in": _}:
            row.unchecked.add(f"{number}in")
        case {"prefix": beginning}:
            length = next(length for length in LENGTHS if length <= len(beginning))
            part = f"{number}p{length}"
            row.terms[part] = _hashed(layout.topic, part, beginning[:length])
            row.unchecked.add(part if length == len(beginning) else f"{part} and more")
        case dict():
            _enter_range(layout, row, name, asked)
        case _:
            part, code = layout.term(name, asked)
            row.terms[part] = code
            if name in layout.codes:
                row.columns[part] = {f"c{layout.codes[name]}": code}
            elif name in layout.ranges:
                value, slot = layout.code(name, asked), layout.ranges[name]
                row.columns[part] = {f"l{slot}": value, f"h{slot}": value}
            else:
                row.unchecked.add(part)


def _enter_range(layout: ColumnLayout, row: Conjunction, name: str, asked: Mapping[str, Any]) -> None:
    low = high = None
    if "from" in asked or "above" in asked:
        low = layout.code(name, asked["from"]) if "from" in asked else layout.code(name, asked["above"]) + 1
    if "to" in asked or "below" in asked:
        high = layout.code(name, asked["to"]) if "to" in asked else layout.code(name, asked["below"]) - 1
    number, slot = layout.numbers[name], layout.ranges.get(name)
    row.spans[number] = low, high
    if slot is None:
        row.unchecked.add(f"{number}r")
    else:
        ends = {f"l{slot}": low, f"h{slot}": high}
        row.columns[f"{number}r"] = {column: end for column, end in ends.items() if end is not None}


class Selectivity(msgspec.Struct):
    """How many rows have a term, as far as anybody knows, and which shapes a key may have."""

    rows: dict[int, int] = {}
    total: int = 0
    shapes: set[str] = set()
    """Shapes in use: every record looks there already."""
    parts: dict[str, int] = {}
    """How many rows have a term of a part at all."""
    worth: set[str] = set()
    """Shapes that save more than the look-up that each of them costs every record."""

    def of(self, term: int) -> int:
        """How many there are of a term, about."""
        return self.rows.get(term, 0)

    def share(self, part: str, term: int) -> float:
        """How many of all records have a term, if they are as people wish."""
        return self.of(term) / max(self.parts.get(part, self.total), 1)

    def together(self, terms: Iterable[int]) -> float:
        """How many have all of the terms, if they have nothing to do with each other."""
        count = float(max(self.total, 1))
        for term in terms:
            count *= self.of(term) / max(self.total, 1)
        return count

    def allows(self, parts: Iterable[str]) -> bool:
        """Whether a key may be made of these: each shape more is a look-up more for every record."""
        shape = "+".join(sorted(parts))
        return shape in self.shapes or (shape in self.worth and len(self.shapes) < MOST_SHAPES)


def file(layout: ColumnLayout, row: Conjunction, *, weights: Selectivity) -> list[IndexEntry]:
    """The row under its key, or under two where it is filed by a range that lies in two cells."""
    chosen = rarest(row, weights)
    cells: list[tuple[dict[str, int], int]] = [({}, 0)]
    if row.spans and (not chosen or crowded(row, chosen, weights=weights)):
        spanned = spread_out(layout, row.spans)
        if not chosen or weights.allows([*chosen, *spanned[0][0]]):
            cells = spanned
    return [_filed(layout, row, {part: row.terms[part] for part in chosen} | more, sort) for more, sort in cells]


def rarest(row: Conjunction, weights: Selectivity) -> Sequence[str]:
    """The term that the fewest records have, or the two, where they may be together."""
    if len(row.terms) < 2:
        return list(row.terms)
    shares = {part: weights.share(part, term) for part, term in row.terms.items()}
    pairs = [pair for pair in combinations(sorted(shares), 2) if weights.allows(pair)]

    def cost(parts: Sequence[str]) -> tuple[float, Sequence[str]]:
        looks = 1 if row.unchecked.issubset(parts) else BY_HAND
        return looks * prod(shares[part] for part in parts), parts

    return min([*pairs, *((part,) for part in shares)], key=cost)


def crowded(row: Conjunction, chosen: Iterable[str], *, weights: Selectivity) -> bool:
    """Whether so many lie under a key that a range should tell them apart."""
    return weights.together(row.terms[part] for part in chosen) > CROWDED


def spread_out(
    layout: ColumnLayout, spans: Mapping[int, tuple[int | None, int | None]]
) -> list[tuple[dict[str, int], int]]:
    """The cells that cover the first range with two ends; or, of one with one end, the order of that end."""
    for number, (low, high) in spans.items():
        if low is not None and high is not None:
            level = ((high - low).bit_length() + 1) // 2
            part = f"{number}c{level}"
            ends = sorted({low >> 2 * level, high >> 2 * level})
            return [({part: _hashed(layout.topic, part, str(cell))}, 0) for cell in ends]
    number, (low, high) = next(iter(spans.items()))
    part = f"{number}g" if high is None else f"{number}l"
    end = low if high is None else high
    return [({part: _hashed(layout.topic, part, "")}, _ordered(end or 0))]


def _ordered(value: int) -> int:
    # In the same order, and never 0, which is where rows without an order stand.
    return value + 1 if 0 <= value < HIGHEST else value


def _filed(layout: ColumnLayout, row: Conjunction, terms: Mapping[str, int], sort: int) -> IndexEntry:
    key = wrapped(sum(terms.values())) if terms else layout.everything
    columns = {name: value for part, more in row.columns.items() if part not in terms for name, value in more.items()}
    checks = 1 if row.unchecked - terms.keys() else 0
    for name in columns:
        checks |= GROUPS[name]
    return IndexEntry("+".join(sorted(terms)), key, sort, {"checks": checks, **columns})


class Probes(msgspec.Struct, frozen=True):
    """What a record asks for: keys, keys with a range of their order, and its values by column."""

    keys: list[int]
    ranged: list[tuple[int, int, int]]
    codes: list[int | None]
    numbers: list[int | None]


Part = tuple[str, str, str, int]
"""A part of shapes: its kind, its field, how it is written, and the size of what it takes of a value."""


def _part(layout: ColumnLayout, text: str) -> Part:
    number = text.rstrip("0123456789")[:-1]
    return text[len(number)], list(layout.fields)[int(number)], text, int(text[len(number) + 1 :] or 0)


Term = Callable[[Any], int | None]
"""The term that a value is of a part, or None."""


def _finder(layout: ColumnLayout, part: Part) -> Term:
    kind, name, text, size = part

    # A field has values of one kind: those that are equal are the same.
    @lru_cache(maxsize=1024)
    def find(value: Any) -> int | None:
        if kind == "e":
            return _hashed(layout.topic, text, str(layout.code(name, value)))
        if kind == "p":
            return _hashed(layout.topic, text, value[:size]) if len(value) >= size else None
        if kind == "c":
            return _hashed(layout.topic, text, str(layout.code(name, value) >> 2 * size))
        return _hashed(layout.topic, text, "")

    return find


class ProbePlan:
    """How the records of a topic look for subscriptions: its layout, and the shapes in use."""

    def __init__(self, layout: ColumnLayout, shapes: Iterable[str]) -> None:
        self.layout = layout
        self.shapes = sorted(set(shapes))
        split = [shape.split("+") for shape in self.shapes if shape]
        equal = [f"{layout.numbers[name]}e" for name in layout.codes]
        texts = [*equal, *sorted({text for texts in split for text in texts} - set(equal))]
        places = {text: place for place, text in enumerate(texts)}
        parts = [_part(layout, text) for text in texts]
        self._finders = [(part[1], _finder(layout, part)) for part in parts]
        plain = [[places[text] for text in texts] for texts in split if not _sorting(texts)]
        self._ones = [first for first, *more in plain if not more]
        self._twos = [(each[0], each[1]) for each in plain if len(each) == 2]
        self._more = [each for each in plain if len(each) > 2]
        self._sorted = [
            (_part(layout, text)[1], text, [places[each] for each in texts])
            for texts in split
            if (text := _sorting(texts))
        ]
        self._everything = [layout.everything] if "" in self.shapes else []

    def probes(self, record: Mapping[str, Any]) -> Probes:
        """Where the subscriptions lie that a checked record may fulfil."""
        layout = self.layout
        terms = [find(record[name]) if name in record else None for name, find in self._finders]
        keys = [term for place in self._ones if (term := terms[place]) is not None]
        for first, second in self._twos:
            one, two = terms[first], terms[second]
            if one is not None and two is not None:
                keys.append((one + two + 2**63) % 2**64 - 2**63)
        keys += [key for places in self._more if (key := _sum(terms, places)) is not None]
        numbers = [layout.code(name, record[name]) if name in record else None for name in layout.ranges]
        return Probes(
            keys + self._everything,
            self._ranged(terms, record),
            terms[: len(layout.codes)] + [None] * (CODES - len(layout.codes)),
            numbers + [None] * (RANGES - len(numbers)),
        )

    def _ranged(self, terms: list[int | None], record: Mapping[str, Any]) -> list[tuple[int, int, int]]:
        found = []
        for name, text, places in self._sorted:
            key = _sum(terms, places)
            if key is not None:
                value = _ordered(self.layout.code(name, record[name]))
                found.append((key, LOWEST, value) if text[-1] == "g" else (key, value, HIGHEST))
        return found


def _sorting(parts: Iterable[str]) -> str:
    return next((part for part in parts if part[-1] in "gl"), "")


def _sum(terms: Sequence[int | None], places: Iterable[int]) -> int | None:
    total = 0
    for place in places:
        term = terms[place]
        if term is None:
            return None
        total += term
    return wrapped(total)
