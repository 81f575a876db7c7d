"""Counts: every transaction inserts what it added as rows; a refresh adds them up and deletes them, in batches.

So no transaction waits for a count, and counts never go down: a row is counted in the transaction that deletes it.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rowlock import Engine, Item, Move, Transaction
from rowlock.apps.chat.tables import ChatTables
from rowlock.apps.tables import SqlExecutor

LIST = "chat/counts"
MAX_ROWS_PER_REFRESH = 10_000


class ChatCounts:
    """How many chats an application has, and how many messages a chat."""

    def __init__(self, tables: ChatTables) -> None:
        self._tables = tables

    def plan(self, engine: Engine, every: str) -> None:
        """Schedule a refresh at an interval."""
        engine.schedule(LIST).set(LIST, every=every, key="refresh")

    def note_chats(self, tx: SqlExecutor, counts: Mapping[int, int]) -> None:
        """Record how many chats of each application this transaction adds."""
        self._note(tx, [(application, None, count) for application, count in counts.items()])

    def note_messages(self, tx: SqlExecutor, counts: Mapping[int, int]) -> None:
        """Record how many messages of each chat this transaction adds."""
        self._note(tx, [(None, chat, count) for chat, count in counts.items()])

    def _note(self, tx: SqlExecutor, rows: list[Any]) -> None:
        if rows:
            self._tables.rows(tx, "additions/add", rows=rows)

    def refresh(self, _: list[Item], tx: Transaction) -> Move | None:
        """Handle the list: add up recorded rows in the transaction that settles the item; Move if more are left."""
        ((now,),) = self._tables.rows(tx, "refreshed/now")
        taken = self._tables.rows(tx, "additions/take", limit=MAX_ROWS_PER_REFRESH)
        chats, messages = Counter[int](), Counter[int]()
        for application, chat, count in taken:
            (chats if chat is None else messages)[application if chat is None else chat] += count
        for noun, counts in (("applications", chats), ("chats", messages)):
            if counts:
                self._tables.rows(tx, f"{noun}/count", rows=sorted(counts.items()))
        if len(taken) == MAX_ROWS_PER_REFRESH:
            return Move()
        self._tables.rows(tx, "refreshed/set", at=now)
        return None
