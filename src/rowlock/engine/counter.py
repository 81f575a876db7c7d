"""The handle of a counter: each method calls the database, nothing is cached."""

from typing import Any

from rowlock import counters
from rowlock.engine.protocols import NamedHandle


class Counter(NamedHandle):
    """A counter by its name: it gives 1, 2, 3 …, no number twice and, taken in a transaction, without gaps."""

    _noun = "counter"

    def next(self, *, using: Any = None) -> int:
        """Take the next number. Within a transaction, `using` or `tx.counter(…)`, it is taken only if that commits."""
        return self.take(1, using=using)[0]

    def take(self, count: int, *, using: Any = None) -> range:
        """Take the next `count` numbers, which follow each other."""
        return self._joined(using).run(counters.take, self.name, count)

    def show(self) -> int:
        """Return the last number that was taken; 0 before the first."""
        return self._runner.read(counters.show, self.name)

    def raise_to(self, number: int, *, using: Any = None) -> int:
        """Make the next number be above this one, and return the last one taken; a counter is never lowered."""
        return self._joined(using).run(counters.raise_to, self.name, number)
