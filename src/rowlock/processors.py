"""Processors: HTTP services that work lists. Secrets are named by variables, never stored."""

import re
from collections.abc import Mapping

import msgspec

from rowlock.durations import milliseconds
from rowlock.errors import Invalid, InvalidSetting
from rowlock.http_url import HttpUrl, check_header, parse

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
