"""The handle of a transaction: rows of the user and of rowlock commit together."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from rowlock import audit, counters, db, idempotency
from rowlock.db.transaction import Verb, verb_name
from rowlock.engine.counter import Counter
from rowlock.engine.list import List
from rowlock.engine.schedule import Schedule
from rowlock.engine.topic import Topic
from rowlock.errors import InvalidTransaction
from rowlock.json_codec import encode_json
from rowlock.operation_history import TransactionRecord

P = ParamSpec("P")
T = TypeVar("T")


class Transaction:
    """An open transaction: your own SQL, and lists whose changes commit with it."""

    def __init__(self, begin: Callable[[], db.Tx], record: TransactionRecord | None = None) -> None:
        self._begin: Callable[[], db.Tx] | None = begin
        self._record = record
        self._open: db.Tx | None = None

    @property
    def begun(self) -> bool:
        """Whether it has begun: a late transaction holds no lock before its first use."""
        return self._open is not None

    @property
    def _is_open(self) -> bool:
        """Whether it is neither committed nor rolled back yet, as far as can be seen."""
        return self._open is not None and self._open.is_open()

    @property
    def _begun_here(self) -> bool:
        """Whether it holds a connection of the engine's pool; else the caller has begun it."""
        return self._open is not None and self._open.driver_is_open is None

    def _is_same(self, other: "Transaction | None") -> bool:
        """Return whether both are handles of one transaction; of a caller's connection that is not known."""
        return other is not None and other._open is self._open

    @property
    def _tx(self) -> db.Tx:
        if self._open is None and self._begin is not None:
            self._open = self._begin()
        if self._open is None or self._open.ended:
            raise InvalidTransaction("this transaction has ended", "begin another: with engine.transaction() as tx:")
        return self._open

    def _end(self) -> None:
        """Refuse to begin, if it has not been used yet."""
        self._begin = None

    def __getitem__(self, name: str) -> "List":
        return List(self, name)

    def schedule(self, name: str) -> Schedule:
        """Return a schedule whose changes commit with this transaction."""
        return Schedule(self, name)

    def counter(self, name: str) -> Counter:
        """Return a counter by its name: a number taken here is taken only if this transaction commits."""
        return Counter(self, name)

    def numbers(self, wanted: Mapping[str, int]) -> dict[str, range]:
        """Take numbers of several counters in one statement: `wanted` says how many of each."""
        return self.run(counters.take_each, wanted)

    def once(self, key: str, asked: Any, *, do: Callable[[], T]) -> tuple[T, bool]:
        """Call `do` once per key: return its answer, or the stored one of the first time, and whether it was stored.

        The answer must be JSON. KeyReused if `asked` differs from that of the first time.
        """
        return self.run(
            idempotency.run_once, idempotency.digest(key), idempotency.digest(encode_json(asked)), do=lambda _: do()
        )

    def topic(self, name: str) -> Topic:
        """Return a topic whose changes commit with this transaction."""
        return Topic(self, name)

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        """Run SQL of your own, with your driver's placeholders."""
        return self._tx.execute(sql, parameters)

    def executemany(self, sql: str, rows: Iterable[Any]) -> Any:
        """Run SQL of your own once per row."""
        return self._tx.executemany(sql, rows)

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb here; it commits with this transaction. If it raises, nothing of it stays."""
        audited = audit.audited(verb)
        single: Callable[..., T | None] | None = getattr(audited, "single_statement", None)
        with self._tx.savepoint():
            answer = None if single is None else single(self._tx, *args, **kwargs)
            answer = audited(self._tx, *args, **kwargs) if answer is None else answer
        if self._record is not None:
            self._record.add(verb_name(audited), args=args, kwargs=kwargs, answer=answer)
        return answer

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads; it sees what this transaction wrote."""
        return verb(self._tx, *args, **kwargs)

    def join(self, using: Any) -> "Transaction":
        """Return this transaction; any other is refused."""
        if isinstance(using, Transaction) and using is self:
            return self
        raise TypeError("using= must be the transaction itself, or left out, for a list of an open transaction")
