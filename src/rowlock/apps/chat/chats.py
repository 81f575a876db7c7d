"""Applications, chats and messages: the operations behind the routes.

Operations that write take a batch: concurrent requests share one transaction. A number and the row that it numbers are
committed together, so no number is used twice and there are no gaps.
"""

from asyncio import to_thread
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from rowlock import Engine, RedisCounters, Refused, RowlockError, Transaction
from rowlock.apps.chat.counts import ChatCounts
from rowlock.apps.chat.messages import Messages
from rowlock.apps.chat.model import (
    Chat,
    ChatApplication,
    ChatMessage,
    moment,
    new_token,
    no_such_application,
    no_such_chat,
    no_such_message,
)
from rowlock.apps.chat.tables import ChatTables
from rowlock.errors import StaleVersion

X = TypeVar("X")
Work = Callable[[Transaction, Sequence[X]], list[Any]]


class CreateApplication(msgspec.Struct, frozen=True):
    """A request to create an application, once for each idempotency key."""

    name: str
    key: str = ""


class RenameApplication(msgspec.Struct, frozen=True):
    """A request to rename an application."""

    token: str
    name: str


class OpenChat(msgspec.Struct, frozen=True):
    """A request to open a chat; the counter gives its number if it has none yet."""

    token: str
    number: int = 0
    key: str = ""


class PostMessage(msgspec.Struct, frozen=True):
    """A request to post a message."""

    token: str
    chat: int
    body: str
    number: int = 0
    key: str = ""


class EditMessage(msgspec.Struct, frozen=True):
    """A request to replace the body of a message, if it is at one of these versions."""

    token: str
    chat: int
    number: int
    body: str
    versions: tuple[int, ...] | None = None


class Chats:
    """The chats of one engine."""

    def __init__(
        self, engine: Engine, tables: ChatTables, *, behind: bool = False, draw: Callable[[], str] = new_token
    ) -> None:
        self._engine = engine
        self._tables = tables
        self._draw = draw
        self.counts = ChatCounts(tables)
        self.messages = Messages(tables, self.counts, behind=behind)
        self.create = engine.grouped.together(_once(self._create))
        self.rename = engine.grouped.together(self._rename)
        self.open = engine.grouped.together(_once(self._open))
        self.post = engine.grouped.together(_once(self._post))
        self.edit = engine.grouped.together(self._edit)

    def applications(self, *, after: str, limit: int) -> list[ChatApplication]:
        """Return applications in the order of their creation, strictly after the one with a token."""
        if after:
            self.application(after)
        rows = self._engine.read(self._tables.rows, "applications/page", after=after, limit=limit)
        return [_application(row) for row in rows]

    def application(self, token: str) -> ChatApplication:
        """Return one application, or raise NotFound."""
        rows = self._engine.read(self._tables.rows, "applications/show", token=token)
        if not rows:
            raise no_such_application()
        return _application(rows[0])

    def page(self, token: str, *, after: int, limit: int) -> list[Chat]:
        """Return the chats of an application in the order of their numbers, strictly after one."""
        owner = self._engine.read(self._owners, [token]).get(token)
        if owner is None:
            raise no_such_application()
        asked = {"application": owner, "after": after, "limit": limit}
        return [_chat(row) for row in self._engine.read(self._tables.rows, "chats/page", **asked)]

    def show(self, token: str, number: int) -> Chat:
        """Return one chat, or raise NotFound."""
        return _chat(self._engine.read(self._tables.rows, "chats/show", chat=self.find(token, number))[0])

    def find(self, token: str, number: int) -> int:
        """Return the id of a chat in the database, or raise NotFound."""
        chat = self._engine.read(self._places, [(token, number)]).get((token, number))
        if chat is None:
            raise no_such_chat()
        return chat

    def read(self, token: str, chat: int, *, after: int, limit: int) -> list[ChatMessage]:
        """Return the messages of a chat in the order of their numbers, strictly after one."""
        return self.messages.page(self._engine, self.find(token, chat), after=after, limit=limit)

    def search(self, token: str, chat: int, *, text: str, **page: int) -> list[dict[str, Any]]:
        """Return the stored messages of a chat that contain a text."""
        return self.messages.search(self._engine, self.find(token, chat), text=text, **page)

    def message(self, token: str, chat: int, *, number: int) -> ChatMessage:
        """Return one message, or raise NotFound."""
        found = self.messages.latest(self._engine, self.find(token, chat), number=number)
        if found is None:
            raise no_such_message()
        return found

    def counter_of_chats(self, token: str) -> str:
        """Return the name of the counter that numbers the chats of an application."""
        owner = self._engine.read(self._owners, [token]).get(token)
        if owner is None:
            raise no_such_application()
        return _chats_of(owner)

    def counter_of_messages(self, token: str, chat: int) -> str:
        """Return the name of the counter that numbers the messages of a chat."""
        return _messages_of(self.find(token, chat))

    def _create(self, tx: Transaction, asked: Sequence[CreateApplication]) -> list[Any]:
        return [self._created(tx, each.name) for each in asked]

    def _created(self, tx: Transaction, name: str) -> str:
        token = self._draw()
        while not self._tables.rows(tx, "applications/add", token=token, name=name):
            token = self._draw()
        return token

    def _rename(self, tx: Transaction, asked: Sequence[RenameApplication]) -> list[Any]:
        done = [self._tables.rows(tx, "applications/rename", token=each.token, name=each.name) for each in asked]
        return [each or no_such_application() for each in done]

    def _open(self, tx: Transaction, asked: Sequence[OpenChat]) -> list[Any]:
        owners = self._owners(tx, {each.token for each in asked})
        good = [(owners[each.token], each.number) for each in asked if each.token in owners]
        rows = list(zip((owner for owner, _ in good), _numbers(tx, good, _chats_of), strict=True))
        if rows:
            added = self._tables.rows(tx, "chats/add", rows=rows)
            if len(added) < len(rows):
                raise Refused("a number of this application is in use already", "raise its counter above them")
            self.counts.note_chats(tx, Counter(owner for owner, _ in rows))
        numbers = (number for _, number in rows)
        return [next(numbers) if each.token in owners else no_such_application() for each in asked]

    def _post(self, tx: Transaction, asked: Sequence[PostMessage]) -> list[Any]:
        places = self._places(tx, {(each.token, each.chat) for each in asked})
        chats = [places.get((each.token, each.chat)) for each in asked]
        good = [(chat, each) for chat, each in zip(chats, asked, strict=True) if chat is not None]
        numbers = _numbers(tx, [(chat, each.number) for chat, each in good], _messages_of)
        new = [ChatMessage(chat, number, 0, each.body) for (chat, each), number in zip(good, numbers, strict=True)]
        if new:
            self.messages.accept(tx, new)
        numbered = (each.number for each in new)
        return [no_such_chat() if chat is None else next(numbered) for chat in chats]

    def _edit(self, tx: Transaction, asked: Sequence[EditMessage]) -> list[Any]:
        places = self._places(tx, {(each.token, each.chat) for each in asked})
        chats = [places.get((each.token, each.chat)) for each in asked]
        # The counters lock out other edits in these chats until the commit, so versions ascend in the order of commits.
        versions = _numbers(tx, [(chat, 0) for chat in chats if chat is not None], _versions_of)
        return [
            no_such_chat() if chat is None else self._edited(tx, each, chat, next(versions))
            for chat, each in zip(chats, asked, strict=True)
        ]

    def _edited(self, tx: Transaction, asked: EditMessage, chat: int, version: int) -> ChatMessage | RowlockError:
        now = self.messages.latest(tx, chat, number=asked.number)
        if now is None:
            return no_such_message()
        if asked.versions is not None and now.version not in asked.versions:
            return StaleVersion(f"the message is at version {now.version}", "read it again", version=now.version)
        edited = ChatMessage(chat, asked.number, version, asked.body)
        self.messages.accept(tx, [edited])
        return edited

    def _owners(self, tx: Any, tokens: Iterable[str]) -> dict[str, int]:
        return dict(self._tables.rows(tx, "applications/find", tokens=sorted(tokens)))

    def _places(self, tx: Any, named: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        rows = self._tables.rows(tx, "chats/find", rows=sorted(named))
        return {(token, number): chat for token, number, chat in rows}


class MessageNumbers:
    """Takes the number of a new chat or message before its transaction."""

    def __init__(self, chats: Chats, redis: RedisCounters | None) -> None:
        self._chats = chats
        self._redis = redis

    async def next_chat(self, token: str) -> int:
        """Return the number of a new chat; 0 if its transaction takes it from the counter."""
        return await self._next(self._chats.counter_of_chats, token)

    async def next_message(self, token: str, chat: int) -> int:
        """Return the number of a new message; 0 if its transaction takes it from the counter."""
        return await self._next(self._chats.counter_of_messages, token, chat)

    async def _next(self, counter_of: Callable[..., str], *named: Any) -> int:
        redis = self._redis
        return 0 if redis is None else await to_thread(lambda: redis.counter(counter_of(*named)).next())


def _once(work: Work[Any]) -> Work[Any]:
    """Wrap an operation so that it runs once for each idempotency key; results say whether they are repeated."""

    def alone(tx: Transaction, asked: Any) -> Any:
        def do() -> Any:
            (answer,) = work(tx, [asked])
            if isinstance(answer, Exception):
                raise answer
            return answer

        try:
            return tx.once(asked.key, _words(asked), do=do)
        except RowlockError as refused:
            return refused

    def keyed(tx: Transaction, asked: Sequence[Any]) -> list[Any]:
        plain = [each for each in asked if not each.key]
        answers = iter(work(tx, plain) if plain else ())
        return [alone(tx, each) if each.key else _new(next(answers)) for each in asked]

    keyed.__qualname__ = work.__qualname__
    return keyed


def _words(asked: Any) -> list[Any]:
    """Return the fields that identify a repeated request, without the number that Redis gave to it."""
    return [getattr(asked, name) for name in asked.__struct_fields__ if name not in ("key", "number")]


def _new(answer: Any) -> Any:
    return answer if isinstance(answer, Exception) else (answer, False)


def _numbers(tx: Transaction, wanted: Sequence[tuple[int, int]], name: Callable[[int], str]) -> Iterator[int]:
    """Return a number for each: the one that it has, or the next of its counter."""
    counts = Counter(name(owner) for owner, number in wanted if not number)
    taken = {counter: iter(numbers) for counter, numbers in tx.numbers(counts).items()}
    return iter([number or next(taken[name(owner)]) for owner, number in wanted])


def _chats_of(application: int) -> str:
    return f"chat/applications/{application}/chats"


def _messages_of(chat: int) -> str:
    return f"chat/chats/{chat}/messages"


def _versions_of(chat: int) -> str:
    return f"chat/chats/{chat}/versions"


def _application(row: tuple[Any, ...]) -> ChatApplication:
    *plain, at = row
    return ChatApplication(*plain, moment(at))  # type: ignore[call-arg]


def _chat(row: tuple[Any, ...]) -> Chat:
    number, count, at = row
    return Chat(number, count, moment(at))
