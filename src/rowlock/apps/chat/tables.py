"""The application's own tables, and whether there is an index to search messages by."""

import logging
from pathlib import Path

from rowlock import Engine, Invalid
from rowlock.apps.tables import AppTables

HERE = Path(__file__).parent
STEPS = ("0001_chats",)
SEARCH = ("0001_search",)
DIALECTS = ("sqlite", "postgres")

log = logging.getLogger("rowlock.apps.chat")


class ChatTables(AppTables):
    """The statements of the chat application. Its methods are verbs: functions of a transaction."""

    def __init__(self, engine: Engine) -> None:
        if engine.dialect not in DIALECTS:
            raise Invalid("the chat application knows SQLite and PostgreSQL only", "give it one of these")
        super().__init__(engine, HERE)
        self.has_index = False
        """Whether there is an index to search by that must be asked by name."""

    def make(self) -> None:
        """Take the steps that were not taken yet, each once, however many processes begin at the same time."""
        self.take_steps("chat/schema", STEPS)
        try:
            self.take_steps("chat/search", SEARCH)
        except Exception as error:
            # An extension that is not there or not allowed. Every search is right without an index, only slower.
            log.warning("no index to search messages by: %s", type(error).__name__)
        self.has_index = self._engine.dialect == "sqlite" and self._engine.counter("chat/search").show() > 0
