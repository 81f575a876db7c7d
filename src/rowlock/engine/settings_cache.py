"""A cache of lists' settings, so that a claim need not read them each time."""

from collections.abc import Mapping, Sequence
from itertools import islice
from math import inf

from rowlock import lists
from rowlock.engine.protocols import Runner
from rowlock.environment import Environment
from rowlock.model import Settings

SETTINGS_SECONDS = 5.0
"""How long settings are used before they are read again."""
MAX_LISTS = 1_000
DROPPED = Settings()
"""Stands for the settings of a list that does not exist, or is just being dropped."""


class SettingsCache:
    """Settings by the names of their lists, read again after `seconds`."""

    def __init__(
        self, runner: Runner, environment: Environment, *, seconds: float = SETTINGS_SECONDS, max_lists: int = MAX_LISTS
    ) -> None:
        self._runner = runner
        self._monotonic = environment.monotonic
        self._seconds = seconds
        self._max_lists = max_lists
        self._cached: dict[str, tuple[Settings, float]] = {}
        """Settings, and when they were read."""

    def __getitem__(self, name: str) -> Settings:
        now = self._monotonic()
        settings = self._fresh(name, now)
        if settings is None:
            row = self._runner.read(lists.find, name)
            settings = row.settings if row else DROPPED
            self._store({name: settings}, now)
        return settings

    def load(self, names: Sequence[str]) -> None:
        """Read the settings of many lists in one query, as far as they are missing or old."""
        now = self._monotonic()
        wanted = [name for name in names if self._fresh(name, now) is None]
        if wanted:
            known = self._runner.read(lists.settings_of, wanted)
            self._store({name: known.get(name, DROPPED) for name in wanted}, now)

    def put(self, settings: Mapping[str, Settings]) -> None:
        """Store settings that were read elsewhere a moment ago."""
        self._store(settings, self._monotonic())

    def _store(self, settings: Mapping[str, Settings], now: float) -> None:
        if (excess := len(self._cached) + len(settings) - self._max_lists) > 0:
            for oldest in list(islice(self._cached, excess)):
                del self._cached[oldest]
        self._cached |= {name: (each, now) for name, each in settings.items()}

    def _fresh(self, name: str, now: float) -> Settings | None:
        settings, read_at = self._cached.get(name, (None, -inf))
        return settings if now - read_at < self._seconds else None
