"""What crosses a process about access tokens and the audit: for admins."""

from typing import Annotated

import msgspec
from msgspec import Meta

from rowlock import audit, tokens
from rowlock.api.lists import Limit
from rowlock.api.operation import Operation
from rowlock.api.text import Page, row
from rowlock.audit import MAX_ID, AuditRecord
from rowlock.roles import Role
from rowlock.tokens import TokenInfo

TOKENS_PATH = "/v1/tokens"


class TokenQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which tokens."""

    limit: Limit = msgspec.field(default=1000, name="count")
    after: Annotated[int, Meta(ge=0, le=MAX_ID, description="Only those made after the one of this id.")] = 0
    ended: Annotated[bool, Meta(description="Also those that have expired or were revoked.")] = False


class TokenPage(Page, frozen=True):
    """A page of tokens."""

    tokens: list[TokenInfo]
    next: int | None
    """What to give as `after` for the next page; none if this is the last."""

    def text(self) -> str:
        """A line for each token."""
        return "".join(row(_cells(each)) for each in self.tokens)


class TokenOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a new token shall be for."""

    role: Role
    lists: tuple[str, ...] = ()
    label: str = ""
    expires: str | None = None
    """A while, as `30d`, or a time as ISO 8601 writes it; never if left out."""


class CreatedToken(msgspec.Struct, frozen=True):
    """A new token: the only time that its text is told."""

    token: str
    info: TokenInfo

    def text(self) -> str:
        """The token alone."""
        return f"{self.token}\n"


class Revoked(msgspec.Struct, frozen=True):
    """Whether it was not revoked already."""

    revoked: bool


class AuditQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which records."""

    limit: Limit = msgspec.field(default=1000, name="count")
    before: (
        Annotated[int, Meta(ge=0, le=MAX_ID, description="Only those written before the one of this id.")] | None
    ) = None
    of: Annotated[str, Meta(description="Only what was done to this list.")] | None = msgspec.field(
        default=None, name="list"
    )
    since: Annotated[str, Meta(description="The last `2h`, or since a time as ISO 8601 writes it.")] | None = None


class AuditPage(Page, frozen=True):
    """A page of records, the newest first."""

    records: list[AuditRecord]
    next: int | None
    """What to give as `before` for the next page; none if this is the last."""

    def text(self) -> str:
        """A line for each record."""
        return "".join(
            row((each.at, each.who, each.verb, each.list, each.count, each.request)) for each in self.records
        )


def _cells(info: TokenInfo) -> tuple[object, ...]:
    times = (info.created_at, info.expires_at, info.last_used_at)
    return info.id, info.shown, info.role, " ".join(info.lists), info.state, *times, info.label


CREATE_TOKEN = Operation(
    tokens.create,
    "POST",
    TOKENS_PATH,
    Role.ADMIN,
    CreatedToken,
    body=TokenOptions,
    statuses=(201,),
    custom=True,
    idempotent=False,
    summary="Make a token; its text is in this answer and can never be had again.",
    description="The first token closes the service: from then on every request must show one, also on loopback.",
)
REVOKE_TOKEN = Operation(
    tokens.revoke, "DELETE", f"{TOKENS_PATH}/{{id}}", Role.ADMIN, Revoked, value="revoked", handled=True
)
OPERATIONS = (
    Operation(tokens.page, "GET", TOKENS_PATH, Role.ADMIN, TokenPage, query=TokenQuery, value="tokens", cursor="id"),
    CREATE_TOKEN,
    REVOKE_TOKEN,
    Operation(
        audit.page,
        "GET",
        "/v1/audit",
        Role.ADMIN,
        AuditPage,
        query=AuditQuery,
        value="records",
        cursor="id",
        name="tokens.audit",
    ),
)
