"""Typed items: data that is decoded and checked before a handler gets it, and the types of handlers."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar, overload

import msgspec

from rowlock.engine import Transaction
from rowlock.errors import Invalid, InvalidData
from rowlock.model import Item
from rowlock.names import short_repr
from rowlock.outcomes import Outcome, error_text

D = TypeVar("D")
A = TypeVar("A")
Second = TypeVar("Second")
Returned = TypeVar("Returned", bound="Outcome | Coroutine[Any, Any, Outcome | None] | None")
ReturnedByBatch = TypeVar("ReturnedByBatch", bound="Outcome | Sequence[Any] | Mapping[str, Any] | None")

Decode = Callable[[bytes], Any]
"""Decodes the JSON of an item's data, and raises if it does not fit."""


class TypedItem(Item, Generic[D], frozen=True, kw_only=True, gc=True):
    """An item of a handler that was registered with `data=`: its `data` is a value of that type."""

    decoded: D

    @property
    def data(self) -> D:
        """The item's data, decoded and checked once."""
        return self.decoded


class HandlerDecorator(Protocol[A, Second]):
    """Registers a function of an item, or of an item and its turn, and returns it."""

    @overload
    def __call__(self, function: Callable[[A], Returned], /) -> Callable[[A], Returned]: ...
    @overload
    def __call__(self, function: Callable[[A, Second], Returned], /) -> Callable[[A, Second], Returned]: ...


class BatchDecorator(Protocol[A]):
    """Registers a function of many items, or of them and the settling transaction, and returns it."""

    @overload
    def __call__(self, function: Callable[[list[A]], ReturnedByBatch], /) -> Callable[[list[A]], ReturnedByBatch]: ...
    @overload
    def __call__(
        self, function: Callable[[list[A], Transaction], ReturnedByBatch], /
    ) -> Callable[[list[A], Transaction], ReturnedByBatch]: ...


def data_decoder(kind: Any) -> Decode | None:
    """Return what decodes data as this type: a model of pydantic, or any type that msgspec knows; None for None."""
    if kind is None:
        return None
    if hasattr(kind, "model_validate_json"):
        validate: Decode = kind.model_validate_json
        return validate
    try:
        return msgspec.json.Decoder(kind).decode
    except TypeError:
        what = f"data must be a type that msgspec or pydantic decodes, got {short_repr(kind)}"
        raise Invalid(what, "give a msgspec.Struct, a dataclass, a TypedDict or a pydantic model") from None


def decode_all(
    items: Sequence[Item], decode: Decode, *, gate_name: str | None
) -> tuple[list[Item], list[tuple[Item, InvalidData]]]:
    """Return the items with their data decoded, and those whose data does not fit, each with its error."""
    good: list[Item] = []
    bad: list[tuple[Item, InvalidData]] = []
    for item in items:
        try:
            decoded = decode(bytes(item.raw))
        except BaseException as error:  # a validator of somebody else's may do anything
            what = f"the data of {short_repr(item.key)} does not fit: {_mismatch(error)}"
            bad.append((item, InvalidData(what, "save other data, then retry it")))
            continue
        fields = msgspec.structs.asdict(item) | {"gate_name": gate_name, "decoded": decoded}
        good.append(TypedItem(**fields))
    return good, bad


def _mismatch(error: BaseException) -> str:
    """Return what does not fit, with the name of the field."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return error_text(error)
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'data'}: {each['msg']}" for each in errors())
