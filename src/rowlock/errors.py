"""Everything that can be wrong, in five families; each error has a stable `code`.

RowlockError
├── Invalid                 the request cannot be right: nothing was written
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
├── NotFound                what was named is not there
│   ├── NoSuchItem
│   ├── NoSuchList
│   ├── NoSuchPath
│   ├── NoSuchSchedule
│   ├── NoSuchToken
│   └── NoSuchTopic
├── Refused                 it could be right, but the state of things forbids it
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
├── Stale                   it was right once; somebody was faster
│   ├── ItemsGone
│   ├── StaleClaim
│   ├── StaleSession
│   └── StaleVersion
└── Unavailable             the database, or whom we ask, cannot serve this now
    ├── DatabaseBusy
    ├── DatabaseCorrupt
    ├── DatabaseDenied
    ├── DatabaseFull
    ├── DatabaseReadOnly
    ├── DatabaseUnreachable
    ├── DriverMissing
    ├── ExtraMissing
    ├── NoAnswer
    ├── OutcomeUnknown      the connection broke at COMMIT: it may have landed or not
    ├── Overloaded
    ├── RedisUnavailable
    └── ServerUnreachable
"""

from collections.abc import Sequence
from typing import Any, ClassVar

NAMED = 5
"""How many keys an error's text names; its fields name all."""


class RowlockError(Exception):
    """Base of all errors: what was asked and what is true in `what`, what to do in `hint`."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 70
    http_status: ClassVar[int] = 500

    def __init__(self, what: str, hint: str = "", **fields: Any) -> None:
        super().__init__(f"{what}; {hint}" if hint else what)
        self.what = what
        self.hint = hint
        self.fields = fields

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.what, self.hint, self.fields)


def _rebuild(kind: type[RowlockError], what: str, hint: str, fields: dict[str, Any]) -> RowlockError:
    return kind(what, hint, **fields)


class Invalid(RowlockError):
    """The request cannot be right, whatever the state of things."""

    code = "invalid"
    exit_status = 2
    http_status = 400


class InvalidBody(Invalid):
    """A request's body is not what it says it is."""

    code = "invalid-body"


class InvalidData(Invalid):
    """An item's data is not JSON, is too large, or is nested too deeply."""

    code = "invalid-data"


class InvalidDuration(Invalid):
    """A length of time that cannot be read."""

    code = "invalid-duration"


class InvalidField(Invalid):
    """A topic's field whose name or kind cannot be."""

    code = "invalid-field"


class InvalidKey(Invalid):
    """A key that is empty, too long, or holds what no line can carry."""

    code = "invalid-key"


class InvalidName(Invalid):
    """A list's name that cannot be one."""

    code = "invalid-name"


class InvalidOutcome(Invalid):
    """A handler answered with something that ends no turn."""

    code = "invalid-outcome"


class InvalidPath(Invalid):
    """A request's path cannot be read."""

    code = "invalid-path"


class InvalidQuery(Invalid):
    """What stands behind the question mark of a request cannot be read or had."""

    code = "invalid-query"


class InvalidSchedule(Invalid):
    """A schedule that cannot be: its cron expression, time zone, interval or template."""

    code = "invalid-schedule"


class InvalidPredicate(Invalid):
    """A subscription asks what its topic's fields cannot answer."""

    code = "invalid-predicate"


class InvalidRecord(Invalid):
    """A record has a value that its field cannot have."""

    code = "invalid-record"


class InvalidSetting(Invalid):
    """An unknown setting, or a value it cannot have."""

    code = "invalid-setting"


class InvalidShape(Invalid):
    """A request's body can be read, but is not of the form that is taken there."""

    code = "invalid-shape"
    http_status = 422


class InvalidSignature(Invalid):
    """A request that nobody with our secret has signed, or that was signed too long ago."""

    code = "invalid-signature"


class InvalidTransaction(Invalid):
    """What was given as `using=` is no open transaction of this database."""

    code = "invalid-transaction"


class InvalidUrl(Invalid):
    """An address, of a database or of a request, that cannot be read."""

    code = "invalid-url"


class NeedsDatabase(Invalid):
    """A client of a server was asked for what only an engine on the database itself can do."""

    code = "needs-database"


class NotOffered(Invalid):
    """Nothing is offered in the kinds that a request accepts."""

    code = "not-offered"
    http_status = 406


class TooLarge(Invalid):
    """A request's body is larger than what is read."""

    code = "too-large"
    http_status = 413


class UnknownKind(Invalid):
    """A request's body is of a kind that is not read there."""

    code = "unknown-kind"
    http_status = 415


class WrongMethod(Invalid):
    """There is something at that path, but it does not answer to that method."""

    code = "wrong-method"
    http_status = 405


class NotFound(RowlockError):
    """What was named is not there."""

    code = "not-found"
    exit_status = 3
    http_status = 404


class NoSuchItem(NotFound):
    """The list has no item of that key."""

    code = "no-such-item"


class NoSuchList(NotFound):
    """There is no list of that name."""

    code = "no-such-list"


class NoSuchPath(NotFound):
    """The service has nothing at that path."""

    code = "no-such-path"


class NoSuchToken(NotFound):
    """There is no access token of that id."""

    code = "no-such-token"


class NoSuchSchedule(NotFound):
    """There is no schedule of that name."""

    code = "no-such-schedule"


class NoSuchTopic(NotFound):
    """There is no topic of that name."""

    code = "no-such-topic"


class Refused(RowlockError):
    """The request could be right, but the state of things forbids it."""

    code = "refused"
    exit_status = 4
    http_status = 409


class AlreadyThere(Refused):
    """A strict add met a key that is on the list, or twice in the input."""

    code = "already-there"


class CrossSite(Refused):
    """A browser asks this for the page of another site."""

    code = "cross-site"
    http_status = 403


class CounterSpent(Refused):
    """The counter has come to the highest number there is."""

    code = "counter-spent"


class FieldTaken(Refused):
    """A topic has that field already, of another kind."""

    code = "field-taken"


class GatePassed(Refused):
    """The item's gate lies below the list's: it would never be handed out."""

    code = "gate-passed"


class HostNotAllowed(Refused):
    """A request would go to a private address that nobody has allowed by name."""

    code = "host-not-allowed"


class KeyReused(Refused):
    """Something else was asked before under the same idempotency key."""

    code = "key-reused"
    http_status = 422


class GateShut(Refused):
    """Items stand below the gate that the list was to go to: they would never be handed out."""

    code = "gate-shut"


class ListComplete(Refused):
    """A complete list hands out nothing until it is reopened."""

    code = "list-complete"


class ItemClaimed(Refused):
    """The item is in a worker's hands and stays as it was handed out."""

    code = "item-claimed"


class ItemFailed(Refused):
    """A failed item is not due: it waits for somebody to retry or abandon it."""

    code = "item-failed"


class ListSealed(Refused):
    """A sealed list takes no new items."""

    code = "list-sealed"


class NameTaken(Refused):
    """Another list has that name already."""

    code = "name-taken"


class NotAllowed(Refused):
    """The token's role does not allow this, or not with this list."""

    code = "not-allowed"
    http_status = 403


class SchemaBroken(Refused):
    """An applied migration is not the one this program carries, or something else made tables with our names."""

    code = "schema-broken"


class SchemaMissing(Refused):
    """The database has no tables of ours, or older ones than this program needs."""

    code = "schema-missing"


class SchemaTooNew(Refused):
    """A newer program has migrated this database."""

    code = "schema-too-new"


class TokenRefused(Refused):
    """No access token was shown where one is needed, or one that is mistyped, unknown, expired or revoked."""

    code = "token-refused"
    http_status = 401


class Stale(RowlockError):
    """The request was right once; somebody was faster."""

    code = "stale"
    exit_status = 4
    http_status = 409


class ItemsGone(Stale):
    """Items were taken off the list or changed while they were claimed; the field `keys` names them."""

    code = "items-gone"

    @classmethod
    def of(cls, keys: Sequence[str], *, token: str) -> "ItemsGone":
        """The error for a settlement of a claim in which these have gone."""
        named = ", ".join(map(repr, keys[:NAMED]))
        more = f" and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
        what = f"items of the claim {token} were taken off the list or changed meanwhile: {named}{more}"
        hint = "nothing was settled: roll back, or settle with partial=True and write only for what is done"
        return cls(what, hint, keys=list(keys), token=token)


class StaleClaim(Stale):
    """The claim is no more: settled, closed, or gone with its session."""

    code = "stale-claim"

    @classmethod
    def of(cls, token: str) -> "StaleClaim":
        """The error for a claim that is no more."""
        what = f"the claim {token} is no more: it was settled, closed, or its session ended"
        return cls(what, "nothing was written; its items are free, or done by another", token=token)


class StaleSession(Stale):
    """The session has ended or expired, and its claims with it."""

    code = "stale-session"


class StaleVersion(Stale):
    """The list or item has changed since it was read."""

    code = "stale-version"
    http_status = 412

    @classmethod
    def of(cls, what: str, *, asked: int, actual: int) -> "StaleVersion":
        """The error for something that is at another version than the one that was seen."""
        return cls(f"{what} is at version {actual}, not {asked}", "read it again", asked=asked, version=actual)


class Unavailable(RowlockError):
    """The database, or whom we ask, cannot serve this now; what was asked may well be right."""

    code = "unavailable"
    exit_status = 5
    http_status = 503


class DatabaseBusy(Unavailable):
    """Others held the database for longer than we were willing to wait."""

    code = "database-busy"


class DatabaseCorrupt(Unavailable):
    """The file is damaged, or no SQLite database at all."""

    code = "database-corrupt"


class DatabaseDenied(Unavailable):
    """The database knows us not, or does not let us do this."""

    code = "database-denied"


class DatabaseFull(Unavailable):
    """No room is left where the database lives."""

    code = "database-full"


class DatabaseReadOnly(Unavailable):
    """The database can be read but not written."""

    code = "database-read-only"


class DatabaseUnreachable(Unavailable):
    """No connection can be made, or it was lost for good."""

    code = "database-unreachable"


class DriverMissing(Unavailable):
    """The package that speaks to this database is not installed."""

    code = "driver-missing"


class ExtraMissing(Unavailable):
    """A package that only some need, and this needs, is not installed."""

    code = "extra-missing"


class NoAnswer(Unavailable):
    """Whom a request was sent to gave no answer that can be read: down, too slow, cut off, or no HTTP."""

    code = "no-answer"


class OutcomeUnknown(Unavailable):
    """The connection broke at COMMIT: what was asked may have landed or not."""

    code = "outcome-unknown"


class Overloaded(Unavailable):
    """More requests wait, for the database, for work or for events, than are let in."""

    code = "overloaded"


class RedisUnavailable(Unavailable):
    """Redis cannot hand out numbers now; the database still can."""

    code = "redis-unavailable"


class ServerUnreachable(Unavailable):
    """No server of ours answers at that address, or not in time; the field `reason` tells why in a word."""

    code = "server-unreachable"
