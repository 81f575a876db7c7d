"""All errors, in five families; the stable `code` of each is its name in kebab case: `no-such-item`.

RowlockError
├── Invalid                 the request is invalid: nothing was written
│   ├── InvalidBody
│   ├── InvalidData
│   ├── InvalidDuration
│   ├── InvalidField
│   ├── InvalidKey
│   ├── InvalidName
│   ├── InvalidOutcome
│   ├── InvalidPath
│   ├── InvalidPredicate
│   ├── InvalidQuery
│   ├── InvalidRecord
│   ├── InvalidSchedule
│   ├── InvalidSetting
│   ├── InvalidShape
│   ├── InvalidSignature
│   ├── InvalidTransaction
│   ├── InvalidUrl
│   ├── NeedsDatabase
│   ├── NotOffered
│   ├── TooLarge
│   ├── UnknownKind
│   └── WrongMethod
├── NotFound                what was named does not exist
│   ├── NoSuchItem
│   ├── NoSuchList
│   ├── NoSuchPath
│   ├── NoSuchSchedule
│   ├── NoSuchToken
│   └── NoSuchTopic
├── Refused                 the request is valid, but the current state forbids it
│   ├── AlreadyThere
│   ├── CounterSpent
│   ├── CrossSite
│   ├── FieldTaken
│   ├── GatePassed
│   ├── GateShut
│   ├── HostNotAllowed
│   ├── ItemClaimed
│   ├── ItemFailed
│   ├── KeyReused
│   ├── ListComplete
│   ├── ListSealed
│   ├── NameTaken
│   ├── NotAllowed
│   ├── SchemaBroken
│   ├── SchemaMissing
│   ├── SchemaTooNew
│   └── TokenRefused
├── Stale                   the state has changed since it was read
│   ├── ItemsGone
│   ├── StaleClaim
│   ├── StaleSession
│   └── StaleVersion
└── Unavailable             the database or another service cannot serve the request now
    ├── AlreadyClosed
    ├── DatabaseBusy
    ├── DatabaseCorrupt
    ├── DatabaseDenied
    ├── DatabaseFull
    ├── DatabaseReadOnly
    ├── DatabaseUnreachable
    ├── DriverMissing
    ├── ExtraMissing
    ├── NoAnswer
    ├── OutcomeUnknown      the connection broke at COMMIT: it may have committed or not
    ├── Overloaded
    ├── RedisUnavailable
    └── ServerUnreachable
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

NAMED = 5
"""How many keys the text of an error names; its fields have all."""

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


class RowlockError(Exception):
    """Base of all errors: `what` is wrong, and a `hint` what to do."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 70
    http_status: ClassVar[int] = 500

    def __init__(self, what: str, hint: str = "", **fields: Any) -> None:
        super().__init__(f"{what}; {hint}" if hint else what)
        self.what = what
        self.hint = hint
        self.fields = fields

    def __init_subclass__(cls) -> None:
        cls.code = _WORD_START.sub("-", cls.__name__).lower()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self.fields), (self.what, self.hint)


class Invalid(RowlockError):
    """The request is invalid, whatever the current state."""

    exit_status = 2
    http_status = 400


class InvalidBody(Invalid):
    """The body of a request does not have the media type that its header says."""


class InvalidData(Invalid):
    """An item's data is not JSON, is too large, or is nested too deeply."""


class InvalidDuration(Invalid):
    """A duration or time is malformed or out of bounds."""


class InvalidField(Invalid):
    """The name or kind of a topic's field is invalid."""


class InvalidKey(Invalid):
    """A key is empty, too long, or does not fit on one line."""


class InvalidName(Invalid):
    """The name of a list, counter, schedule or topic is invalid."""


class InvalidOutcome(Invalid):
    """A handler returned something that is not an outcome, or an outcome is invalid."""


class InvalidPath(Invalid):
    """The path of a request is malformed."""


class InvalidQuery(Invalid):
    """The query string of a request is malformed or has an invalid value."""


class InvalidSchedule(Invalid):
    """The cron expression, time zone, interval or template of a schedule is invalid."""


class InvalidPredicate(Invalid):
    """A predicate of a subscription does not fit the topic's fields."""


class InvalidRecord(Invalid):
    """A record has a value that does not fit its field."""


class InvalidSetting(Invalid):
    """A setting is unknown, or its value is invalid."""


class InvalidShape(Invalid):
    """The body of a request is well-formed, but does not fit the schema."""

    http_status = 422


class InvalidSignature(Invalid):
    """The signature of a request is missing, wrong or too old."""


class InvalidTransaction(Invalid):
    """The value of `using=` is not an open transaction of this database."""


class InvalidUrl(Invalid):
    """The URL of a database or of a request is invalid."""


class NeedsDatabase(Invalid):
    """A Client was asked for something that needs an Engine on the database itself."""


class NotOffered(Invalid):
    """The response is not available in a media type that the request accepts."""

    http_status = 406


class TooLarge(Invalid):
    """The body of a request is too large."""

    http_status = 413


class UnknownKind(Invalid):
    """The media type of a request's body is not supported there."""

    http_status = 415


class WrongMethod(Invalid):
    """The path does not support the method of the request."""

    http_status = 405


class NotFound(RowlockError):
    """The named thing does not exist."""

    exit_status = 3
    http_status = 404


class NoSuchItem(NotFound):
    """The list has no item with that key."""


class NoSuchList(NotFound):
    """There is no list of that name."""


class NoSuchPath(NotFound):
    """The service has no route for that path."""


class NoSuchToken(NotFound):
    """There is no access token with that id."""


class NoSuchSchedule(NotFound):
    """There is no schedule of that name."""


class NoSuchTopic(NotFound):
    """There is no topic of that name."""


class Refused(RowlockError):
    """The request is valid, but the current state forbids it."""

    exit_status = 4
    http_status = 409


class AlreadyThere(Refused):
    """A strict add was given a key that is on the list already, or was given twice."""


class CrossSite(Refused):
    """A browser sent the request on behalf of another site."""

    http_status = 403


class CounterSpent(Refused):
    """The counter has reached its highest number."""


class FieldTaken(Refused):
    """The topic has a field of that name and another kind."""


class GatePassed(Refused):
    """The item's gate is before the list's open gate: it would never be handed out."""


class HostNotAllowed(Refused):
    """An outgoing request would go to a private address that is not allowed by name."""


class KeyReused(Refused):
    """The idempotency key was used before for another request."""

    http_status = 422


class GateShut(Refused):
    """Items are left before the gate that was to be opened: they would never be handed out."""


class ListComplete(Refused):
    """The list is complete: it hands out no items until it is reopened."""


class ItemClaimed(Refused):
    """The item is claimed and cannot be changed until it is settled."""


class ItemFailed(Refused):
    """The item has failed and has no due time until it is retried."""


class ListSealed(Refused):
    """The list is sealed and takes no new items."""


class NameTaken(Refused):
    """Another list has that name already."""


class NotAllowed(Refused):
    """The token's role or list prefixes do not allow the request."""

    http_status = 403


class SchemaBroken(Refused):
    """An applied migration differs from this program's, or another program created tables with the same names."""


class SchemaMissing(Refused):
    """The database has no rowlock tables, or older ones than this program needs."""


class SchemaTooNew(Refused):
    """A newer program has migrated this database."""


class TokenRefused(Refused):
    """The access token is missing, malformed, unknown, expired or revoked."""

    http_status = 401


class Stale(RowlockError):
    """The state has changed since it was read."""

    exit_status = 4
    http_status = 409


class ItemsGone(Stale):
    """Items were removed or changed while they were claimed; the field `keys` names them."""

    @classmethod
    def of(cls, keys: Sequence[str], *, token: str) -> "ItemsGone":
        """Make the error for a settlement of a claim that has lost these items."""
        named = ", ".join(map(repr, keys[:NAMED]))
        more = f" and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
        what = f"items of the claim {token} were removed or changed while they were claimed: {named}{more}"
        hint = "nothing was settled: roll back, or settle with partial=True and write only for items that are done"
        return cls(what, hint, keys=list(keys), token=token)


class StaleClaim(Stale):
    """The claim does not exist any more: it was settled or closed, or its session ended."""

    @classmethod
    def of(cls, token: str) -> "StaleClaim":
        """Make the error for a claim that does not exist."""
        what = f"the claim {token} does not exist: it was settled or closed, or its session ended"
        return cls(what, "nothing was written; its items are free, or settled by another claim", token=token)


class StaleSession(Stale):
    """The session has ended or expired, and its claims with it."""


class StaleVersion(Stale):
    """The list or item has changed since it was read."""

    http_status = 412


class Unavailable(RowlockError):
    """The database or another service cannot serve the request now; the request itself may be valid."""

    exit_status = 5
    http_status = 503


class AlreadyClosed(Unavailable):
    """The engine or client was closed before it was used; the field `closed` says which."""

    @classmethod
    def of(cls, what: str) -> "AlreadyClosed":
        """Make the error for what was closed: "engine" or "client"."""
        return cls(f"the {what} is closed", f"make another {what}, or close this one later", closed=what)


class DatabaseBusy(Unavailable):
    """The database was locked by others for longer than the patience."""


class DatabaseCorrupt(Unavailable):
    """The file is damaged, or is not a SQLite database."""


class DatabaseDenied(Unavailable):
    """The database refuses the user, or the user lacks a permission."""


class DatabaseFull(Unavailable):
    """The database's disk is full."""


class DatabaseReadOnly(Unavailable):
    """The database can be read but not written."""


class DatabaseUnreachable(Unavailable):
    """No connection to the database can be made, or it was lost."""


class DriverMissing(Unavailable):
    """The driver package of the database is not installed."""


class ExtraMissing(Unavailable):
    """An optional package that the operation needs is not installed."""


class NoAnswer(Unavailable):
    """An outgoing request got no valid HTTP response: the server is down, too slow, or broke off."""


class OutcomeUnknown(Unavailable):
    """The connection broke at COMMIT: the transaction may have committed or not."""


class Overloaded(Unavailable):
    """Too many requests wait for the database, for work or for events."""


class RedisUnavailable(Unavailable):
    """Redis cannot hand out numbers now; the database still can."""


class ServerUnreachable(Unavailable):
    """No rowlock server answers at the address, or not in time; the field `reason` is why, in a word."""
