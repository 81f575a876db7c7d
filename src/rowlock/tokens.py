"""Access tokens for the HTTP service. Functions that take a transaction.

A token is `rl_`, thirty random letters and digits (178 bits) and a checksum of six. The checksum distinguishes a
mistyped token from an unknown one without a query, and makes secret scanners certain of a find. Only the SHA-256 is
stored: slow hashes protect secrets that people choose, and nobody can try 2^178 random ones. A lookup by digest leaks
nothing through its duration, because a digest cannot be steered towards another.
"""

import os
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec

from rowlock.db import Tx
from rowlock.db.row_decoders import decoder
from rowlock.durations import DurationOrTime, delay_or_time
from rowlock.errors import Invalid, NoSuchToken, Refused
from rowlock.json_codec import encode_json
from rowlock.model import to_datetime
from rowlock.names import check_limit, check_name
from rowlock.roles import Role

PREFIX = "rl_"
RANDOM_CHARACTERS, CHECKSUM_CHARACTERS = 30, 6
MAX_LIVE_TOKENS = 10_000
"""All live tokens of a database are cached in memory by the authenticator."""
MAX_PREFIXES = 100
MAX_LABEL_BYTES = 200
ENDED_KEPT_MILLISECONDS = 90 * 86_400_000
"""How long ended tokens are still listed."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{RANDOM_CHARACTERS + CHECKSUM_CHARACTERS}}}", re.ASCII)


class TokenInfo(msgspec.Struct, frozen=True):
    """What may be shown of a token: never the token itself."""

    id: int
    shown: str
    label: str
    role: Role
    lists: tuple[str, ...]
    """Prefixes of the lists that it is limited to; empty for all lists."""
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """When it was last used, to about a minute."""
    revoked_at: datetime | None
    state: str
    """`live`, `expired` or `revoked`."""

    @property
    def live(self) -> bool:
        """Whether it is accepted."""
        return self.state == "live"


class NewToken(msgspec.Struct, frozen=True):
    """A new token; its text is not stored and cannot be read again."""

    text: str
    info: TokenInfo

    def __repr__(self) -> str:
        return f"NewToken({self.info.shown!r})"


class LiveTokens(msgspec.Struct, frozen=True):
    """All live tokens as they were read once: of thousands few are used, and only these are decoded."""

    rows: dict[str, Any]
    """The stored rows, by digest."""
    decode: Callable[[list[Any]], list[TokenInfo]]
    read_at: datetime
    """The time of reading, by the database's clock."""
    exist: bool
    """Whether there is or ever was a token: then requests need one, also when the last has ended."""


def generate() -> str:
    """Generate the text of a token; nothing is stored."""
    # Eighty bits more than are used, so that all letters are equally likely in practice.
    bare = PREFIX + _digits(int.from_bytes(os.urandom(32), "big"), RANDOM_CHARACTERS)
    return bare + _checksum(bare)


def well_formed(text: str) -> bool:
    """Return whether the text has the form of a token and the right checksum."""
    return bool(_SHAPE.fullmatch(text)) and text[-CHECKSUM_CHARACTERS:] == _checksum(text[:-CHECKSUM_CHARACTERS])


def digest(text: str) -> str:
    """Return the digest of a token, which is what is stored."""
    return sha256(text.encode()).hexdigest()


def masked(text: str) -> str:
    """Return the part of a token that may be shown to identify it."""
    return f"{PREFIX}…{text[-4:]}"


def _checksum(bare: str) -> str:
    return _digits(zlib.crc32(bare.encode()), CHECKSUM_CHARACTERS)


def _digits(number: int, length: int) -> str:
    text = ""
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        text = _DIGITS[digit] + text
    return text


def read_prefixes(given: str | Iterable[str], role: Role) -> tuple[str, ...]:
    """Read list prefixes, each once; a trailing star is dropped."""
    texts = [given] if isinstance(given, str) else list(given)
    prefixes = tuple(dict.fromkeys(text.removesuffix("*") for text in texts))
    if len(prefixes) > MAX_PREFIXES:
        raise Invalid(
            f"lists must be at most {MAX_PREFIXES} prefixes, got {len(prefixes)}", "give a shorter common prefix"
        )
    for prefix in prefixes:
        check_name(prefix)
    if prefixes and role is Role.ADMIN:
        raise Invalid(
            "an admin token must not be limited to lists, because it can create other tokens", "use the role operator"
        )
    return prefixes


def check_label(label: str) -> None:
    """Refuse a label that does not fit on one line."""
    if label and (not label.isprintable() or len(label.encode()) > MAX_LABEL_BYTES):
        raise Invalid(f"label must be at most {MAX_LABEL_BYTES} bytes of printable text, got {label[:50]!r}")


def create(
    tx: Tx,
    digest: str,
    *,
    shown: str,
    role: Role,
    lists: Sequence[str] = (),
    label: str = "",
    expires: DurationOrTime | None = None,
) -> TokenInfo:
    """Store a token by its digest; refuse one that would have expired already."""
    if tx.value("tokens/count") >= MAX_LIVE_TOKENS:
        raise Refused(
            f"there are {MAX_LIVE_TOKENS:,} live tokens already", "revoke some; a program needs one, not one a request"
        )
    delay, at = delay_or_time(expires)
    until = {"delay": None if expires is None else delay, "moment": at}
    stored = {"role": str(role), "lists": encode_json(lists), "label": label}
    token: int = tx.value("tokens/create", digest=digest, shown=shown, **stored, **until)
    [created] = page(tx, after=token - 1, limit=1, ended=True)
    if created.expires_at is not None and created.expires_at <= created.created_at:
        raise Invalid("expires must be later than now", "give a later time, or a duration such as 30d")
    return created


def page(tx: Tx, *, after: int = 0, limit: int = 1000, ended: bool = False) -> list[TokenInfo]:
    """Return tokens in the order of their creation, strictly after one; with `ended`, also expired and revoked ones."""
    check_limit(limit, "tokens")
    return tx.structs(TokenInfo, "tokens/page", after=after, limit=limit, ended=ended)


def revoke(tx: Tx, token: int) -> bool:
    """Revoke a token, and return whether it was not revoked before. Authenticators notice within a second."""
    possible = 0 < token < 2**63  # no column holds other numbers
    if possible and tx.run("tokens/revoke", token=token):
        return True
    if not possible or tx.row("tokens/find", token=token) is None:
        raise NoSuchToken(f"there is no token {token}", "see: rowlock token ls", token=token)
    return False


def live_rows(tx: Tx) -> LiveTokens:
    """Return the rows of all live tokens, and whether there is or ever was a token."""
    columns = tx.statements.columns("tokens/live")
    digest, read_at = columns.index("digest"), columns.index("read_at")
    rows = {row[digest]: row for row in tx.rows("tokens/live", limit=MAX_LIVE_TOKENS)}
    read = to_datetime(next(iter(rows.values()))[read_at] if rows else 0)
    exist = bool(rows) or tx.row("tokens/newest_id") is not None
    return LiveTokens(rows, decoder(TokenInfo, columns, partial=True), read, exist)


def touch(tx: Tx, used: Iterable[int]) -> int:
    """Record that tokens were used, each at most once a minute."""
    return tx.run("tokens/touch", ids=encode_json(sorted(used)))


def prune(tx: Tx, *, limit: int = 1000) -> int:
    """Delete tokens that ended long ago, but never the newest; return how many."""
    return tx.run("tokens/prune", limit=limit, age=ENDED_KEPT_MILLISECONDS)
