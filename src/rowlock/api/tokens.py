"""Access tokens and the audit over HTTP: for admins."""

import msgspec

from rowlock import audit, tokens
from rowlock.api.documents import Value, page
from rowlock.api.operation import Operation
from rowlock.audit import AuditRecord
from rowlock.roles import Role
from rowlock.tokens import TokenInfo

TOKENS_PATH = "/v1/tokens"


class TokenOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Options of a new token."""

    role: Role
    lists: tuple[str, ...] = ()
    label: str = ""
    expires: str | None = None
    """A duration such as `30d`, or a time as ISO 8601 writes it; never if left out."""


class CreatedToken(msgspec.Struct, frozen=True):
    """A new token; its text is shown only here."""

    token: str
    info: TokenInfo

    def text(self) -> str:
        """Return the token alone."""
        return f"{self.token}\n"


class Revoked(Value, frozen=True):
    """Whether it was not revoked before."""

    revoked: bool


def _cells(info: TokenInfo) -> tuple[object, ...]:
    times = (info.created_at, info.expires_at, info.last_used_at)
    return info.id, info.shown, info.role, " ".join(info.lists), info.state, *times, info.label


TokenPage = page("TokenPage", "tokens", of=TokenInfo, cells=_cells, cursor="id")
AuditPage = page(
    "AuditPage", "records", of=AuditRecord, cells=("at", "who", "verb", "list", "count", "request"), cursor="id"
)

CREATE_TOKEN = Operation(
    None,
    "POST",
    TOKENS_PATH,
    Role.ADMIN,
    {201: CreatedToken},
    body=TokenOptions,
    repeatable=False,  # there would be two, and nobody would know the text of the first
    name="tokens.create",
)
REVOKE_TOKEN = Operation(tokens.revoke, "DELETE", f"{TOKENS_PATH}/{{id}}", Role.ADMIN, Revoked)
OPERATIONS = (
    Operation(tokens.page, "GET", TOKENS_PATH, Role.ADMIN, TokenPage),
    CREATE_TOKEN,
    REVOKE_TOKEN,
    Operation(audit.page, "GET", "/v1/audit", Role.ADMIN, AuditPage, name="tokens.audit"),
)
