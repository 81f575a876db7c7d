"""Counters through Redis: it gives out numbers from blocks that were reserved in the database.

Whatever happens to Redis, no number comes twice; the rest of a lost block is a gap. The reasoning is in
docs/design/decisions/0014-redis-counters.md.
"""

import threading
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

import msgspec

from rowlock import counters
from rowlock.db.transaction import Verb
from rowlock.db.urls import masked
from rowlock.engine.counter import Counter
from rowlock.engine.engine import Engine
from rowlock.engine.transaction import Transaction
from rowlock.errors import CounterSpent, ExtraMissing, Invalid, RedisUnavailable

P = ParamSpec("P")
T = TypeVar("T")

BLOCK_SIZE = 1_000
MAX_BLOCK_SIZE = 1_000_000
RETRY_REDIS_SECONDS = 1.0
"""How long the database is used instead after Redis has failed."""
MAX_TRIES = 10
MAX_WAITING_TRIES = 3
"""How often to wait for a block that another process has reserved before reserving one."""
WAIT_SECONDS = 0.005
MAX_CACHED_COUNTERS = 100_000
LOCKS = 64

LUA = Path(__file__).parent.parent / "lua"

# What is wrong, and what to do: of servers that cannot be used, by what a script answers.
_UNUSABLE = {
    "replica": ("is a replica", "name the primary"),
    "cluster": ("is a cluster, which may move a counter between servers", "name a single server"),
    "strange": ("does not tell its run_id and master_replid", "let its user run INFO, or use the database's counters"),
    "foreign": ("has something else in the place of a counter", "choose another prefix"),
}
_DENIED = ("does not accept this user or password, or not for EVAL and INFO", "check the address and its ACL")
_FULL = ("has no memory left", "raise its maxmemory; nothing of this was taken there")
# Of errors, by a class of the driver or by the text of a script's error; the first that fits.
_TROUBLES = {
    "AuthenticationError": _DENIED,
    "NoPermissionError": _DENIED,
    "NOPERM": _DENIED,
    "no permissions": _DENIED,
    "can't run this command": _DENIED,
    "TimeoutError": ("did not answer in time", "look at its load, or raise timeout"),
    "OutOfMemoryError": _FULL,
    "OOM": _FULL,
    "BusyLoadingError": ("is still reading its data", "wait until it has"),
    "ReadOnlyError": _UNUSABLE["replica"],
    "ConnectionError": ("cannot be reached", "check host and port, and that the server runs"),
}


class _Known(msgspec.Struct, frozen=True):
    """A block that belongs to our database, and how much of it this process has seen used."""

    epoch: str = ""
    used: int = 0


class RedisCounters:
    """Counters whose numbers Redis gives out: always unique, without gaps only while Redis loses nothing.

    `block` numbers at a time are reserved in the database. When Redis cannot be reached, `fallback="database"` takes
    numbers there; without it that is an error.
    """

    def __init__(
        self,
        engine: Engine,
        url: str,
        *,
        block: int = BLOCK_SIZE,
        fallback: Literal["database"] | None = None,
        prefix: str = "rowlock",
        timeout: float = 1.0,
    ) -> None:
        if isinstance(block, bool) or not isinstance(block, int) or not 1 <= block <= MAX_BLOCK_SIZE:
            raise Invalid(f"block must be 1 to {MAX_BLOCK_SIZE}, got {block!r}", f"leave it out for {BLOCK_SIZE}")
        if fallback not in (None, "database"):
            raise Invalid(f"fallback must be 'database' or None, got {fallback!r}", "leave it out for none")
        self._engine = engine
        self._block = block
        self._fallback = fallback
        self._prefix = prefix
        self._shown = masked(url)
        self._client = _client(url, timeout)
        life = (LUA / "life.lua").read_text()
        self._scripts = {
            name: self._client.register_script(life + (LUA / f"{name}.lua").read_text())
            for name in ("take", "put", "remove")
        }
        self._known: dict[str, _Known] = {}
        self._locks = [threading.Lock() for _ in range(LOCKS)]
        self._retry_redis_at = float("-inf")

    def __repr__(self) -> str:
        return f"RedisCounters({self._shown!r})"

    def __enter__(self) -> "RedisCounters":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def counter(self, name: str) -> Counter:
        """Return a counter by its name; it need not exist yet. It shares its numbers with the engine's of that name."""
        return Counter(self, name)

    def close(self) -> None:
        """Close the connections to Redis; the engine stays open."""
        self._client.close()

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb of counters: numbers are taken from Redis, everything else is done in the database."""
        chosen: Any = verb
        if chosen is counters.take:
            return self._take(*args, **kwargs)  # type: ignore[return-value, arg-type]
        answer = self._engine.run(verb, *args, **kwargs)
        if chosen is counters.raise_to:
            self._call("remove", str(args[0]))
        return answer

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads, in the database."""
        return self._engine.read(verb, *args, **kwargs)

    def join(self, using: Any) -> Transaction:
        """Return your open transaction; numbers taken there come from the database."""
        return self._engine.join(using)

    def _take(self, name: str, count: int) -> range:
        counters.check_take(name, count)
        if count > self._block or self._engine.environment.monotonic() < self._retry_redis_at:
            return self._engine.counter(name).take(count)
        try:
            answer = self._try(name, count)
            return answer if isinstance(answer, range) else self._refill(name, count)
        except CounterSpent:
            return self._engine.counter(name).take(count)  # less than a block is left
        except RedisUnavailable as trouble:
            if self._fallback is None:
                raise
            self._retry_redis_at = self._engine.environment.monotonic() + RETRY_REDIS_SECONDS
            import logging  # slow to import, and needed only here

            logging.getLogger("rowlock.redis").warning("%s; numbers are taken from the database", trouble.what)
            return self._engine.counter(name).take(count)

    def _refill(self, name: str, count: int) -> range:
        with self._locks[hash(name) % LOCKS]:
            before: str | None = self._known.get(name, _Known()).epoch
            for attempt in range(MAX_TRIES):
                answer = self._try(name, count)
                if isinstance(answer, range):
                    return answer
                why, life, epoch_in_redis = answer
                epoch = self._engine.read(counters.epoch, name) or ""
                if why == "other" and epoch_in_redis == epoch:
                    self._remember(name, _Known(epoch))
                elif before not in ("", epoch) and attempt < MAX_WAITING_TRIES:
                    # Another process has just reserved a block, and will put it there in a moment.
                    self._engine.environment.sleep(self._engine.environment.jittered(WAIT_SECONDS))
                    before = epoch
                elif (numbers := self._reserve(name, count, life=life, instead=(epoch_in_redis, epoch))) is not None:
                    return numbers
        # Other processes are faster each time: a number from the database is unique too.
        return self._engine.counter(name).take(count)

    def _reserve(self, name: str, count: int, *, life: str, instead: tuple[str, str]) -> range | None:
        epoch_in_redis, epoch_here = instead
        epoch = self._engine.environment.token()
        block = self._engine.grouped.run(counters.reserve, name, self._block, epoch=epoch, instead=epoch_here)
        if block is None:
            return None
        # The first numbers are ours even if the rest does not get there: no other process has this block.
        answer = self._call("put", name, life, epoch_in_redis, epoch, block[0], len(block), count, again=False)
        if answer[0] == "put":
            self._remember(name, _Known(epoch, count))
        return block[:count]

    def _try(self, name: str, count: int) -> range | tuple[str, str, str]:
        known = self._known.get(name, _Known())
        status, first, second = self._call("take", name, known.epoch, count, known.used)
        if status != "taken":
            return status, first, second
        low, used = int(first), int(second)
        self._remember(name, _Known(known.epoch, used + count))
        return range(low + used, low + used + count)

    def _remember(self, name: str, known: _Known) -> None:
        if len(self._known) >= MAX_CACHED_COUNTERS:
            self._known.clear()
        self._known[name] = known

    def _call(self, script: str, name: str, *arguments: object, again: bool = True) -> tuple[str, str, str]:
        import redis  # optional, and slow to import

        key = f"{self._prefix}:counter:{name}"
        try:
            answer = self._scripts[script](keys=[key], args=arguments)
        except redis.RedisError as error:
            if again and isinstance(error, redis.ConnectionError):
                # A kept connection fails first after a restart; asking twice costs a gap at worst.
                return self._call(script, name, *arguments, again=False)
            raise self._translated(error) from None
        status, *rest = [each.decode() if isinstance(each, bytes) else str(each) for each in answer]
        if status in _UNUSABLE:
            what, hint = _UNUSABLE[status]
            raise RedisUnavailable(f"{self._shown} {what}", hint)
        return status, rest[0], rest[1]

    def _translated(self, error: Exception) -> RedisUnavailable:
        kinds, text = {kind.__name__ for kind in type(error).__mro__}, str(error)
        fitting = (words for sign, words in _TROUBLES.items() if sign in kinds or sign in text)
        what, hint = next(fitting, ("failed", "look at its log"))
        return RedisUnavailable(f"{self._shown} {what}", hint)


def _client(url: str, timeout: float) -> Any:
    try:
        import redis  # optional, and slow to import
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError:
        raise ExtraMissing("RedisCounters needs the package redis", "run: pip install 'rowlock[redis]'") from None
    # The driver must not retry after an unknown outcome: a block would be put there twice.
    never = Retry(NoBackoff(), 0)
    try:
        return redis.Redis.from_url(
            url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=never, retry_on_timeout=False
        )
    except ValueError:
        raise Invalid(f"invalid Redis address {masked(url)!r}", "write redis://host:6379/0") from None
