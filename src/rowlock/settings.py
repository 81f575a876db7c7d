"""Settings of lists: limits, gates, processors, and what a completed list adds to others."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from rowlock import json_codec
from rowlock.durations import milliseconds, parse_range
from rowlock.errors import Invalid, InvalidSetting
from rowlock.http_url import HttpUrl, check_header, parse
from rowlock.names import check_key, check_name

DEFAULT_PRIORITY = 5
PRIORITIES = range(10)
GATES = range(2**31)
MAX_GATE_NAME_CHARACTERS = 60
MAX_ATTEMPTS = 1_000_000_000
MAX_CONCURRENCY = 1_000_000
MAX_RATE_DIGITS = 9
MIN_RATE_PERIOD_MILLISECONDS, MAX_RATE_PERIOD_MILLISECONDS = 1_000, 366 * 86_400_000
MAX_SEPARATOR_CHARACTERS = 16
SECRETS = "ROWLOCK_SECRET"
"""The prefix of variables that settings may name: nothing else of a worker's environment is sent."""
MAX_TIMEOUT_MILLISECONDS = 3_600_000
MAX_HEADERS = 32

_OURS = re.compile(
    r"(host|content-length|transfer-encoding|te|trailer|connection|keep-alive|upgrade|expect|accept-encoding)$"
    r"|rowlock-|webhook-|proxy-",
    re.IGNORECASE,
)
_SECRET = re.compile(r"authorization|cookie|.*(key|token|secret|password|credential|signature)", re.IGNORECASE)
_VARIABLE = re.compile(rf"\$\{{({SECRETS}\w*)\}}")


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
    number, slash, period = map(str.strip, text.partition("/"))
    is_number = number.isdecimal() and number.isascii() and len(number) <= MAX_RATE_DIGITS
    if not slash or not is_number or not 1 <= int(number) <= MAX_CONCURRENCY:
        raise InvalidSetting(f"rate must be items per period, got {text!r}", "write it like 100/1m")
    length = milliseconds(period)
    if not MIN_RATE_PERIOD_MILLISECONDS <= length <= MAX_RATE_PERIOD_MILLISECONDS:
        raise InvalidSetting(f"the period of a rate must be 1s to 366d, got {text!r}", "write it like 100/1m")
    return int(number), length


class Processor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The HTTP service that works a list: where its items are sent, and how."""

    url: str
    timeout: str | int | float = "30s"
    """How long a request may take from beginning to end."""
    headers: dict[str, str] = {}
    """Sent with each item; `${ROWLOCK_SECRET_…}` in a value is a variable of the worker's environment."""
    health: str | None = None
    """The address of its health check, absolute or relative to `url`."""
    secret_env: str | None = None
    """The variable of the worker's environment that holds the signing secrets."""

    def __post_init__(self) -> None:
        self.target.beside(self.health or "/")
        if not 0 < milliseconds(self.timeout) <= MAX_TIMEOUT_MILLISECONDS:
            raise InvalidSetting(f"timeout must be more than 0 and at most 1h, got {self.timeout!r}")
        if len(self.headers) > MAX_HEADERS:
            raise InvalidSetting(f"headers must be at most {MAX_HEADERS}, got {len(self.headers)}")
        for name, value in self.headers.items():
            check_header(name, value)
            if _OURS.match(name):
                raise InvalidSetting(f"the header {name!r} is set by rowlock", "choose another name")

    def __repr__(self) -> str:
        return f"Processor({self.target.shown!r})"

    @property
    def target(self) -> HttpUrl:
        """Where its items are sent."""
        return parse(self.url)

    @property
    def health_target(self) -> HttpUrl | None:
        """Where its health check is, if it has one."""
        return None if self.health is None else self.target.beside(self.health)

    @property
    def seconds(self) -> float:
        """Its timeout in seconds."""
        return milliseconds(self.timeout) / 1_000

    def filled(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the headers with variables replaced by their values; Invalid if one is not set."""
        return {
            name: _VARIABLE.sub(lambda found: _value(found[1], environment), value)
            for name, value in self.headers.items()
        }

    def secrets(self, environment: Mapping[str, str]) -> list[str]:
        """Return the signing secrets, if it has any; Invalid if their variable is not set."""
        return [] if self.secret_env is None else secrets_in(self.secret_env, environment)


def _value(variable: str, environment: Mapping[str, str]) -> str:
    value = environment.get(variable, "").strip()
    if not value:
        raise Invalid(f"the variable {variable} is not set here", "a processor needs the secret that it holds")
    return value


def secrets_in(variable: str, environment: Mapping[str, str]) -> list[str]:
    """Return the secrets in a variable, separated by blanks: more than one while they are rotated."""
    return _value(variable, environment).split()


def refuse_secrets(processor: Processor) -> None:
    """Refuse a processor whose settings contain a secret: everybody who may see a list sees its settings."""
    named = processor.secret_env
    if named is not None and not named.startswith(SECRETS):
        what = f"a list's secret cannot come from the variable {named!r}"
        raise InvalidSetting(what, f"name one that begins with {SECRETS}: others are not the list's to use")
    for name, value in processor.headers.items():
        if _SECRET.match(name) and not _VARIABLE.search(value):
            what = f"the value of the header {name!r} could be seen by everybody who may see the list"
            raise InvalidSetting(what, f"name a variable of the worker instead: ${{{SECRETS}_NAME}}")


class Then(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An item that a list's completion adds to another list; its key is the first list's name unless one is given."""

    list: str
    key: str | None = None
    data: Any = None
    gate: int | None = None
    priority: int = DEFAULT_PRIORITY

    def __post_init__(self) -> None:
        check_name(self.list)
        if self.key is not None:
            check_key(self.key)
        if self.priority not in PRIORITIES or (self.gate is not None and self.gate not in GATES):
            raise InvalidSetting(
                f"gate and priority of then must be from 0, and 0 to 9, got {self.gate} and {self.priority}"
            )
        with suppress(TypeError, ValueError):  # data that cannot be written as JSON is refused where it is stored
            json_codec.encode(self.data, "data of then", error=InvalidSetting)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of a list."""

    attempts: int | None = None
    """How often an item may fail before it is given up, 0 for no limit; a handler's own number takes precedence."""
    backoff: str | None = None
    """How long to wait after a failure, from the first to the longest wait: `1s..10m`."""
    keep_results: bool = False
    """Whether results of done items are stored."""
    keep_for: str = "7d"
    """How long results and errors are kept."""
    once: bool = False
    """Whether keys that were done are remembered, and not added again."""
    once_for: str | None = None
    """How long they are remembered; left out, until they are forgotten by hand."""
    manual: bool = False
    """Whether the list's gate is moved only by hand."""
    exclusive: bool = False
    """Whether one session at a time works the list, in order."""
    gates: tuple[str, ...] = ()
    """Names for the gates, from gate 0 on."""
    then: tuple[Then, ...] = ()
    """Items that its completion adds to other lists."""
    processor: Processor | None = None
    """The HTTP service that processes the list's items."""
    concurrency: int | None = None
    """How many items may be claimed at once, by all workers together."""
    rate: str | None = None
    """How many items are handed out per period: `100/1m`."""
    concurrency_by: ConcurrencyBy | None = None
    """How many items of each family may be claimed at once."""

    def __post_init__(self) -> None:
        check_attempts(self.attempts)
        milliseconds(self.keep_for)
        if self.once_for is not None:
            milliseconds(self.once_for)
        if len(set(self.gates)) < len(self.gates) or not all(_is_gate_name(name) for name in self.gates):
            raise InvalidSetting(
                f"gates must be different names of printable text that are not numbers, got {list(self.gates)}"
            )
        if self.backoff is not None:
            parse_range(self.backoff)
        if self.processor is not None:
            refuse_secrets(self.processor)
        self._check_limits()

    def _check_limits(self) -> None:
        if self.concurrency is not None:
            check_concurrency(self.concurrency)
        if self.rate is not None:
            parse_rate(self.rate)
        if self.exclusive and self.concurrency_by is not None:
            raise InvalidSetting(
                "exclusive and concurrency_by exclude each other: one keeps the order of items, the other changes it",
                "set one of the two",
            )

    @property
    def limits(self) -> ListLimits | None:
        """The limits of the list's claims; None if it has none."""
        rate = None if self.rate is None else parse_rate(self.rate)
        found = ListLimits(self.concurrency, rate, self.concurrency_by)
        return None if found == ListLimits() else found

    @property
    def separator(self) -> str | None:
        """What a key's family ends at, if families are limited."""
        return None if self.concurrency_by is None else self.concurrency_by.separator

    @property
    def keep(self) -> int:
        """How long results and errors are kept, in milliseconds."""
        return milliseconds(self.keep_for)

    @property
    def keeps_done(self) -> bool:
        """Whether anything is stored of a done item: its result, or its key."""
        return self.keep_results or self.once

    def gate_number(self, gate: int | str) -> int:
        """Return the number of a gate, which may be given by its name."""
        if isinstance(gate, int) and not isinstance(gate, bool) and gate in GATES:
            return gate
        if gate in self.gates:
            return self.gates.index(gate)
        known = f"its gates are {', '.join(self.gates)}" if self.gates else "name them with the setting gates"
        raise Invalid(f"gate must be a whole number from 0, or the name of a gate, got {gate!r}", known)

    def gate_name(self, number: int) -> str | None:
        """Return the name of a gate; None if it has none."""
        return self.gates[number] if number < len(self.gates) else None

    def changed(self, **changes: Any) -> "Settings":
        """Return the settings with some changes; refuse an unknown name or an invalid value."""
        known = msgspec.structs.asdict(self)
        for name in changes:
            if name not in known:
                raise InvalidSetting(f"unknown setting {name!r}", f"the settings are {', '.join(sorted(known))}")
        try:
            return msgspec.convert(known | changes, Settings)
        except msgspec.ValidationError as error:
            what = f"invalid setting: {json_codec.describe_validation_error(error)}"
            raise InvalidSetting(what, "see the reference of settings") from None


def _is_gate_name(name: str) -> bool:
    return (
        0 < len(name) <= MAX_GATE_NAME_CHARACTERS and name.isprintable() and name == name.strip() and not name.isdigit()
    )
