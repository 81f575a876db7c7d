"""Signatures of requests by the Standard Webhooks scheme: signing and verifying."""

import hmac
import time
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from hashlib import sha256

from rowlock.durations import Duration, milliseconds
from rowlock.errors import Invalid, InvalidSignature

SECRET_PREFIX = "whsec_"  # noqa: S105 - not a secret itself
KEY_BYTES = range(24, 65)

_HINT = f"it is {SECRET_PREFIX} and 24 to 64 bytes in base64: echo {SECRET_PREFIX}$(openssl rand -base64 32)"


def key(secret: str) -> bytes:
    """Return the key of a secret; the error for an invalid one does not contain it."""
    try:
        found = b64decode(secret.strip().removeprefix(SECRET_PREFIX), validate=True)
    except (NotBase64, ValueError):
        raise Invalid("invalid signing secret", _HINT) from None
    if len(found) not in KEY_BYTES:
        raise Invalid(f"a signing secret must have 24 to 64 bytes, got {len(found)}", _HINT)
    return found


def signed(message: str, body: bytes, *, keys: Iterable[bytes], at: int) -> dict[str, str]:
    """Return the headers with the id, the time and one signature for each key."""
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
    """Verify the signature and the time of a request, and return its id, which is the same if it is sent again.

    Raises InvalidSignature if no secret fits or the time is off by more than the tolerance. `body` must be the bytes
    that were received, not JSON that was decoded and encoded again.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message, at = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not message or not at.isascii() or not at.isdecimal() or len(at) > 15:
        raise InvalidSignature("the request is not signed", "reject it: a webhook header is missing")
    keys = [key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    signatures = given.get("webhook-signature", "").split()
    fitting = [
        hmac.compare_digest(_signature(each, message, at, body).encode(), signature.encode(errors="replace"))
        for each in keys
        for signature in signatures
    ]
    if not any(fitting):
        raise InvalidSignature("the signature fits none of the secrets", "reject it: the sender is unknown")
    apart = abs((time.time() if now is None else now) - int(at))
    if apart > milliseconds(tolerance) / 1_000:
        raise InvalidSignature(f"the request was signed {apart:.0f} s ago", "reject it: it may be a replay")
    return message
