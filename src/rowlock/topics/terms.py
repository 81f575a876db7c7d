"""Index terms: what a subscription asks for and what a record has, reduced to hashes that can be compared.

A *term* is a 64-bit hash of one thing that is known of one field: its value, the first characters of it, or the cell
of the number line that it lies in. A *term spec* says which of these a term is. A *signature* is the combination of
term specs that a key of the index is made of. Specs and signatures are stored as text; only this module knows how.
"""

import re
from collections.abc import Callable, Iterable
from datetime import date
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from struct import pack, unpack
from typing import Any, NamedTuple

from rowlock.topics.predicates import ORDERED, Fields

EQUALITY_COLUMNS, RANGE_COLUMNS = 12, 6
"""Columns of an index entry for fields that only have equality, and for fields that have an order."""
LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""Bounds of a column, of a term and of a key: signed integers of 64 bits."""
CELL_BITS_PER_LEVEL = 2
"""A cell of one level is four times as wide as a cell of the level below."""


class TermKind(StrEnum):
    """What a term says of a field; the letter is how it is stored."""

    EQUALS = "e"
    PREFIX = "p"
    """The first characters of the value, as many as the size of the spec says."""
    CELL = "c"
    """The cell that the value lies in; the size of the spec is the level of the cell."""
    AT_LEAST = "g"
    """There is a lower bound; entries under the key are ordered by it."""
    AT_MOST = "l"
    """There is an upper bound; entries under the key are ordered by it."""


SIZED = (TermKind.PREFIX, TermKind.CELL)
ORDERED_KINDS = (TermKind.AT_LEAST, TermKind.AT_MOST)

_STORED_SPEC = re.compile(r"([0-9]+)([epcgl])([0-9]*)")


class TermSpec(NamedTuple):
    """Which terms are meant: those of one kind, size and field, the field given by its number."""

    field: int
    kind: TermKind
    size: int = 0


Signature = tuple[TermSpec, ...]
"""Term specs in order, each once; empty for the key that every record looks under."""


@lru_cache(maxsize=4096)
def encode_spec(spec: TermSpec) -> str:
    """Return the stored text of a spec: `3e`, `3p8`, `3c12`, `3g`."""
    return f"{spec.field}{spec.kind}{spec.size}" if spec.kind in SIZED else f"{spec.field}{spec.kind}"


@lru_cache(maxsize=4096)
def decode_spec(text: str) -> TermSpec:
    """Read the stored text of a spec."""
    found = _STORED_SPEC.fullmatch(text)
    if found is None:
        raise ValueError(f"invalid term spec {text!r}")
    field, kind, size = found.groups()
    return TermSpec(int(field), TermKind(kind), int(size or 0))


def signature_of(specs: Iterable[TermSpec]) -> Signature:
    """Return the signature that is made of these specs."""
    return tuple(sorted(specs))


@lru_cache(maxsize=4096)
def encode_signature(signature: Signature) -> str:
    """Return the stored text of a signature, in the order of texts: `0e+1c2`, `10e+2e`."""
    return "+".join(sorted(map(encode_spec, signature)))


@lru_cache(maxsize=4096)
def decode_signature(text: str) -> Signature:
    """Read the stored text of a signature."""
    return signature_of(map(decode_spec, text.split("+"))) if text else ()


@lru_cache(maxsize=65536)
def _term(topic: int, spec: TermSpec, content: str) -> int:
    return _hashed(topic, encode_spec(spec), content)


def _hashed(topic: int, about: str, content: str) -> int:
    # 64 bits: that two different terms of one topic have the same hash is not expected to happen.
    text = f"{topic}\0{about}\0{content}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def to_int64(total: int) -> int:
    """Wrap a sum to a signed integer of 64 bits, as databases and arrays do."""
    return (total + 2**63) % 2**64 - 2**63


def cell_of(value: int, level: int) -> int:
    """Return the number of the cell that a value lies in."""
    return value >> CELL_BITS_PER_LEVEL * level


def _number_ordinal(value: float) -> int:
    # The bits of a float, read as an integer, have its order; those of a negative float have the reverse order.
    bits: int = unpack("<q", pack("<d", value))[0]
    return bits if bits >= 0 else bits ^ HIGHEST


_ORDINALS: dict[str, Callable[[Any], int]] = {
    "date": lambda value: date.fromisoformat(value).toordinal(),
    "number": lambda value: _number_ordinal(float(value)),
}
"""How values of a kind are mapped to integers in the same order; values of other kinds stay as they are."""


class FieldLayout:
    """The fields of a topic, numbered, with the columns of an index entry that hold them."""

    def __init__(self, topic: int, fields: Fields) -> None:
        self.topic = topic
        self.names = list(fields)
        self.numbers = {name: number for number, name in enumerate(fields)}
        unordered = [name for name, kind in fields.items() if kind not in ORDERED]
        ordered = [name for name, kind in fields.items() if kind in ORDERED]
        self.equality_columns = {name: column for column, name in enumerate(unordered[:EQUALITY_COLUMNS])}
        self.range_columns = {name: column for column, name in enumerate(ordered[:RANGE_COLUMNS])}
        self.equality = {name: TermSpec(number, TermKind.EQUALS) for name, number in self.numbers.items()}
        self.match_all_key = _hashed(topic, "all", "")
        self._ordinals = {name: _ORDINALS.get(kind) for name, kind in fields.items()}

    def ordinal(self, name: str, value: Any) -> Any:
        """Map a field's value to an integer in the same order; a value without an order stays as it is."""
        convert = self._ordinals[name]
        return value if convert is None else convert(value)

    def equality_term(self, name: str, value: Any) -> int:
        """Return the term of a field's value."""
        return _term(self.topic, self.equality[name], str(self.ordinal(name, value)))

    def term(self, spec: TermSpec, content: str = "") -> int:
        """Return the term of what a spec takes of a value: text of the value, of its prefix or of its cell."""
        return _term(self.topic, spec, content)

    def extractor(self, spec: TermSpec) -> Callable[[Any], int | None]:
        """Return a function that gives the term of a field's value, or None if the value has no term of this spec."""
        # Cached: values of one field are of one type, so equal values have equal terms.
        return lru_cache(maxsize=1024)(self._extractor(spec))

    def _extractor(self, spec: TermSpec) -> Callable[[Any], int | None]:
        name, size, topic = self.names[spec.field], spec.size, self.topic
        match spec.kind:
            case TermKind.EQUALS:
                return lambda value: _term(topic, spec, str(self.ordinal(name, value)))
            case TermKind.PREFIX:
                return lambda value: _term(topic, spec, value[:size]) if len(value) >= size else None
            case TermKind.CELL:
                return lambda value: _term(topic, spec, str(cell_of(self.ordinal(name, value), size)))
        return lambda _: _term(topic, spec, "")
