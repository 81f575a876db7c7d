"""Whoever can run a verb: an engine in a transaction of its own, a transaction that is open, a client by a server."""

from typing import Any, ParamSpec, Protocol, TypeVar

from rowlock.db.database import Verb

P = ParamSpec("P")
T = TypeVar("T")


class Writer(Protocol):
    """Whoever can run a verb that writes."""

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes."""


class Runner(Writer, Protocol):
    """Whoever can run any verb, and inside a transaction of the caller's own if it can be had."""

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""

    def join(self, using: Any) -> "Runner":
        """The same verbs inside a transaction that the caller has open."""
