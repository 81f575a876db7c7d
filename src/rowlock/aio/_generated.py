"""Async handles, written by tools/async_handles.py from the plain ones. Not to be changed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowlock.aio.handle import AsyncHandle, AsyncThreadPool, plain, same
from rowlock.audit import DEFAULT_KEEP, MAX_ID
from rowlock.db.database import MAX_CONNECTIONS, PATIENCE_SECONDS
from rowlock.engine import (
    Claim,
    Counter,
    Engine,
    Grouped,
    List,
    RedisCounters,
    Schedule,
    Session,
    Tokens,
    Topic,
    Transaction,
)
from rowlock.environment import REAL_ENVIRONMENT
from rowlock.model import DEFAULT_PRIORITY
from rowlock.outcomes import UNCHANGED
from rowlock.schedules.plans import DEFAULT_KEY

if TYPE_CHECKING:
    import asyncio
    import threading
    from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from datetime import datetime
    from pathlib import Path
    from typing import Any, Unpack

    from msgspec import UnsetType

    from rowlock import claims, db, upkeep
    from rowlock.audit import AuditRecord
    from rowlock.counters import CounterInfo
    from rowlock.db import Database
    from rowlock.db.transaction import Clock, Verb, Work
    from rowlock.durations import Duration
    from rowlock.engine.engine import BatchedFunction, X, Y
    from rowlock.engine.list import Keys
    from rowlock.engine.protocols import Writer
    from rowlock.engine.transaction import P, T
    from rowlock.environment import Environment
    from rowlock.failures import FailureGroup
    from rowlock.item_input import Entries
    from rowlock.item_search import Conditions, MatchCount, SearchPage
    from rowlock.key_ranges import Range
    from rowlock.model import (
        Added,
        Counts,
        DurationOrTime,
        Failure,
        GateInfo,
        Item,
        ListInfo,
        Notification,
        Progress,
        Published,
        RecordInfo,
        Settings,
        Subscription,
        Then,
        TopicInfo,
    )
    from rowlock.operation_history import Sink
    from rowlock.outcomes import Outcome, Verdict
    from rowlock.overview import ItemOverview, ListDetails, Overview
    from rowlock.progress import ProgressSnapshot
    from rowlock.results import Result
    from rowlock.schedules import Change, ScheduleInfo, Tick
    from rowlock.schedules.history import PastTick
    from rowlock.sessions import ClaimInfo, SessionInfo
    from rowlock.throughput import Throughput
    from rowlock.tokens import NewToken, TokenInfo
    from rowlock.topics.overview import TopicOverview
    from rowlock.topics.subscriptions import Entry
    from rowlock.trees import RankedSet

__all__ = [
    "AsyncClaim",
    "AsyncCounter",
    "AsyncEngine",
    "AsyncGrouped",
    "AsyncList",
    "AsyncRedisCounters",
    "AsyncSchedule",
    "AsyncSession",
    "AsyncTokens",
    "AsyncTopic",
    "AsyncTransaction",
]


class AsyncClaim(AsyncHandle[Claim]):
    """An interval of a list, held by a session: iterate over its items and say the outcome of each.

    `settle`, or the end of a with block, writes the outcomes in one transaction; items without one are given back. What
    `settle(using=…)` has given to a transaction of yours, the end of the block leaves to that transaction.
    """

    @property
    def taken(self) -> claims.ClaimedItems:
        return self._plain.taken

    @property
    def token(self) -> str:
        """The claim's fencing token, which is never used again."""
        return self._plain.token

    @property
    def items(self) -> list[Item]:
        """The claimed items, in order."""
        return self._plain.items

    @property
    def settled(self) -> bool:
        """Whether the claim was settled and has ended; the commit of a transaction of yours is not seen here."""
        return self._plain.settled

    def __iter__(self) -> Iterator[Item]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)

    async def __aenter__(self) -> AsyncClaim:
        await self._run(self._plain.__enter__)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._finish(lambda: self._plain.__exit__(*_))

    def done(self, item: Item, result: Any = None) -> None:
        """Say that an item is done."""
        self._plain.done(item, result)

    def retry(self, item: Item, why: str | BaseException = "", *, after: Duration | None = None) -> None:
        """Say that an item failed and shall be tried again, after the list's backoff or the given time."""
        self._plain.retry(item, why, after=after)

    def fail(self, item: Item, why: str | BaseException = "") -> None:
        """Say that an item failed for good, whatever attempts are left."""
        self._plain.fail(item, why)

    def move(
        self, item: Item, gate: int | str | None = None, *, data: Any = UNCHANGED, until: str | None = None
    ) -> None:
        """Say that an item moves to another gate, with new data if given; not before the list `until` is complete."""
        self._plain.move(item, gate, data=data, until=until)

    def say(self, item: Item, outcome: Outcome) -> None:
        """Say an item's outcome, which `settle` writes; the last one counts."""
        self._plain.say(item, outcome)

    async def settle(self, *, using: Any = None, close: bool = True, partial: bool = False) -> dict[str, Verdict]:
        """Write the outcomes that are not written yet, end the claim, and return all verdicts by key.

        They are written in one transaction, or in yours if `using` gives one: then they count when that commits, after
        a rollback the same call settles again, and the verdicts are those on what this call writes. StaleClaim if the
        claim has ended, and in your transaction also if another one has settled it. ItemsGone, in your transaction only
        and unless `partial` asks for verdicts, if items were taken off the list meanwhile. Whatever is raised, nothing
        was written. Without `close` items without an outcome stay claimed.
        """
        return await self._run(lambda: self._plain.settle(using=plain(using), close=close, partial=partial), using)


class AsyncCounter(AsyncHandle[Counter]):
    """A counter by its name: it gives 1, 2, 3 …, no number twice and, taken in a transaction, without gaps."""

    @property
    def name(self) -> str:
        return self._plain.name

    async def next(self, *, using: Any = None) -> int:
        """Take the next number. Within a transaction, `using` or `tx.counter(…)`, it is taken only if that commits."""
        return await self._run(lambda: self._plain.next(using=plain(using)), using)

    async def take(self, count: int, *, using: Any = None) -> range:
        """Take the next `count` numbers, which follow each other."""
        return await self._run(lambda: self._plain.take(count, using=plain(using)), using)

    async def show(self) -> int:
        """Return the last number that was taken; 0 before the first."""
        return await self._run(self._plain.show)

    async def raise_to(self, number: int, *, using: Any = None) -> int:
        """Make the next number be above this one, and return the last one taken; a counter is never lowered."""
        return await self._run(lambda: self._plain.raise_to(number, using=plain(using)), using)


class AsyncEngine(AsyncHandle[Engine]):
    """Work tracking on one database: `engine["downloads"]` is a list.

    A SQLite file is made and migrated when it is first used; a server's database is migrated by `rowlock migrate`.
    """

    _ends_threads = True

    def __init__(
        self,
        url: str | Path | db.Address | None = None,
        *,
        listen_url: str | None = None,
        schema: str | None = None,
        patience: float = PATIENCE_SECONDS,
        connections: int = MAX_CONNECTIONS,
        statement_seconds: float = 0,
        history: str | Path | Sink | None = None,
        environment: Environment = REAL_ENVIRONMENT,
        clock: Clock | None = None,
        wrap: Callable[[Any], Any] = lambda connection: connection,
    ) -> None:
        self._bind(
            Engine(
                url,
                listen_url=listen_url,
                schema=schema,
                patience=patience,
                connections=connections,
                statement_seconds=statement_seconds,
                history=history,
                environment=environment,
                clock=clock,
                wrap=wrap,
            ),
            AsyncThreadPool(),
        )

    @property
    def database(self) -> Database:
        return self._plain.database

    @property
    def environment(self) -> Environment:
        return self._plain.environment

    async def __aenter__(self) -> AsyncEngine:
        await self._run(self._plain.__enter__)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._finish(lambda: self._plain.__exit__(*_))

    @property
    def dialect(self) -> str:
        """The dialect for SQL of your own: "sqlite", "postgres" or "cockroach"."""
        return self._plain.dialect

    def counter(self, name: str) -> AsyncCounter:
        """Return a counter by its name; it need not exist yet. Concurrent calls are committed together."""
        return AsyncCounter._view(self._plain.counter(name), self._threads)

    async def tick(self) -> list[Tick]:
        """Add the items of all ticks that are due, as every worker does, and return the ticks."""
        return await self._run(self._plain.tick)

    @property
    def tokens(self) -> AsyncTokens:
        """The access tokens of this database, for the HTTP service."""
        return AsyncTokens._view(self._plain.tokens, self._threads)

    def acting(
        self, who: str, *, token: int | None = None, request: str | None = None, keep: Duration = DEFAULT_KEEP
    ) -> AbstractContextManager[None]:
        """Open a block in which every verb that writes is audited under this name, in the write's own transaction."""
        return self._plain.acting(who, token=token, request=request, keep=keep)

    async def upkeep(self, *, wait: Duration = 0) -> upkeep.UpkeepReport:
        """Run one bounded pass of housekeeping: end dead sessions, promote what is due, fold, prune.

        A session whose deadline has passed ends when this engine has seen no heartbeat of it for half of its expiry:
        by a later call, or by this one if it may `wait` so long.
        """
        return await self._run(lambda: self._plain.upkeep(wait=wait))

    @property
    def grouped(self) -> AsyncGrouped:
        """The engine's lists for many threads at once: concurrent writes are committed together."""
        return AsyncGrouped._view(self._plain.grouped, self._threads)

    def transaction(self) -> AbstractAsyncContextManager[AsyncTransaction, bool | None]:
        """Open a transaction for your rows and ours: all of it commits at the end of the block, or nothing."""
        return self._block(self._plain.transaction, AsyncTransaction._view)

    def late_transaction(self) -> AbstractAsyncContextManager[AsyncTransaction, bool | None]:
        """Open a transaction that begins when it is first used, so that nothing is locked before."""
        return self._block(self._plain.late_transaction, AsyncTransaction._view)

    def dedicated_connection(self) -> AbstractAsyncContextManager[Writer, bool | None]:
        """Open a connection outside of the pool, for calls that must not wait until others are done."""
        return self._block(self._plain.dedicated_connection, same)

    async def join(self, using: Any) -> AsyncTransaction:
        """Return your open transaction (sqlite3, psycopg, SQLAlchemy, Django) with our verbs; you commit it, or not."""
        return AsyncTransaction._view(await self._run(lambda: self._plain.join(plain(using)), using), self._threads)

    async def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in a transaction of its own; again after a conflict or a lost connection."""
        return await self._run(lambda: self._plain.run(verb, *args, **kwargs))

    async def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""
        return await self._run(lambda: self._plain.read(verb, *args, **kwargs))

    async def recorded(self, run: Callable[..., T], verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `run` with a verb and its arguments, and write the call to the history if there is one."""
        return await self._run(lambda: self._plain.recorded(run, verb, *args, **kwargs))

    async def pipeline(self, *works: Work) -> list[Any]:
        """Do several pieces of work in one round trip and return their results; each must be idempotent."""
        return await self._run(lambda: self._plain.pipeline(*works))

    async def make_ready(self) -> None:
        """Check the schema once: a SQLite file is migrated, a server's database must have been."""
        await self._run(self._plain.make_ready)

    async def migrate(self) -> list[str]:
        """Migrate the schema to what this program needs, and return the names of the migrations applied."""
        return await self._run(self._plain.migrate)

    async def close(self) -> None:
        """Finish the calls that wait, and close all connections; a closed engine is not used again."""
        await self._finish(self._plain.close)

    def __getitem__(self, name: str) -> AsyncList:
        return AsyncList._view(self._plain[name], self._threads)

    async def lists(self, *, after: str = "", limit: int = 1000) -> list[ListInfo]:
        """Return lists in the order of their names, strictly after one, with counts and progress."""
        return await self._run(lambda: self._plain.lists(after=after, limit=limit))

    async def overview(self, *, contains: str = "", offset: int = 0, limit: int = 50) -> Overview:
        """Return what is wrong, and lists with counts, rate and oldest item, those with the most urgent alert first."""
        return await self._run(lambda: self._plain.overview(contains=contains, offset=offset, limit=limit))

    async def throughput(self, *, span: Duration = "1h") -> Throughput:
        """Return how many items of all lists were added, done and failed in each minute, hour or day of a span."""
        return await self._run(lambda: self._plain.throughput(span=span))

    async def counters(self, *, after: str = "", limit: int = 1000) -> list[CounterInfo]:
        """Return counters in the order of their names, strictly after one."""
        return await self._run(lambda: self._plain.counters(after=after, limit=limit))

    def topic(self, name: str) -> AsyncTopic:
        """Return a topic by its name; it need not exist yet."""
        return AsyncTopic._view(self._plain.topic(name), self._threads)

    async def topics(self, *, after: str = "", limit: int = 1000) -> list[TopicInfo]:
        """Return topics in the order of their names, strictly after one."""
        return await self._run(lambda: self._plain.topics(after=after, limit=limit))

    async def sessions(self, *, limit: int = 1000) -> list[SessionInfo]:
        """Return the live sessions, the oldest first."""
        return await self._run(lambda: self._plain.sessions(limit=limit))

    async def claims(self, *, session: str = "", of: str = "", limit: int = 1000) -> list[ClaimInfo]:
        """Return live claims, the oldest first: who holds which part of which list."""
        return await self._run(lambda: self._plain.claims(session=session, of=of, limit=limit))

    def session(
        self, *, holder: str | None = None, expiry: Duration = "15s", details: Any = None, beats: bool = True
    ) -> AsyncSession:
        """Return a session to claim under, for a with block: it sends heartbeats by itself, and its claims end with it.

        Without `beats` it lives for its expiry and may outlive this process: see `rejoin`.
        """
        return AsyncSession._view(
            self._plain.session(holder=holder, expiry=expiry, details=details, beats=beats), self._threads
        )

    def rejoin(self, session: str, *, expiry: Duration = "15s") -> AsyncSession:
        """Return a session without heartbeats that was opened elsewhere, by its id; `beat` extends it by its expiry."""
        return AsyncSession._view(self._plain.rejoin(session, expiry=expiry), self._threads)

    def schedule(self, name: str) -> AsyncSchedule:
        """Return a schedule by its name; it need not exist yet."""
        return AsyncSchedule._view(self._plain.schedule(name), self._threads)

    async def schedules(self, *, after: str = "", limit: int = 1000) -> list[ScheduleInfo]:
        """Return schedules in the order of their names, strictly after one."""
        return await self._run(lambda: self._plain.schedules(after=after, limit=limit))

    async def audit(
        self, *, of: str | None = None, since: DurationOrTime | None = None, before: int = MAX_ID, limit: int = 1000
    ) -> list[AuditRecord]:
        """Return the audit, the newest record first: of one list, within a duration or since a time."""
        return await self._run(lambda: self._plain.audit(of=of, since=since, before=before, limit=limit))


class AsyncGrouped(AsyncHandle[Grouped]):
    """The engine's lists for many threads at once: concurrent writes are committed together.

    Each call is answered by itself, when it is durable; an error of one does not fail the others.
    """

    def __getitem__(self, name: str) -> AsyncList:
        return AsyncList._view(self._plain[name], self._threads)

    def counter(self, name: str) -> AsyncCounter:
        """Return a counter by its name; it need not exist yet."""
        return AsyncCounter._view(self._plain.counter(name), self._threads)

    async def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in one transaction with those of others, and wait for its answer."""
        return await self._run(lambda: self._plain.run(verb, *args, **kwargs))

    def ask(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a verb that writes in a group and return a `concurrent.futures.Future`."""
        return self._plain.ask(verb, *args, **kwargs)

    def awaited(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Run a verb that writes in a group and return an awaitable; no thread waits meanwhile."""
        return self._plain.awaited(verb, *args, **kwargs)

    def together(self, work: Callable[[Transaction, list[X]], Sequence[Y | Exception]]) -> BatchedFunction[X, Y]:
        """Return a function of yours for many callers: concurrent calls are one call of it, in one transaction."""
        return self._plain.together(work)

    async def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads, by itself."""
        return await self._run(lambda: self._plain.read(verb, *args, **kwargs))

    async def join(self, using: Any) -> AsyncTransaction:
        """Return your open transaction with our verbs."""
        return AsyncTransaction._view(await self._run(lambda: self._plain.join(plain(using)), using), self._threads)

    async def close(self) -> None:
        """Finish the calls that wait, and take no more; closing the engine does so."""
        await self._finish(self._plain.close)


class AsyncList(AsyncHandle[List]):
    """A list by its name; it need not exist yet. Each method calls the database, nothing is cached."""

    @property
    def name(self) -> str:
        return self._plain.name

    async def add(
        self,
        what: Entries,
        *,
        data: Any = None,
        due: DurationOrTime | None = None,
        gate: int | str | None = None,
        priority: int = DEFAULT_PRIORITY,
        strict: bool = False,
        trace: str | None = None,
        using: Any = None,
        report: Callable[[int], None] | None = None,
    ) -> Added:
        """Add a key, any iterable of keys and mappings, or an open file of lines; if one is invalid, none is added.

        What is there already stays as it is; `strict` refuses it. `using` is an open transaction of yours to do it in.
        `trace` is a W3C traceparent; left out, it is that of the OpenTelemetry span that goes on, if one does.
        `report` is called with the number of items written so far, from the start if the transaction is run again.
        """
        return await self._run(
            lambda: self._plain.add(
                what,
                data=data,
                due=due,
                gate=gate,
                priority=priority,
                strict=strict,
                trace=trace,
                using=plain(using),
                report=report,
            ),
            using,
        )

    async def page(self, *, after: str = "", limit: int = 1000, state: str | None = None) -> list[Item]:
        """Return items in the byte order of their keys, strictly after one."""
        return await self._run(lambda: self._plain.page(after=after, limit=limit, state=state))

    def __aiter__(self) -> AsyncGenerator[Item, None]:
        return self._iterate(lambda: iter(self._plain), same)

    def items(
        self, *, state: str | None = None, after: str = "", upto: str | None = None, page: int = 1000
    ) -> AsyncGenerator[Item, None]:
        """Iterate over all items in the byte order of their keys, or over a range, read page by page."""
        return self._iterate(lambda: self._plain.items(state=state, after=after, upto=upto, page=page), same)

    async def show(self, key: str) -> Item:
        """Return one item; NoSuchItem if it is not on the list."""
        return await self._run(lambda: self._plain.show(key))

    async def save(
        self,
        key: str,
        *,
        data: Any = UNCHANGED,
        due: DurationOrTime | UnsetType | None = UNCHANGED,
        priority: int | UnsetType = UNCHANGED,
        version: int | None = None,
    ) -> Item:
        """Change the given fields of an item, and return the item after the change.

        With `version`, only if it is at that one still: else StaleVersion. Without it the last one to save wins. One
        that is gone is NoSuchItem and stays gone; one that a worker has in hand is ItemClaimed.
        """
        return await self._run(lambda: self._plain.save(key, data=data, due=due, priority=priority, version=version))

    async def failures(self, key: str, *, limit: int = 20) -> list[Failure]:
        """Return the failures of an item, the newest first."""
        return await self._run(lambda: self._plain.failures(key, limit=limit))

    async def results(self, key: str, *, limit: int = 20) -> list[Result]:
        """Return the results of an item, the newest first; only where the list keeps results."""
        return await self._run(lambda: self._plain.results(key, limit=limit))

    async def newest_results(self, *, after: str = "", limit: int = 1000) -> list[Result]:
        """Return the newest result of each key, in the byte order of the keys, strictly after one."""
        return await self._run(lambda: self._plain.newest_results(after=after, limit=limit))

    async def remembered(self) -> int:
        """Return how many keys are remembered as done: a list with the setting `once` does not add them again."""
        return await self._run(self._plain.remembered)

    async def forget(self, keys: Keys | None = None, *, older: Duration | None = None) -> int:
        """Forget that keys were done, or all that were done at least `older` ago; return how many.

        They can be added again. By age, each 10,000 are a transaction.
        """
        return await self._run(lambda: self._plain.forget(keys, older=older))

    async def failure_groups(self, *, limit: int = 50) -> list[FailureGroup]:
        """Return failed items grouped by the shape of their last error, the most frequent first."""
        return await self._run(lambda: self._plain.failure_groups(limit=limit))

    async def keys_matching_error(self, text: str, *, after: str = "", limit: int = 1000) -> list[str]:
        """Return the keys of failed items whose last error contains the text, in byte order, strictly after one."""
        return await self._run(lambda: self._plain.keys_matching_error(text, after=after, limit=limit))

    async def increment(self, keys: Keys, *, error: str | None = None) -> int:
        """Note one failed attempt for each key, and return how many are on the list."""
        return await self._run(lambda: self._plain.increment(keys, error=error))

    async def done(self, keys: Keys, *, dry_run: bool = False) -> int:
        """Take items that are done off the list, and return how many were there; `dry_run` only counts them."""
        return await self._run(lambda: self._plain.done(keys, dry_run=dry_run))

    async def abandon(self, keys: Keys, *, dry_run: bool = False) -> int:
        """Take items off the list undone, and return how many were there; `dry_run` only counts them."""
        return await self._run(lambda: self._plain.abandon(keys, dry_run=dry_run))

    async def retry(self, keys: Keys, *, dry_run: bool = False) -> int:
        """Make failed and delayed items ready at once, and return how many were; `dry_run` only counts them."""
        return await self._run(lambda: self._plain.retry(keys, dry_run=dry_run))

    async def search(self, *, after: str = "", limit: int = 100, **where: Unpack[Conditions]) -> SearchPage:
        """Return items that match `state`, `prefix`, `error`, `attempts` and `gate`, strictly after a key.

        Looks at 5,000 items at most: a page may hold fewer than `limit`, and its `next` says where to go on.
        """
        return await self._run(lambda: self._plain.search(after=after, limit=limit, **where))

    async def count_matching(self, *, after: str = "", **where: Unpack[Conditions]) -> MatchCount:
        """Count the items that match, of the next 20,000; there may be more if `next` is not None."""
        return await self._run(lambda: self._plain.count_matching(after=after, **where))

    async def done_matching(self, *, dry_run: bool = False, **where: Unpack[Conditions]) -> int:
        """Take all items that match off the list as done, and return how many; `dry_run` only counts them.

        Up to a thousand are a transaction, here and for the other changes of all that match.
        """
        return await self._run(lambda: self._plain.done_matching(dry_run=dry_run, **where))

    async def abandon_matching(self, *, dry_run: bool = False, **where: Unpack[Conditions]) -> int:
        """Take all items that match off the list undone, and return how many; `dry_run` only counts them."""
        return await self._run(lambda: self._plain.abandon_matching(dry_run=dry_run, **where))

    async def retry_matching(self, *, dry_run: bool = False, **where: Unpack[Conditions]) -> int:
        """Make all failed and delayed items that match ready, and return how many; `dry_run` only counts them."""
        return await self._run(lambda: self._plain.retry_matching(dry_run=dry_run, **where))

    async def retry_failed(self, *, error: str | None = None, dry_run: bool = False) -> int:
        """Make all failed items ready, or those whose last error contains `error`, and return how many."""
        return await self._run(lambda: self._plain.retry_failed(error=error, dry_run=dry_run))

    async def abandon_failed(self, *, error: str | None = None, dry_run: bool = False) -> int:
        """Take all failed items off the list, or those whose last error contains `error`, and return how many."""
        return await self._run(lambda: self._plain.abandon_failed(error=error, dry_run=dry_run))

    async def save_matching(
        self,
        *,
        data: Any = UNCHANGED,
        due: DurationOrTime | UnsetType | None = UNCHANGED,
        priority: int | UnsetType = UNCHANGED,
        **where: Unpack[Conditions],
    ) -> int:
        """Change the given fields of all items that match, and return how many; a hundred are a transaction.

        Claimed items stay as they are; so do failed ones, if the due time is given.
        """
        return await self._run(lambda: self._plain.save_matching(data=data, due=due, priority=priority, **where))

    async def ranges(self, parts: int) -> list[Range]:
        """Return the keys as up to `parts` ranges whose sizes differ by at most one, however long the list is."""
        return await self._run(lambda: self._plain.ranges(parts))

    async def snapshot(self) -> RankedSet[str]:
        """Return all keys as they are now, in a tree in memory with rank, nth and slices."""
        return await self._run(self._plain.snapshot)

    async def info(self) -> ListInfo:
        """Return the list's counts, progress and settings; NoSuchList if it does not exist."""
        return await self._run(self._plain.info)

    async def counts(self) -> Counts:
        """Return how many items are in each state; exact and fast for any number."""
        return await self._run(self._plain.counts)

    async def progress(self) -> Progress:
        """Return what has happened to the list's items since it was created."""
        return await self._run(self._plain.progress)

    def watch(self, *, every: Duration = "1s") -> AsyncGenerator[ProgressSnapshot, None]:
        """Iterate over the progress from now on, until nothing is left that is worked by itself; waits in between.

        The first snapshot comes at once, and the last one when the list is done. NoSuchList if it does not exist.
        """
        return self._iterate(lambda: self._plain.watch(every=every), same)

    async def overview(self, *, span: Duration = "1h") -> ListDetails:
        """Return the list with its gates, the sessions that work it, and its throughput in a span."""
        return await self._run(lambda: self._plain.overview(span=span))

    async def item_overview(self, key: str) -> ItemOverview:
        """Return an item with its failures, how long it has waited and a worker has held it, and its results."""
        return await self._run(lambda: self._plain.item_overview(key))

    async def throughput(self, *, span: Duration = "1h") -> Throughput:
        """Return how many items were added, done and failed in each minute, hour or day of a span."""
        return await self._run(lambda: self._plain.throughput(span=span))

    async def settings(self, *, version: int | None = None, **changes: Any) -> Settings:
        """Return the list's settings after setting those given, which creates the list."""
        return await self._run(lambda: self._plain.settings(version=version, **changes))

    async def gates(self) -> list[GateInfo]:
        """Return the gates: whether each is open, its items, and its progress."""
        return await self._run(self._plain.gates)

    async def open_gate(self, gate: int | str) -> bool:
        """Open a gate by hand; return whether that changed anything. GateShut if there are items before it."""
        return await self._run(lambda: self._plain.open_gate(gate))

    async def seal(self, *, then: str | Then | None = None) -> bool:
        """Take no more items, complete when none is left and add `then` to another list; return whether that is new."""
        return await self._run(lambda: self._plain.seal(then=then))

    async def complete(self) -> bool:
        """Complete the list by hand, whatever is left on it; return whether that changed anything."""
        return await self._run(self._plain.complete)

    async def reopen(self) -> bool:
        """Take items again after a seal or completion; return whether that changed anything."""
        return await self._run(self._plain.reopen)

    async def pause(self, *, version: int | None = None) -> bool:
        """Stop claims; return whether that changed anything. Claimed items may still be settled."""
        return await self._run(lambda: self._plain.pause(version=version))

    async def resume(self, *, version: int | None = None) -> bool:
        """Allow claims again; return whether that changed anything."""
        return await self._run(lambda: self._plain.resume(version=version))

    async def rename(self, to: str, *, version: int | None = None) -> None:
        """Rename the list; NameTaken if the name is in use."""
        await self._run(lambda: self._plain.rename(to, version=version))

    async def drop(self, *, version: int | None = None) -> int:
        """Delete the list with all its items and history, and return how many items it had."""
        return await self._run(lambda: self._plain.drop(version=version))


class AsyncRedisCounters(AsyncHandle[RedisCounters]):
    """Counters whose numbers Redis gives out: always unique, without gaps only while Redis loses nothing.

    `block` numbers at a time are reserved in the database. When Redis cannot be reached, `fallback="database"` takes
    numbers there; without it that is an error.
    """

    async def __aenter__(self) -> AsyncRedisCounters:
        await self._run(self._plain.__enter__)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._finish(lambda: self._plain.__exit__(*_))

    def counter(self, name: str) -> AsyncCounter:
        """Return a counter by its name; it need not exist yet. It shares its numbers with the engine's of that name."""
        return AsyncCounter._view(self._plain.counter(name), self._threads)

    async def close(self) -> None:
        """Close the connections to Redis; the engine stays open."""
        await self._finish(self._plain.close)

    async def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb of counters: numbers are taken from Redis, everything else is done in the database."""
        return await self._run(lambda: self._plain.run(verb, *args, **kwargs))

    async def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads, in the database."""
        return await self._run(lambda: self._plain.read(verb, *args, **kwargs))

    async def join(self, using: Any) -> AsyncTransaction:
        """Return your open transaction; numbers taken there come from the database."""
        return AsyncTransaction._view(await self._run(lambda: self._plain.join(plain(using)), using), self._threads)


class AsyncSchedule(AsyncHandle[Schedule]):
    """A schedule by its name; it need not exist yet. Each tick adds one item to a list, once over all workers."""

    @property
    def name(self) -> str:
        return self._plain.name

    async def set(
        self,
        to: str,
        *,
        cron: str | None = None,
        every: Duration | None = None,
        zone: str | None = None,
        start: datetime | None = None,
        key: str = DEFAULT_KEY,
        data: Any = None,
        gate: int | None = None,
        priority: int = DEFAULT_PRIORITY,
        catch_up: str = "last",
        version: int | None = None,
    ) -> Change:
        """Tick by `cron` or at an interval, each time with an item for the list `to`; return whether that is a change.

        Setting the same again changes nothing. A parameter that is left out goes back to its default.
        """
        return await self._run(
            lambda: self._plain.set(
                to,
                cron=cron,
                every=every,
                zone=zone,
                start=start,
                key=key,
                data=data,
                gate=gate,
                priority=priority,
                catch_up=catch_up,
                version=version,
            )
        )

    async def info(self) -> ScheduleInfo:
        """Return what it does and when it ticks; NoSuchSchedule if it does not exist."""
        return await self._run(self._plain.info)

    async def ticks(self, limit: int = 5) -> list[datetime]:
        """Return the next ticks, in the schedule's time zone; of a paused one, those it would have if resumed now."""
        return await self._run(lambda: self._plain.ticks(limit))

    async def history(self, *, limit: int = 20) -> list[PastTick]:
        """Return the last ticks, the newest first: when each was, and what came of it; 100 are kept."""
        return await self._run(lambda: self._plain.history(limit=limit))

    async def trigger(self) -> Added:
        """Add an item to the list now, as if this second were a tick; the ticks themselves do not change."""
        return await self._run(self._plain.trigger)

    async def pause(self, *, version: int | None = None) -> bool:
        """Stop ticking; return whether that changed anything."""
        return await self._run(lambda: self._plain.pause(version=version))

    async def resume(self, *, version: int | None = None) -> bool:
        """Tick again, from the next tick on; return whether that changed anything."""
        return await self._run(lambda: self._plain.resume(version=version))

    async def remove(self, *, version: int | None = None) -> None:
        """Delete the schedule; the items that it has added stay."""
        await self._run(lambda: self._plain.remove(version=version))


class AsyncSession(AsyncHandle[Session]):
    """A live worker. `lost` is set when its row is gone: stop working, nothing more can be settled."""

    @property
    def closing(self) -> threading.Event:
        return self._plain.closing

    @property
    def holder(self) -> str | None:
        return self._plain.holder

    @property
    def id(self) -> str:
        return self._plain.id

    @property
    def lost(self) -> threading.Event:
        return self._plain.lost

    async def __aenter__(self) -> AsyncSession:
        await self._run(self._plain.__enter__)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._finish(lambda: self._plain.__exit__(*_))

    async def open(self, *, seeks: Sequence[str] = ()) -> AsyncSession:
        """Store the session and start its heartbeat, if it has one; `seeks` are the patterns of the lists it works."""
        await self._run(lambda: self._plain.open(seeks=seeks))
        return self

    async def beat(self) -> None:
        """Extend the session by its expiry, where no heartbeat does it; StaleSession if it has ended."""
        await self._run(self._plain.beat)

    async def close(self) -> None:
        """End the session; what it has claimed is free at once."""
        await self._finish(self._plain.close)

    def claim(self, what: AsyncList | str, *, limit: int = 100) -> AsyncGenerator[AsyncClaim, None]:
        """Yield claim after claim until nothing is ready; each is settled when the next is asked for."""
        return self._iterate(lambda: self._plain.claim(plain(what), limit=limit), AsyncClaim._view)

    async def take(self, what: AsyncList | str, *, limit: int = 100) -> AsyncClaim | None:
        """Claim up to `limit` items of the list once; None if nothing is ready."""
        found = await self._run(lambda: self._plain.take(plain(what), limit=limit), what)
        return None if found is None else AsyncClaim._view(found, self._threads)

    async def held(self, token: str) -> AsyncClaim:
        """Return a claim under this session by its token, made here or by another process, with what is left of it.

        Its items are those that were claimed, as far as this process or the session's row knows: of a session without a
        heartbeat, or of a claim that was made here and is still in use. Else they are all items in its interval now,
        which nobody else can claim while it lives. StaleClaim if it has ended.
        """
        return AsyncClaim._view(await self._run(lambda: self._plain.held(token)), self._threads)


class AsyncTokens(AsyncHandle[Tokens]):
    """The access tokens of a database.

    `authenticate` caches for a second: a token that is revoked, by any process, is refused by every process within one.
    If the database cannot be reached after that, every token is refused.
    """

    async def create(
        self, role: str, *, lists: str | Iterable[str] = (), label: str = "", expires: DurationOrTime | None = None
    ) -> NewToken:
        """Create a token; only this returns its text. `lists` are prefixes of names, `expires` a duration or time."""
        return await self._run(lambda: self._plain.create(role, lists=lists, label=label, expires=expires))

    async def page(self, *, after: int = 0, limit: int = 1000, ended: bool = False) -> list[TokenInfo]:
        """Return tokens in the order of their ids, strictly after one; with `ended` also revoked and expired ones."""
        return await self._run(lambda: self._plain.page(after=after, limit=limit, ended=ended))

    async def revoke(self, token: int) -> bool:
        """Revoke a token by its id; return whether that changed anything."""
        return await self._run(lambda: self._plain.revoke(token))

    async def exist(self) -> bool:
        """Return whether there is or ever was a token, cached for a second: then every request needs one."""
        return await self._run(self._plain.exist)

    @property
    def known_absent(self) -> bool:
        """Whether the cache says that there never was a token."""
        return self._plain.known_absent

    async def authenticate(self, text: str) -> TokenInfo:
        """Return the token with this text; TokenRefused if it is unknown, revoked or expired."""
        return await self._run(lambda: self._plain.authenticate(text))

    def recall(self, text: str) -> TokenInfo | None:
        """Return the token with this text if it is cached; else None, and `authenticate` reads the database."""
        return self._plain.recall(text)

    async def note_used(self) -> int:
        """Store which tokens were used since the last call; return how many were not noted within a minute before."""
        return await self._run(self._plain.note_used)


class AsyncTopic(AsyncHandle[Topic]):
    """A topic by its name: standing queries, and the records that are matched against them."""

    @property
    def name(self) -> str:
        return self._plain.name

    async def define(
        self, fields: Mapping[str, str] | None = None, /, *, keep_for: str | None = None, **more: str
    ) -> TopicInfo:
        """Create the topic with these fields, or add them to it: text, integer, number, boolean or date.

        Existing fields stay; another type for one of them is refused. `keep_for` is how long its history is kept.
        """
        return await self._run(lambda: self._plain.define(fields, keep_for=keep_for, **more))

    async def info(self) -> TopicInfo:
        """Return the topic's fields and settings; NoSuchTopic if it does not exist."""
        return await self._run(self._plain.info)

    async def overview(self, *, limit: int = 50) -> TopicOverview:
        """Return the topic with its first subscriptions, undelivered notifications and failed deliveries."""
        return await self._run(lambda: self._plain.overview(limit=limit))

    async def subscribe(
        self, subscriber: str, predicates: Mapping[str, Any] | None = None, /, *, using: Any = None, **more: Any
    ) -> int:
        """Subscribe to records that fulfil all predicates, and return the subscription's number.

        Subscribing to the same again changes nothing. `using` is an open transaction of yours to do it in.
        """
        return await self._run(lambda: self._plain.subscribe(subscriber, predicates, using=plain(using), **more), using)

    async def subscribe_many(self, entries: Iterable[Entry], *, using: Any = None) -> list[int]:
        """Subscribe many pairs of subscriber and predicates, all or none, and return their numbers."""
        return await self._run(lambda: self._plain.subscribe_many(entries, using=plain(using)), using)

    async def unsubscribe(
        self, which: int | str, predicates: Mapping[str, Any] | None = None, /, *, using: Any = None, **more: Any
    ) -> int:
        """Remove a subscription by its number, or a subscriber's: those with the predicates given, else all of them.

        Return how many were removed. Subscribers are still notified of records that were published before.
        """
        return await self._run(lambda: self._plain.unsubscribe(which, predicates, using=plain(using), **more), using)

    async def subscriptions(
        self, *, subscriber: str | None = None, after: int = 0, limit: int = 1000
    ) -> list[Subscription]:
        """Return subscriptions in the order of their numbers, strictly after one; all, or one subscriber's."""
        return await self._run(lambda: self._plain.subscriptions(subscriber=subscriber, after=after, limit=limit))

    async def count(self) -> int:
        """Return the number of subscriptions."""
        return await self._run(self._plain.count)

    async def matches(self, record: Mapping[str, Any], *, limit: int = 1000) -> list[Subscription]:
        """Return the subscriptions that a record would match if it were published now; it is not published."""
        return await self._run(lambda: self._plain.matches(record, limit=limit))

    async def publish(self, record: Mapping[str, Any], *, key: str | None = None, using: Any = None) -> int:
        """Publish a record and return its number; workers that `deliver` notify who is subscribed when it commits.

        A subscriber is not notified twice of records with one key.
        """
        return await self._run(lambda: self._plain.publish(record, key=key, using=plain(using)), using)

    async def publish_many(
        self,
        given: Iterable[Mapping[str, Any]],
        *,
        keys: Iterable[str | None] | None = None,
        partial: bool = False,
        using: Any = None,
    ) -> list[Published]:
        """Publish up to 1,000 records and return the result of each, in order.

        If one is invalid nothing is published, and the error names it; with `partial` the others are published.
        """
        return await self._run(
            lambda: self._plain.publish_many(given, keys=keys, partial=partial, using=plain(using)), using
        )

    async def records(self, *, before: int | None = None, limit: int = 50) -> list[RecordInfo]:
        """Return published records, the newest first, strictly before a number."""
        return await self._run(lambda: self._plain.records(before=before, limit=limit))

    async def notifications(
        self,
        *,
        subscriber: str | None = None,
        delivered: bool | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[Notification]:
        """Return notifications, delivered and pending, the newest first, strictly before a number."""
        return await self._run(
            lambda: self._plain.notifications(subscriber=subscriber, delivered=delivered, before=before, limit=limit)
        )

    async def forget(self, subscriber: str, record: int | str, *, using: Any = None) -> bool:
        """Forget that a subscriber was notified of a record, by its number or key; return whether that was noted."""
        return await self._run(lambda: self._plain.forget(subscriber, record, using=plain(using)), using)

    async def failed(self) -> int:
        """Return how many notifications have failed, all attempts spent; they stay until they are retried."""
        return await self._run(self._plain.failed)

    async def retry(self) -> int:
        """Retry all notifications that have failed, and return how many."""
        return await self._run(self._plain.retry)

    async def deliver(
        self,
        worker: Any,
        function: Any = None,
        *,
        attempts: int | None = None,
        backoff: str | None = None,
        timeout: Duration | None = "30s",
        in_memory: bool = False,
    ) -> Any:
        """Have a worker match this topic's records and call `function(notification)` for every subscriber that matches.

        Use it as a decorator, or give the function: a `def`, an `async def`, a `Webhook` or a `Mail`. What it returns
        or raises is the outcome, as with any handler. With `in_memory` the worker keeps a copy of the subscriptions, to
        match faster.
        """
        return await self._run(
            lambda: self._plain.deliver(
                worker, function, attempts=attempts, backoff=backoff, timeout=timeout, in_memory=in_memory
            )
        )


class AsyncTransaction(AsyncHandle[Transaction]):
    """An open transaction: your own SQL, and lists whose changes commit with it."""

    @property
    def begun(self) -> bool:
        """Whether it has begun: a late transaction holds no lock before its first use."""
        return self._plain.begun

    def __getitem__(self, name: str) -> AsyncList:
        return AsyncList._view(self._plain[name], self._threads)

    def schedule(self, name: str) -> AsyncSchedule:
        """Return a schedule whose changes commit with this transaction."""
        return AsyncSchedule._view(self._plain.schedule(name), self._threads)

    def counter(self, name: str) -> AsyncCounter:
        """Return a counter by its name: a number taken here is taken only if this transaction commits."""
        return AsyncCounter._view(self._plain.counter(name), self._threads)

    async def numbers(self, wanted: Mapping[str, int]) -> dict[str, range]:
        """Take numbers of several counters in one statement: `wanted` says how many of each."""
        return await self._run(lambda: self._plain.numbers(wanted))

    async def once(self, key: str, asked: Any, *, do: Callable[[], T]) -> tuple[T, bool]:
        """Call `do` once per key: return its answer, or the stored one of the first time, and whether it was stored.

        The answer must be JSON. KeyReused if `asked` differs from that of the first time.
        """
        return await self._run(lambda: self._plain.once(key, asked, do=do))

    def topic(self, name: str) -> AsyncTopic:
        """Return a topic whose changes commit with this transaction."""
        return AsyncTopic._view(self._plain.topic(name), self._threads)

    async def execute(self, sql: str, parameters: Any = ()) -> Any:
        """Run SQL of your own, with your driver's placeholders."""
        return await self._run(lambda: self._plain.execute(sql, parameters))

    async def executemany(self, sql: str, rows: Iterable[Any]) -> Any:
        """Run SQL of your own once per row."""
        return await self._run(lambda: self._plain.executemany(sql, rows))

    async def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb here; it commits with this transaction. If it raises, nothing of it stays."""
        return await self._run(lambda: self._plain.run(verb, *args, **kwargs))

    async def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads; it sees what this transaction wrote."""
        return await self._run(lambda: self._plain.read(verb, *args, **kwargs))

    async def join(self, using: Any) -> AsyncTransaction:
        """Return this transaction; any other is refused."""
        await self._run(lambda: self._plain.join(plain(using)), using)
        return self
