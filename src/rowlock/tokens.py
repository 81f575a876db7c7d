"""Access tokens: who may do what over HTTP. Verbs are functions of a transaction.

A token is `rl_`, thirty random letters and digits (178 bits) and a checksum of six. The checksum tells a mistyped one
from an unknown one without asking the database, and lets scanners of secrets be sure of what they found. Only the
SHA-256 of it is stored: a slow hash guards secrets that people choose, and nobody can try 2^178 random ones. Looking
it up by its digest leaks nothing by the time it takes, for nobody can steer a digest towards another.
"""

import os
import re
import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec

from rowlock.db import Transaction
from rowlock.durations import DurationOrTime, delay_or_time
from rowlock.errors import Invalid, NoSuchToken, Refused
from rowlock.model import to_datetime
from rowlock.names import check_limit, check_name
from rowlock.roles import Role

PREFIX = "rl_"
RANDOM_CHARACTERS, CHECKSUM_CHARACTERS = 30, 6
MAX_LIVE_TOKENS = 10_000
"""Live tokens of a database: all of them are held in memory by whoever checks requests."""
MAX_PREFIXES = 100
MAX_LABEL_BYTES = 200
ENDED_KEPT_MILLISECONDS = 90 * 86_400_000
"""How long a token that is over can still be seen in the list, in milliseconds."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{RANDOM_CHARACTERS + CHECKSUM_CHARACTERS}}}", re.ASCII)


class TokenInfo(msgspec.Struct, frozen=True):
    """A token as it may be shown: never the token itself."""

    id: int
    shown: str
    label: str
    role: Role
    lists: tuple[str, ...]
    """Prefixes of the names it is for; none for all."""
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """When it was last seen in use, to a minute or so."""
    revoked_at: datetime | None
    live: bool


class NewToken(msgspec.Struct, frozen=True):
    """A token that was just made; this is the only time that its text can be had."""

    text: str
    info: TokenInfo

    def __repr__(self) -> str:
        return f"NewToken({self.info.shown!r})"


class LiveToken(msgspec.Struct, frozen=True):
    """A live token as whoever checks requests knows it."""

    info: TokenInfo
    left: float | None
    """Seconds it had yet to live when it was read, by the database's clock."""


def generate() -> str:
    """A new token; nothing is stored yet."""
    # Eighty bits more than are kept: no letter is likelier than another by more than chance could ever show.
    bare = PREFIX + _digits(int.from_bytes(os.urandom(32), "big"), RANDOM_CHARACTERS)
    return bare + _checksum(bare)


def well_formed(text: str) -> bool:
    """Whether the text can be a token: a mistyped one is told by its checksum."""
    return bool(_SHAPE.fullmatch(text)) and text[-CHECKSUM_CHARACTERS:] == _checksum(text[:-CHECKSUM_CHARACTERS])


def digest(text: str) -> str:
    """What is stored of a token."""
    return sha256(text.encode()).hexdigest()


def masked(text: str) -> str:
    """What a person may see of a token: enough to know it by."""
    return f"{PREFIX}…{text[-4:]}"


def _checksum(bare: str) -> str:
    return _digits(zlib.crc32(bare.encode()), CHECKSUM_CHARACTERS)


def _digits(number: int, length: int) -> str:
    found = ""
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        found = _DIGITS[digit] + found
    return found


def read_prefixes(given: str | Iterable[str], role: Role) -> tuple[str, ...]:
    """Prefixes of names, each once; a star at the end of one says the same."""
    texts = [given] if isinstance(given, str) else list(given)
    prefixes = tuple(dict.fromkeys(text.removesuffix("*") for text in texts))
    if len(prefixes) > MAX_PREFIXES:
        raise Invalid(f"{len(prefixes)} prefixes are too many", f"give up to {MAX_PREFIXES}, or a shorter one")
    for prefix in prefixes:
        check_name(prefix)
    if prefixes and role is Role.ADMIN:
        raise Invalid("an admin cannot be held to some lists, for it can make itself another token", "use operator")
    return prefixes


def check_label(label: str) -> None:
    """Refuse a label that could not be shown in a line."""
    if label and (not label.isprintable() or len(label.encode()) > MAX_LABEL_BYTES):
        raise Invalid("the label cannot be shown in a line", f"give up to {MAX_LABEL_BYTES} bytes of printable text")


def create(
    tx: Transaction,
    digest: str,
    *,
    shown: str,
    role: Role,
    lists: Sequence[str] = (),
    label: str = "",
    expires: DurationOrTime | None = None,
) -> TokenInfo:
    """Let the token of that digest in; refused if it would be over before it begins."""
    if tx.value("tokens/count") >= MAX_LIVE_TOKENS:
        raise Refused(
            f"there are {MAX_LIVE_TOKENS:,} live tokens already", "revoke some; a program needs one, not one a request"
        )
    delay, at = delay_or_time(expires)
    until = {"delay": None if expires is None else delay, "moment": at}
    held = msgspec.json.encode(lists).decode()
    row = tx.row("tokens/create", digest=digest, shown=shown, label=label, role=str(role), lists=held, **until)
    assert row is not None  # noqa: S101
    token, created, ends = row
    if ends is not None and ends <= created:
        raise Invalid("the token would have expired before it was made", "give a later time, or a while such as 30d")
    return _info(token, shown, label, role, held, created, ends)


def page(tx: Transaction, *, after: int = 0, limit: int = 1000, ended: bool = False) -> list[TokenInfo]:
    """Tokens in the order they were made, strictly after one; with `ended` also those that are over."""
    check_limit(limit, "tokens")
    return [_info(*row) for row in tx.rows("tokens/page", after=after, limit=limit, ended=ended)]


def revoke(tx: Transaction, token: int) -> bool:
    """End a token; whether it was not revoked already. Whoever checks requests knows within a second."""
    possible = 0 < token < 2**63  # what no column holds is nobody's
    if possible and tx.run("tokens/revoke", token=token):
        return True
    if not possible or tx.row("tokens/find", token=token) is None:
        raise NoSuchToken(f"there is no token {token}", "see: rowlock token ls", token=token)
    return False


def live_rows(tx: Transaction) -> tuple[dict[str, Any], bool]:
    """All tokens that may be used now, as rows by their digests, and whether there is or ever was one.

    Where there was one, nothing is open without: also not when the last is over. Of thousands few are asked for: see
    `known`.
    """
    rows = {row[0]: row for row in tx.rows("tokens/live", limit=MAX_LIVE_TOKENS)}
    return rows, bool(rows) or tx.row("tokens/exist") is not None


def live_token(row: Sequence[Any]) -> LiveToken:
    """A row of a look as what it means."""
    _, now, *columns = row
    ends: int | None = columns[6]
    return LiveToken(_info(*columns), None if ends is None else (ends - now) / 1_000)


def touch(tx: Transaction, used: Iterable[int]) -> int:
    """Note that tokens were seen in use; at most once a minute each."""
    return tx.run("tokens/touch", ids=msgspec.json.encode(sorted(used)).decode())


def prune(tx: Transaction, *, limit: int = 1000) -> int:
    """Forget tokens that have been over for long, but never the newest; how many."""
    return tx.run("tokens/prune", limit=limit, age=ENDED_KEPT_MILLISECONDS)


def _info(token: int, shown: str, label: str, role: str, lists: str, *rest: Any) -> TokenInfo:
    created, expires, used, revoked, live = tuple[Any, ...]((*rest, *(None, None, None, True)[len(rest) - 1 :]))
    return TokenInfo(
        token,
        shown,
        label,
        Role(role),
        tuple(msgspec.json.decode(lists)),
        created_at=to_datetime(created),
        expires_at=None if expires is None else to_datetime(expires),
        last_used_at=None if used is None else to_datetime(used),
        revoked_at=None if revoked is None else to_datetime(revoked),
        live=bool(live),
    )
