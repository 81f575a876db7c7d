"""Mails and webhooks: text of a record or a subscriber cannot add a header, a recipient or a file."""

from email import message_from_bytes, policy
from pathlib import Path

import pytest

from rowlock.delivery.mail import Mail
from rowlock.model import Notification

BREAKS = ("\r\n", "\n", "\r", "\u2028", "\x0b", "\x00")


def notification(**changed: object) -> Notification:
    known = {"topic": "comics", "subscriber": "ann@example.org", "record": {"series": "Saga"}, "record_id": 1}
    return Notification(**{**known, "predicates": {}, "key": "k1", **changed})


def written(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in (folder / "new").iterdir()]


@pytest.mark.parametrize("line_break", BREAKS)
def test_a_topic_or_record_cannot_add_a_header_to_a_mail(tmp_path: Path, line_break: str) -> None:
    hostile = f"x{line_break}Bcc: eve@example.org{line_break}{line_break}<b>"
    Mail(f"maildir:{tmp_path}", sender="shop@example.org", compose=lambda _: (hostile, hostile))(notification())
    for content in written(tmp_path):
        message = message_from_bytes(content, policy=policy.default)
        assert (message["Bcc"], message["To"], message["From"]) == (None, "ann@example.org", "shop@example.org")
        assert len(message.get_all("Subject")) == 1


@pytest.mark.parametrize("line_break", BREAKS)
def test_a_subscriber_cannot_add_a_recipient(tmp_path: Path, line_break: str) -> None:
    mail = Mail(f"maildir:{tmp_path}", sender="shop@example.org")
    for subscriber in (f"ann@example.org{line_break}Bcc: eve@example.org", f"ann{line_break}@example.org"):
        mail(notification(subscriber=subscriber))
    for content in written(tmp_path):
        message = message_from_bytes(content, policy=policy.default)
        assert message["Bcc"] is None
        assert len(message.get_all("To")) == 1


@pytest.mark.parametrize(
    "subscriber", ["ann@example.org, eve@example.org", "ann@example.org,eve@example.org", "Ann <ann@example.org>"]
)
def test_a_subscriber_is_one_address(tmp_path: Path, subscriber: str) -> None:
    outcome = Mail(f"maildir:{tmp_path}", sender="shop@example.org")(notification(subscriber=subscriber))
    assert (type(outcome).__name__, written(tmp_path)) == ("Fail", [])
