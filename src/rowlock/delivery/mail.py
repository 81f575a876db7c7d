"""Mail: a notification is sent to a mail server, or laid into a maildir. The subscriber is the address."""

from collections.abc import Callable
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, localtime
from pathlib import Path

import msgspec

from rowlock.delivery.maildir import Maildir
from rowlock.delivery.smtp import SmtpServer
from rowlock.durations import Duration, milliseconds
from rowlock.errors import Invalid, InvalidUrl
from rowlock.model import Notification
from rowlock.outcomes import Fail, Outcome

Composed = EmailMessage | tuple[str, str]
Compose = Callable[[Notification], Composed]

NOT_AN_ADDRESS = (ValueError, IndexError, MessageError)
"""What the standard library says to what is none."""


def letter(notification: Notification) -> tuple[str, str]:
    """A subject and a text for everybody: what it is, and why they read it."""
    fields = "\n".join(f"{name}: {_spoken(value)}" for name, value in notification.record.items())
    asked = ", ".join(f"{name} {_wanted(value)}" for name, value in notification.predicates.items())
    why = f"You asked to be told of: {asked}." if asked else "You asked to be told of everything."
    return f"New in {notification.topic}", f"{fields}\n\n{why}\n"


def _wanted(predicate: object) -> str:
    """A predicate in words: `Blue`, `Blue or Green`, `from 1970 to 1979`, `beginning with Bl`."""
    match predicate:
        case {"in": [*values]}:
            return " or ".join(map(_spoken, values))
        case {"prefix": beginning}:
            return f"beginning with {_spoken(beginning)}"
        case dict():
            return " ".join(f"{name} {_spoken(value)}" for name, value in predicate.items())
    return _spoken(predicate)


def _spoken(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class Mail:
    """Tells subscribers by mail: `smtp://host:25`, `smtps://user:password@host`, or `maildir:/path` to lay it there.

    `compose(notification)` gives a subject and a text, or a whole message. The Message-ID is the same however often it
    is sent.
    """

    def __init__(self, to: str, *, sender: str, compose: Compose = letter, timeout: Duration = "20s") -> None:
        try:
            self._sender = _address(sender)
        except NOT_AN_ADDRESS:
            hint = "give one like shop@example.org"
            raise Invalid(f"{sender!r} is no address that mail can come from", hint) from None
        self._compose = compose
        scheme, _, rest = to.partition(":")
        if scheme not in ("maildir", "smtp", "smtps"):
            raise InvalidUrl("mail goes to smtp://…, smtps://… or maildir:…", "write it like smtp://localhost:25")
        seconds = milliseconds(timeout) / 1_000
        self._post = Maildir(Path(rest)) if scheme == "maildir" else SmtpServer(to, seconds=seconds)

    def __repr__(self) -> str:
        return f"Mail({self._post.shown!r})"

    def __call__(self, notification: Notification) -> Outcome:
        """Send one notification; who has no address that mail can go to has failed at once."""
        try:
            to = _address(notification.subscriber)
            message = self._message(notification, to)
        except NOT_AN_ADDRESS:
            return Fail("the subscriber is no address that mail can go to", kind="address")
        return self._post.take(message, name=notification.key)

    def _message(self, notification: Notification, to: Address) -> EmailMessage:
        composed = self._compose(notification)
        if isinstance(composed, EmailMessage):
            message = composed
        else:
            message = EmailMessage(policy=SMTP)
            message["Subject"] = " ".join(composed[0].split())
            message.set_content(composed[1])
        del message["To"], message["From"], message["Message-ID"]
        message["To"], message["From"] = to, self._sender
        message["Message-ID"] = f"<{notification.key}@{self._sender.domain}>"
        if "Date" not in message:
            message["Date"] = format_datetime(localtime())
        if "Auto-Submitted" not in message:
            message["Auto-Submitted"] = "auto-generated"
        return message


def _address(text: str) -> Address:
    found = Address(addr_spec=text)
    if not found.username or not found.domain:
        raise ValueError("an address has two sides")
    return found
