"""Access tokens and the audit of a server."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from rowlock.audit import MAX_ID, AuditRecord
from rowlock.client.items import when
from rowlock.client.link import Link
from rowlock.durations import delay_or_time
from rowlock.model import DurationOrTime
from rowlock.names import check_limit
from rowlock.roles import Role, read_role
from rowlock.tokens import NewToken, TokenInfo, check_label, read_prefixes


class TokenShown(msgspec.Struct, frozen=True):
    """A token as a server shows it."""

    id: int
    shown: str
    label: str
    role: Role
    lists: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    state: str

    @property
    def info(self) -> TokenInfo:
        """The same as the engine has it."""
        known = {name: value for name, value in msgspec.structs.asdict(self).items() if name != "state"}
        return TokenInfo(**known, live=self.state == "live")


class TokenPage(msgspec.Struct, frozen=True):
    """A page of tokens."""

    tokens: list[TokenShown]


class TokenMade(msgspec.Struct, frozen=True):
    """A new token with its text."""

    token: str
    info: TokenShown


class Revoked(msgspec.Struct, frozen=True):
    """Whether it was not revoked already."""

    revoked: bool


class AuditPage(msgspec.Struct, frozen=True):
    """A page of records."""

    records: list[AuditRecord]


class Tokens:
    """The access tokens of a server: made, listed, revoked. Who shows one is for the server to know."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def create(
        self, role: str, *, lists: str | Iterable[str] = (), label: str = "", expires: DurationOrTime | None = None
    ) -> NewToken:
        """A new token; its text can be had here and never again. `lists` are prefixes of names, `expires` a while."""
        chosen = read_role(role)
        prefixes = read_prefixes(lists, chosen)
        check_label(label)
        wanted = {"role": chosen, "lists": prefixes, "label": label, "expires": _when(expires)}
        # Asked twice there would be two, and nobody would know the text of the first.
        made = self._link.ask("POST", "tokens", gives=TokenMade, body=wanted, again=False)
        return NewToken(made.token, made.info.info)

    def page(self, *, after: int = 0, limit: int = 1000, ended: bool = False) -> list[TokenInfo]:
        """Tokens in the order they were made, strictly after one; with `ended` also those that are over."""
        check_limit(limit, "tokens")
        query = {"after": after, "count": limit, "ended": ended}
        return [each.info for each in self._link.ask("GET", "tokens", gives=TokenPage, query=query).tokens]

    def revoke(self, token: int) -> bool:
        """End a token by its id; whether it was not revoked already."""
        return self._link.ask("DELETE", "tokens", str(token), gives=Revoked).revoked


def audit(
    link: Link, *, of: str | None = None, since: DurationOrTime | None = None, before: int = MAX_ID, limit: int = 1000
) -> list[AuditRecord]:
    """What was done, the newest first."""
    check_limit(limit, "records")
    query = {"list": of, "since": _when(since), "before": before, "count": limit}
    return link.ask("GET", "audit", gives=AuditPage, query=query).records


def _when(given: DurationOrTime | None) -> str | None:
    return None if given is None else when(*delay_or_time(given)) or "0s"
