"""What is held by its name: lists, counters, topics, schedules, sessions; the same for an engine and for a client."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from rowlock import audit, counters, lists, schedules, sessions, topics
from rowlock.audit import MAX_ID, AuditRecord
from rowlock.counters import CounterInfo
from rowlock.durations import Duration
from rowlock.engine.counter import Counter
from rowlock.engine.list import List
from rowlock.engine.runner import Runner, Writer
from rowlock.engine.schedule import Schedule
from rowlock.engine.session import Session
from rowlock.engine.topic import Topic
from rowlock.environment import Environment
from rowlock.model import DurationOrTime, ListInfo, TopicInfo
from rowlock.names import check_name
from rowlock.schedules import ScheduleInfo
from rowlock.sessions import SessionInfo
from rowlock.topics import check_topic
from rowlock.upkeep import UpkeepReport


class Handles(Runner):
    """Handles by their names, on whatever runs the verbs: a database here, or a server elsewhere."""

    environment: Environment
    _session_kind: ClassVar[type[Session]] = Session

    @abstractmethod
    def dedicated_connection(self) -> AbstractContextManager[Writer]:
        """The same by a connection of its own, for what must not wait until others are done."""

    @abstractmethod
    def upkeep(self, *, wait: Duration = 0) -> UpkeepReport:
        """Do one bounded pass of housekeeping; a server does its own."""

    @abstractmethod
    def pipeline(self, *works: Callable[..., Any]) -> list[Any]:
        """Do several pieces of work for the price of one round trip; each must be harmless to do again."""

    def __getitem__(self, name: str) -> List:
        check_name(name)
        return List(self, name)

    def lists(self, *, after: str = "", limit: int = 1000) -> list[ListInfo]:
        """Lists in the order of their names, strictly after one, with counts and progress."""
        return self.read(lists.page, after=after, limit=limit)

    def counter(self, name: str) -> Counter:
        """A counter by its name; it need not exist yet."""
        check_name(name, "counter")
        return Counter(self, name)

    def counters(self, *, after: str = "", limit: int = 1000) -> list[CounterInfo]:
        """Counters in the order of their names, strictly after one."""
        return self.read(counters.page, after=after, limit=limit)

    def topic(self, name: str) -> Topic:
        """A topic by its name: standing queries, and the records that are held against them."""
        check_topic(name)
        return Topic(self, name)

    def topics(self, *, after: str = "", limit: int = 1000) -> list[TopicInfo]:
        """Topics in the order of their names, strictly after one."""
        return self.read(topics.page, after=after, limit=limit)

    def sessions(self, *, limit: int = 1000) -> list[SessionInfo]:
        """Who is at work, the oldest first."""
        return self.read(sessions.page, limit=limit)

    def session(
        self, *, holder: str | None = None, expiry: Duration = "15s", details: Any = None, beats: bool = True
    ) -> Session:
        """A session to claim under: it beats by itself, and its claims end with it. Use it in a with block.

        Without `beats` it lives for its expiry and may outlive this process: see `rejoin`.
        """
        return self._session_kind(self, holder=holder, expiry=expiry, details=details, beats=beats)

    def rejoin(self, session: str, *, expiry: Duration = "15s") -> Session:
        """A session without a heart that was opened elsewhere, by its id; `beat` keeps it alive for its expiry."""
        return self._session_kind(self, holder=None, expiry=expiry, details=None, beats=False, session=session)

    def schedule(self, name: str) -> Schedule:
        """A schedule by its name: recurring work."""
        check_name(name, "schedule")
        return Schedule(self, name)

    def schedules(self, *, after: str = "", limit: int = 1000) -> list[ScheduleInfo]:
        """Schedules in the order of their names, strictly after one."""
        return self.read(schedules.page, after=after, limit=limit)

    def audit(
        self, *, of: str | None = None, since: DurationOrTime | None = None, before: int = MAX_ID, limit: int = 1000
    ) -> list[AuditRecord]:
        """What was done in `acting` blocks, the newest first: of one list, in the last while or since a moment."""
        return self.read(audit.page, of=of, since=since, before=before, limit=limit)
