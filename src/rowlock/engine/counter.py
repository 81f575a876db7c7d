"""A counter in a user's hands: each method asks the database, nothing is remembered."""

from typing import Any

from rowlock import counters
from rowlock.engine.runner import Runner


class Counter:
    """A counter by its name: it hands out 1, 2, 3 …, no number twice and, taken in a transaction, none left out."""

    def __init__(self, runner: Runner, name: str) -> None:
        self._runner = runner
        self.name = name

    def __repr__(self) -> str:
        return f"Counter({self.name!r})"

    def next(self, *, using: Any = None) -> int:
        """The next number. Within a transaction, `using` or `tx.counter(…)`, it is taken only if that commits."""
        return self.take(1, using=using)[0]

    def take(self, count: int, *, using: Any = None) -> range:
        """The next so many numbers, in a row."""
        runner = self._runner if using is None else self._runner.join(using)
        return runner.run(counters.take, self.name, count)

    def show(self) -> int:
        """The last number that was taken; 0 if none."""
        return self._runner.read(counters.show, self.name)

    def raise_to(self, number: int, *, using: Any = None) -> int:
        """See to it that the next number is above this one; a counter is never lowered. The last one taken."""
        runner = self._runner if using is None else self._runner.join(using)
        return runner.run(counters.raise_to, self.name, number)
