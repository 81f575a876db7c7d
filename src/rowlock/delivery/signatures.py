"""Signatures: how a receiver knows that a request is ours. The Standard Webhooks scheme, both ends of it."""

import hmac
import time
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from hashlib import sha256

from rowlock.durations import Duration, milliseconds
from rowlock.errors import Invalid, InvalidSignature

PREFIX = "whsec_"
KEY_BYTES = range(24, 65)

_HINT = f"it is {PREFIX} and 24 to 64 bytes in base64: echo {PREFIX}$(openssl rand -base64 32)"


def key(secret: str) -> bytes:
    """The key of a secret; refused without repeating it if it cannot be one."""
    try:
        found = b64decode(secret.strip().removeprefix(PREFIX), validate=True)
    except (NotBase64, ValueError):
        raise Invalid("a signing secret cannot be read", _HINT) from None
    if len(found) not in KEY_BYTES:
        raise Invalid(f"a signing secret has {len(found)} bytes", _HINT)
    return found


def signed(message: str, body: bytes, *, keys: Iterable[bytes], at: int) -> dict[str, str]:
    """The headers that say which message this is, when it was sent and by whom; a signature for each key."""
    headers = {"webhook-id": message, "webhook-timestamp": str(at)}
    signatures = [_signature(each, message, str(at), body) for each in keys]
    return {**headers, "webhook-signature": " ".join(signatures)} if signatures else headers


def _signature(of: bytes, *parts: str | bytes) -> str:
    content = b".".join(part.encode() if isinstance(part, str) else part for part in parts)
    return f"v1,{b64encode(hmac.digest(of, content, sha256)).decode()}"


def verify(
    body: bytes,
    headers: Mapping[str, str],
    *,
    secrets: str | Iterable[str],
    tolerance: Duration = "5m",
    now: float | None = None,
) -> str:
    """Make sure that a request is ours and not an old one sent again; the id to recognise a repeated request by.

    InvalidSignature if no secret fits or the clocks are further apart than the tolerance. `body` is what was received,
    byte by byte, before anything has read it as JSON.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message, at = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not message or not at.isascii() or not at.isdecimal() or len(at) > 15:
        raise InvalidSignature("the request carries no signature", "refuse it: a webhook header is missing")
    keys = [key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    signatures = given.get("webhook-signature", "").split()
    fitting = [
        hmac.compare_digest(_signature(each, message, at, body).encode(), signature.encode(errors="replace"))
        for each in keys
        for signature in signatures
    ]
    if not any(fitting):
        raise InvalidSignature("the request's signature fits none of the secrets", "refuse it: it is not ours")
    apart = abs((time.time() if now is None else now) - int(at))
    if apart > milliseconds(tolerance) / 1_000:
        raise InvalidSignature(f"the request was signed {apart:.0f} s ago", "refuse it: it may have been sent before")
    return message
