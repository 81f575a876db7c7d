"""Whoever can run a verb: an engine in a transaction of its own, or a transaction that is open."""

from typing import Any, ParamSpec, Protocol, TypeVar

from rowlock.db.database import Verb

P = ParamSpec("P")
T = TypeVar("T")


class Runner(Protocol):
    """Whoever can run a verb: an engine in a transaction of its own, or a transaction that is open."""

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes."""

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""

    def join(self, using: Any) -> "Runner":
        """The same verbs inside a transaction that the caller has open."""
