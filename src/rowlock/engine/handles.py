"""Handles by name, shared by engine and client: lists, counters, topics, schedules, sessions."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from rowlock import audit, counters, lists, overview, schedules, sessions, throughput, topics
from rowlock.audit import MAX_ID, AuditRecord
from rowlock.counters import CounterInfo
from rowlock.durations import Duration
from rowlock.engine.counter import Counter
from rowlock.engine.list import List
from rowlock.engine.protocols import Runner, Writer
from rowlock.engine.schedule import Schedule
from rowlock.engine.session import Session
from rowlock.engine.topic import Topic
from rowlock.environment import Environment
from rowlock.model import DurationOrTime, ListInfo, TopicInfo
from rowlock.overview import Overview
from rowlock.schedules import ScheduleInfo
from rowlock.sessions import ClaimInfo, SessionInfo
from rowlock.throughput import Throughput
from rowlock.upkeep import UpkeepReport


class Handles(Runner):
    """Makes handles by name, on what runs the verbs: a database, or a server."""

    environment: Environment
    _session_kind: ClassVar[type[Session]] = Session

    @abstractmethod
    def dedicated_connection(self) -> AbstractContextManager[Writer]:
        """Open a connection outside of the pool, for calls that must not wait until others are done."""

    @abstractmethod
    def upkeep(self, *, wait: Duration = 0) -> UpkeepReport:
        """Do one bounded pass of housekeeping; a server does its own."""

    @abstractmethod
    def pipeline(self, *works: Callable[..., Any]) -> list[Any]:
        """Do several pieces of work in one round trip and return their results; each must be idempotent."""

    def __getitem__(self, name: str) -> List:
        return List(self, name, environment=self.environment)

    def lists(self, *, after: str = "", limit: int = 1000) -> list[ListInfo]:
        """Return lists in the order of their names, strictly after one, with counts and progress."""
        return self.read(lists.page, after=after, limit=limit)

    def overview(self, *, contains: str = "", offset: int = 0, limit: int = 50) -> Overview:
        """Return what is wrong, and lists with counts, rate and oldest item, those with the most urgent alert first."""
        return self.read(overview.show, contains=contains, offset=offset, limit=limit)

    def throughput(self, *, span: Duration = "1h") -> Throughput:
        """Return how many items of all lists were added, done and failed in each minute, hour or day of a span."""
        return self.read(throughput.total, span=span)

    def counter(self, name: str) -> Counter:
        """Return a counter by its name; it need not exist yet."""
        return Counter(self, name)

    def counters(self, *, after: str = "", limit: int = 1000) -> list[CounterInfo]:
        """Return counters in the order of their names, strictly after one."""
        return self.read(counters.page, after=after, limit=limit)

    def topic(self, name: str) -> Topic:
        """Return a topic by its name; it need not exist yet."""
        return Topic(self, name)

    def topics(self, *, after: str = "", limit: int = 1000) -> list[TopicInfo]:
        """Return topics in the order of their names, strictly after one."""
        return self.read(topics.page, after=after, limit=limit)

    def sessions(self, *, limit: int = 1000) -> list[SessionInfo]:
        """Return the live sessions, the oldest first."""
        return self.read(sessions.page, limit=limit)

    def claims(self, *, session: str = "", of: str = "", limit: int = 1000) -> list[ClaimInfo]:
        """Return live claims, the oldest first: who holds which part of which list."""
        return self.read(sessions.claims_page, session=session, of=of, limit=limit)

    def session(
        self, *, holder: str | None = None, expiry: Duration = "15s", details: Any = None, beats: bool = True
    ) -> Session:
        """Return a session to claim under, for a with block: it sends heartbeats by itself, and its claims end with it.

        Without `beats` it lives for its expiry and may outlive this process: see `rejoin`.
        """
        return self._session_kind(self, holder=holder, expiry=expiry, details=details, beats=beats)

    def rejoin(self, session: str, *, expiry: Duration = "15s") -> Session:
        """Return a session without heartbeats that was opened elsewhere, by its id; `beat` extends it by its expiry."""
        return self._session_kind(self, holder=None, expiry=expiry, details=None, beats=False, session=session)

    def schedule(self, name: str) -> Schedule:
        """Return a schedule by its name; it need not exist yet."""
        return Schedule(self, name)

    def schedules(self, *, after: str = "", limit: int = 1000) -> list[ScheduleInfo]:
        """Return schedules in the order of their names, strictly after one."""
        return self.read(schedules.page, after=after, limit=limit)

    def audit(
        self, *, of: str | None = None, since: DurationOrTime | None = None, before: int = MAX_ID, limit: int = 1000
    ) -> list[AuditRecord]:
        """Return the audit, the newest record first: of one list, within a duration or since a time."""
        return self.read(audit.page, of=of, since=since, before=before, limit=limit)
