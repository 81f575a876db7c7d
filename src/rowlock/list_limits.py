"""Bounds: how often an item may fail, how many may be in hand at once, and how many are handed out in a while."""

import msgspec

from rowlock.durations import milliseconds
from rowlock.errors import InvalidSetting

MAX_ATTEMPTS = 1_000_000_000
MAX_CONCURRENCY = 1_000_000
MIN_RATE_PERIOD_MILLISECONDS, MAX_RATE_PERIOD_MILLISECONDS = 1_000, 366 * 86_400_000
MAX_SEPARATOR_CHARACTERS = 16


class ConcurrencyBy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many items of each family may be in hand at once: those whose keys are the same up to a separator."""

    separator: str = "/"
    limit: int = 1

    def __post_init__(self) -> None:
        if not 0 < len(self.separator) <= MAX_SEPARATOR_CHARACTERS or not self.separator.isprintable():
            raise InvalidSetting(
                f"{self.separator!r} separates nothing",
                f"1 to {MAX_SEPARATOR_CHARACTERS} printable characters, such as /",
            )
        check_concurrency(self.limit)


class ListLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a claim must not go beyond, as it is stored with the list."""

    concurrency: int | None = None
    rate: tuple[int, int] | None = None
    """So many items in so many milliseconds."""
    by: ConcurrencyBy | None = None

    @property
    def separator(self) -> str | None:
        """What a key's family ends at, where families are limited."""
        return None if self.by is None else self.by.separator


def check_attempts(number: int | None) -> None:
    """Refuse a number of attempts that cannot be; 0 is for no limit, None for the default."""
    if number is not None and not 0 <= number <= MAX_ATTEMPTS:
        what = f"attempts must be 0 to {MAX_ATTEMPTS}, got {number}"
        raise InvalidSetting(what, "give 0 for no limit, or leave it out for the default of 5")


def check_concurrency(number: int) -> None:
    """Refuse a number of items that cannot be in hand at once."""
    if not 1 <= number <= MAX_CONCURRENCY:
        raise InvalidSetting(
            f"{number} items at once is not between 1 and {MAX_CONCURRENCY}", "pause the list to hand out none"
        )


def parse_rate(text: str) -> tuple[int, int]:
    """A rate as people write it, `100/1m`: so many items, in so many milliseconds."""
    number, slash, period = text.partition("/")
    if not slash or not number.strip().isdecimal() or not number.isascii() or not 1 <= int(number) <= MAX_CONCURRENCY:
        raise InvalidSetting(f"{text!r} is no rate", "write it like 100/1m: so many items in so long")
    length = milliseconds(period.strip())
    if not MIN_RATE_PERIOD_MILLISECONDS <= length <= MAX_RATE_PERIOD_MILLISECONDS:
        raise InvalidSetting(f"the rate {text!r} speaks of a while that is too short or too long", "1s to 366d")
    return int(number), length
