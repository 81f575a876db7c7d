"""Connection poolers such as PgBouncer: whether there is one between an engine and its server."""

from collections.abc import Mapping

MODES = ("auto", "session", "transaction")
"""What an address may say: detect a pooler; a connection is ours alone; it is ours for one transaction."""


class Pooler:
    """What an engine knows about the pooler of its server; all its connections share this.

    A pooler in transaction mode may run each transaction on another server connection. A setting, a prepared statement
    or a LISTEN of one transaction is missing in the next, and affects other clients.
    """

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self.shares = mode == "transaction"
        """Whether other clients use the same server connections between our transactions."""

    def set_up(self, settings: Mapping[str, str], *, greeted_by: int) -> str:
        """A statement that returns whether the session is ours alone, and makes the settings only if it is.

        A pooler invents the process number of its greeting, so it differs from the process that runs the statement.
        This holds in session mode too, which cannot be detected: the address must say it.
        """
        ours = "true" if self._mode == "session" else f"pg_backend_pid() = {greeted_by}"
        made = [f"case when ours then set_config('{name}', '{value}', false) end" for name, value in settings.items()]
        return f"select {', '.join(['ours', *made])} from (select {ours} as ours) as session"  # noqa: S608

    def found(self) -> None:
        """Remember that there is a pooler, unless the address says that it runs in session mode."""
        self.shares = self._mode != "session"
