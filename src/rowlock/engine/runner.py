"""What can run a verb: an engine in a transaction of its own, an open transaction, a client on a server."""

from typing import Any, ParamSpec, Protocol, TypeVar

from rowlock.db.database import Verb

P = ParamSpec("P")
T = TypeVar("T")


class Writer(Protocol):
    """Runs verbs that write."""

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes."""


class Runner(Writer, Protocol):
    """Runs any verb, where it can also inside a transaction of the caller."""

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""

    def join(self, using: Any) -> "Runner":
        """Return what runs verbs inside the caller's open transaction."""
