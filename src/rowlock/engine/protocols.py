"""Protocols of what runs a verb (an engine, a transaction, a client), and the base class of named handles."""

from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar

from rowlock.db.transaction import Verb
from rowlock.names import check_name

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


class NamedHandle:
    """A list, counter, schedule or topic by its name; it need not exist yet."""

    _noun: ClassVar[str]

    def __init__(self, runner: Runner, name: str) -> None:
        check_name(name, self._noun)
        self._runner = runner
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _joined(self, using: Any) -> Runner:
        """Return what runs verbs: the caller's open transaction if one is given."""
        return self._runner if using is None else self._runner.join(using)
