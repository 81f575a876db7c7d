"""Limits of a list: attempts of an item, items claimed at once, and items handed out per period."""

import msgspec

from rowlock.durations import milliseconds
from rowlock.errors import InvalidSetting

MAX_ATTEMPTS = 1_000_000_000
MAX_CONCURRENCY = 1_000_000
MIN_RATE_PERIOD_MILLISECONDS, MAX_RATE_PERIOD_MILLISECONDS = 1_000, 366 * 86_400_000
MAX_SEPARATOR_CHARACTERS = 16


class ConcurrencyBy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A limit of the items claimed at once of each family: those whose keys are equal up to a separator."""

    separator: str = "/"
    limit: int = 1

    def __post_init__(self) -> None:
        if not 0 < len(self.separator) <= MAX_SEPARATOR_CHARACTERS or not self.separator.isprintable():
            raise InvalidSetting(
                f"separator must be 1 to {MAX_SEPARATOR_CHARACTERS} printable characters, got {self.separator!r}",
                "such as /",
            )
        check_concurrency(self.limit)


class ListLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limits of a list's claims, as they are stored with it."""

    concurrency: int | None = None
    rate: tuple[int, int] | None = None
    """The number of items per number of milliseconds."""
    by: ConcurrencyBy | None = None

    @property
    def separator(self) -> str | None:
        """What a key's family ends at, if families are limited."""
        return None if self.by is None else self.by.separator


def check_attempts(number: int | None) -> None:
    """Refuse a number of attempts that is out of bounds; 0 is no limit, None the default."""
    if number is not None and not 0 <= number <= MAX_ATTEMPTS:
        what = f"attempts must be 0 to {MAX_ATTEMPTS}, got {number}"
        raise InvalidSetting(what, "give 0 for no limit, or leave it out for the default of 5")


def check_concurrency(number: int) -> None:
    """Refuse a number of items claimed at once that is out of bounds."""
    if not 1 <= number <= MAX_CONCURRENCY:
        raise InvalidSetting(
            f"concurrency must be 1 to {MAX_CONCURRENCY}, got {number}", "pause the list to hand out nothing"
        )


def parse_rate(text: str) -> tuple[int, int]:
    """Read a rate such as `100/1m`: a number of items, and a period in milliseconds."""
    number, slash, period = text.partition("/")
    if not slash or not number.strip().isdecimal() or not number.isascii() or not 1 <= int(number) <= MAX_CONCURRENCY:
        raise InvalidSetting(f"rate must be items per period, got {text!r}", "write it like 100/1m")
    length = milliseconds(period.strip())
    if not MIN_RATE_PERIOD_MILLISECONDS <= length <= MAX_RATE_PERIOD_MILLISECONDS:
        raise InvalidSetting(f"the period of a rate must be 1s to 366d, got {text!r}", "write it like 100/1m")
    return int(number), length
