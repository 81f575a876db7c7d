"""Tables of the chat application, and its optional full-text index."""

import logging
from pathlib import Path

from rowlock import Engine, Invalid
from rowlock.apps.tables import AppTables

HERE = Path(__file__).parent
MIGRATIONS = ("0001_chats",)
SEARCH_MIGRATIONS = ("0001_search",)
DIALECTS = ("sqlite", "postgres")

log = logging.getLogger("rowlock.apps.chat")


class ChatTables(AppTables):
    """The statements of the chat application. Its methods are verbs: functions of a transaction."""

    def __init__(self, engine: Engine) -> None:
        if engine.dialect not in DIALECTS:
            raise Invalid(f"the chat application needs SQLite or PostgreSQL, got {engine.dialect}")
        super().__init__(engine, HERE)
        self.has_index = False
        """Whether there is a full-text index that has a statement of its own."""

    def make(self) -> None:
        """Create the tables and the index, each once, however many processes start at the same time."""
        self.migrate("chat/schema", MIGRATIONS)
        try:
            self.migrate("chat/search", SEARCH_MIGRATIONS)
        except Exception as error:
            # The extension is missing or not permitted. Searches work without the index, only slower.
            log.warning("no full-text index for messages: %s", type(error).__name__)
        self.has_index = self._engine.dialect == "sqlite" and self._engine.counter("chat/search").show() > 0
