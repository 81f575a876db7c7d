"""Messages: stored at once, or accepted onto a list and stored by a worker, hundreds at a time.

Either way a message is written with its version, and a higher version wins. So neither the order in which versions of a
message arrive nor a repetition matters.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rowlock import Engine, Item, NewItem, Refused, Transaction
from rowlock.apps.chat.counts import ChatCounts
from rowlock.apps.chat.model import ChatMessage, folded
from rowlock.apps.chat.tables import ChatTables
from rowlock.apps.tables import SqlExecutor

LIST = "chat/messages"
BATCH = 500
MIN_INDEXED_CHARACTERS = 3
VERSIONS_PER_PAGE = 8
"""Items that are read for one message: it seldom has more versions on the list."""


class Messages:
    """The messages of one engine; `behind` says whether they are accepted onto the list."""

    def __init__(self, tables: ChatTables, counts: ChatCounts, *, behind: bool) -> None:
        self._tables = tables
        self._counts = counts
        self._behind = behind

    def accept(self, tx: Transaction, messages: Sequence[ChatMessage]) -> None:
        """Accept messages, each at a new version; they are durable when the transaction commits."""
        if self._behind:
            new = tx[LIST].add([NewItem(_key(each), each.body) for each in messages]).added
        else:
            new = self.store(tx, messages)
        if new < sum(each.version == 0 for each in messages):
            raise Refused("a number of this chat is in use already", "raise its counter above the highest message")

    def store(self, tx: SqlExecutor, messages: Iterable[ChatMessage]) -> int:
        """Store the newest version of each message and return how many are new."""
        newest = {(each.chat, each.number): each for each in sorted(messages, key=lambda each: each.version)}
        added = self._tables.rows(tx, "messages/add", rows=_rows(newest.values()))
        known = newest.keys() - set(added)
        if known:
            self._tables.rows(tx, "messages/change", rows=_rows(newest[each] for each in sorted(known)))
        self._counts.note_messages(tx, Counter(chat for chat, _ in added))
        return len(added)

    def drain(self, items: list[Item], tx: Transaction) -> None:
        """Handle the list: store accepted messages in the transaction that settles the items."""
        self.store(tx, map(_message, items))

    def latest(self, source: Engine | Transaction, chat: int, *, number: int) -> ChatMessage | None:
        """Return the newest version of a message, stored or on the list; None if it does not exist."""
        # The list is read first: what a worker stores in the meantime is then found in the table.
        ends = _key(ChatMessage(chat, number, 0, ""))[:-1], _key(ChatMessage(chat, number + 1, 0, ""))[:-1]
        pending = [_message(item) for item in source[LIST].items(after=ends[0], upto=ends[1], page=VERSIONS_PER_PAGE)]
        stored = source.read(self._tables.rows, "messages/show", chat=chat, number=number)
        return max(pending + [_stored(chat, row) for row in stored], key=lambda each: each.version, default=None)

    def page(self, engine: Engine, chat: int, *, after: int, limit: int) -> list[ChatMessage]:
        """Return messages of a chat by number, strictly after one, stored or on the list."""
        found = self._pending(engine, chat, after, limit)
        for row in engine.read(self._tables.rows, "messages/page", chat=chat, after=after, limit=limit):
            stored = _stored(chat, row)
            if stored.number not in found or found[stored.number].version < stored.version:
                found[stored.number] = stored
        return [found[number] for number in sorted(found)[:limit]]

    def search(self, engine: Engine, chat: int, *, text: str, after: int, limit: int) -> list[dict[str, Any]]:
        """Return stored messages of a chat that contain a text, ignoring case."""
        wanted = folded(text)
        by_index = self._tables.has_index and len(wanted) >= MIN_INDEXED_CHARACTERS
        way = "messages/search_index" if by_index else "messages/search"
        rows = engine.read(self._tables.rows, way, chat=chat, text=wanted, after=after, limit=limit)
        return [{"number": number, "body": body} for number, body in rows]

    def _pending(self, engine: Engine, chat: int, after: int, limit: int) -> dict[int, ChatMessage]:
        """Return the first messages on the list, each at its newest version, which comes last."""
        found: dict[int, ChatMessage] = {}
        begin, end = _key(ChatMessage(chat, after + 1, 0, ""))[:-1], _key(ChatMessage(chat + 1, 0, 0, ""))[:-1]
        for item in engine[LIST].items(after=begin, upto=end, page=limit):
            message = _message(item)
            if message.number not in found and len(found) == limit:
                break
            found[message.number] = message
        return found


def _key(message: ChatMessage) -> str:
    # Fixed width, so that keys sort as numbers.
    return f"{message.chat:016x}/{message.number:016x}/{message.version:016x}"


def _message(item: Item) -> ChatMessage:
    chat, number, version = (int(part, 16) for part in item.key.split("/"))
    return ChatMessage(chat, number, version, item.data)


def _stored(chat: int, row: tuple[Any, ...]) -> ChatMessage:
    number, body, version = row
    return ChatMessage(chat, number, version, body)


def _rows(messages: Iterable[ChatMessage]) -> list[tuple[Any, ...]]:
    return [(each.chat, each.number, each.version, each.body, folded(each.body)) for each in messages]
