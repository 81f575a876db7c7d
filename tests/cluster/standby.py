"""A standby of a throw-away server, which follows it asynchronously and can take its place."""

from pathlib import Path

from tests.servers import Server
from tests.waiting import WAIT_SECONDS


class Standby(Server):
    """A copy of a running server that receives what it writes."""

    def __init__(self, primary: Server, **settings: str) -> None:
        self._primary = primary
        super().__init__(**settings)

    def promote(self) -> None:
        """Let it take writes, as a failover does."""
        with self.connect() as connection:
            connection.execute("select pg_promote()")

    def _make(self) -> None:
        source = ["-h", str(self._primary.folder), "-U", "postgres"]
        target = ["-D", str(Path(self.folder, "data")), "-R", "-X", "stream", "-c", "fast", "--no-sync"]
        assert self._spawn("pg_basebackup", *source, *target).wait(WAIT_SECONDS) == 0
