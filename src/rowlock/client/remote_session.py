"""A session held over HTTP: one request for a claim, and the list's settings are known for a while."""

from typing import Any

from rowlock import claims, engine
from rowlock.claims import ClaimedItems
from rowlock.model import Settings

SETTINGS_KEPT = 5.0
MANY_LISTS = 1_000


class RemoteSession(engine.Session):
    """A live worker on another machine than its database. `lost` is set when its row is gone."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._known: dict[str, tuple[float, Settings]] = {}

    def take_items(
        self,
        name: str,
        *,
        limit: int,
        attempts_allowed: int | None = None,
        thorough: bool = False,  # noqa: ARG002
    ) -> ClaimedItems | None:
        """The next items of the list; the server looks everywhere if it must."""
        return self._engine.run(claims.take, self.asking(name, limit=limit, attempts_allowed=attempts_allowed))

    def _settings(self, name: str) -> Settings:
        now = self._engine.environment.monotonic()
        read_at, settings = self._known.get(name, (now - SETTINGS_KEPT, None))
        if settings is None or now - read_at >= SETTINGS_KEPT:
            if len(self._known) >= MANY_LISTS:
                self._known.clear()
            settings = super()._settings(name)
            self._known[name] = now, settings
        return settings
