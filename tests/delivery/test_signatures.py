"""Signing, and what a receiver does with it."""

import hmac
from base64 import b64decode, b64encode

import pytest

from rowlock import Invalid, verify
from rowlock.delivery.signatures import key, signed
from rowlock.errors import InvalidSignature

# From the specification's own description of the scheme, worked out by hand below.
SECRET = "whsec_" + b64encode(bytes(range(24))).decode()
OTHER = "whsec_" + b64encode(bytes(range(1, 33))).decode()
BODY = '{"größe": 3}'.encode()
AT = 1_700_000_000


def headers(*secrets: str, at: int = AT) -> dict[str, str]:
    return signed("item_1", BODY, keys=[key(secret) for secret in secrets], at=at)


def test_the_signature_is_that_of_standard_webhooks() -> None:
    content = b"item_1.1700000000." + BODY
    expected = b64encode(hmac.new(b64decode(SECRET.removeprefix("whsec_")), content, "sha256").digest()).decode()
    assert headers(SECRET) == {
        "webhook-id": "item_1",
        "webhook-timestamp": "1700000000",
        "webhook-signature": f"v1,{expected}",
    }


def test_without_a_secret_there_is_no_signature() -> None:
    assert headers() == {"webhook-id": "item_1", "webhook-timestamp": "1700000000"}


def test_a_signed_request_is_verified() -> None:
    assert verify(BODY, headers(SECRET), secrets=SECRET, now=AT) == "item_1"


def test_header_names_may_have_any_case() -> None:
    given = {name.title(): value for name, value in headers(SECRET).items()}
    assert verify(BODY, given, secrets=[SECRET], now=AT) == "item_1"


def test_during_a_rotation_old_and_new_secrets_are_accepted() -> None:
    assert verify(BODY, headers(SECRET, OTHER), secrets=OTHER, now=AT) == "item_1"
    assert verify(BODY, headers(SECRET), secrets=[OTHER, SECRET], now=AT) == "item_1"


@pytest.mark.parametrize("apart", [-299, 0, 299])
def test_clocks_may_differ_a_little(apart: int) -> None:
    assert verify(BODY, headers(SECRET), secrets=SECRET, now=AT + apart)


@pytest.mark.parametrize("apart", [-301, 301, 10**9])
def test_an_old_request_is_refused(apart: int) -> None:
    with pytest.raises(InvalidSignature, match=r"signed \d+ s ago"):
        verify(BODY, headers(SECRET), secrets=SECRET, now=AT + apart)


def test_the_tolerance_can_be_chosen() -> None:
    assert verify(BODY, headers(SECRET), secrets=SECRET, now=AT + 3_000, tolerance="1h")


def changed(**changes: str) -> dict[str, str]:
    return {**headers(SECRET), **{f"webhook-{name}": value for name, value in changes.items()}}


@pytest.mark.parametrize(
    "given",
    [
        {},
        changed(id=""),
        changed(id="item_2"),
        changed(timestamp=""),
        changed(timestamp="soon"),
        changed(timestamp="1700000001"),
        changed(timestamp="١٧٠٠٠٠٠٠٠٠"),
        changed(timestamp="9" * 30),
        changed(signature=""),
        changed(signature="v1,"),
        changed(signature="v1a,AAAA"),
        changed(signature="ä ö"),
        changed(signature=headers(SECRET)["webhook-signature"].replace("v1,", "v2,")),
        headers(OTHER),
        headers(),
    ],
    ids=repr,
)
def test_a_request_with_wrong_headers_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(InvalidSignature):
        verify(BODY, given, secrets=SECRET, now=AT)


def test_a_changed_body_is_refused() -> None:
    with pytest.raises(InvalidSignature):
        verify(BODY + b" ", headers(SECRET), secrets=SECRET, now=AT)


def test_without_a_secret_no_request_is_accepted() -> None:
    with pytest.raises(InvalidSignature):
        verify(BODY, headers(SECRET), secrets=[], now=AT)


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_!!!!", "hunter2", "whsec_" + "A" * 20, "whsec_" + "A" * 200, "ä"]
)
def test_an_invalid_secret_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(Invalid) as refused:
        key(secret)
    assert len(secret) < 7 or secret not in str(refused.value)
