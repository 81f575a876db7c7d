"""Pipelines: verbs that send their statements first and read the rows later, for one round trip."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import msgspec

from rowlock.db.driver import Pending
from rowlock.db.transaction import Tx

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[[Tx], Pending[Any]]
"""A piece of a pipeline: it sends statements, and its result is read when the pipeline has ended."""


class PipelinedVerb(Generic[P, T]):
    """A verb in one spelling: call it like any other, or `bind` its arguments and give it to a pipeline.

    The function sends its statements and returns their result as pending: in a pipeline it is read only after the
    transaction has ended, so one statement's rows cannot decide what the next one is.
    """

    def __init__(self, send: Callable[Concatenate[Tx, P], Pending[T]]) -> None:
        self.send = send
        self.__name__ = send.__name__
        update_wrapper(self, send)

    def __call__(self, tx: Tx, /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run it alone."""
        return self.send(tx, *args, **kwargs).result()

    def __repr__(self) -> str:
        return f"{self.__module__.rpartition('.')[2]}.{self.__name__}"

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> "BoundVerb":
        """Return the call as a piece of a pipeline."""
        return BoundVerb(self, args, kwargs, unflushed=getattr(self, "unflushed", False))


class BoundVerb(msgspec.Struct, frozen=True):
    """A call of a pipelined verb, to be sent together with others."""

    verb: PipelinedVerb[Any, Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    unflushed: bool = False
    """Whether a power cut may forget it after it was answered."""

    def __call__(self, tx: Tx) -> Pending[Any]:
        """Send it."""
        return self.verb.send(tx, *self.args, **self.kwargs)


pipelined = PipelinedVerb
"""Make a verb of a function that sends statements and returns their result as pending."""
