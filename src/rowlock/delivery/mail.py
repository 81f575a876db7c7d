"""Mail: a notification is sent to a mail server or written to a maildir. The subscriber is the address."""

import os
import smtplib
import ssl
from collections.abc import Callable
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, localtime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from rowlock.durations import Duration, milliseconds
from rowlock.errors import Invalid, InvalidUrl
from rowlock.model import Notification
from rowlock.outcomes import Done, Fail, Outcome, Retry

Composed = EmailMessage | tuple[str, str]
Compose = Callable[[Notification], Composed]

NOT_AN_ADDRESS = (ValueError, IndexError, MessageError)
"""Exceptions of the standard library for invalid addresses."""


def letter(notification: Notification) -> tuple[str, str]:
    """Return the default subject and text: the record, and the predicates that matched."""
    fields = "\n".join(f"{name}: {_value_text(value)}" for name, value in notification.record.items())
    asked = ", ".join(f"{name} {_describe(value)}" for name, value in notification.predicates.items())
    why = f"You asked to be told of: {asked}." if asked else "You asked to be told of everything."
    return f"New in {notification.topic}", f"{fields}\n\n{why}\n"


def _describe(predicate: object) -> str:
    """Return a predicate in words: `Blue`, `Blue or Green`, `from 1970 to 1979`, `beginning with Bl`."""
    match predicate:
        case {"in": [*values]}:
            return " or ".join(map(_value_text, values))
        case {"prefix": beginning}:
            return f"beginning with {_value_text(beginning)}"
        case dict():
            return " ".join(f"{name} {_value_text(value)}" for name, value in predicate.items())
    return _value_text(predicate)


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class Mail:
    """Notifies subscribers by mail: `smtp://host:25`, `smtps://user:password@host`, or `maildir:/path`.

    `compose(notification)` returns subject and text, or a whole message. A mail that is sent again has the same
    Message-ID.
    """

    def __init__(self, to: str, *, sender: str, compose: Compose = letter, timeout: Duration = "20s") -> None:
        try:
            self._sender = _address(sender)
        except NOT_AN_ADDRESS:
            raise Invalid(f"invalid sender address {sender!r}", "give one like shop@example.org") from None
        self._compose = compose
        scheme, _, rest = to.partition(":")
        if scheme not in ("maildir", "smtp", "smtps"):
            raise InvalidUrl(f"unknown mail scheme {scheme!r}", "use smtp://host:25, smtps://host or maildir:/path")
        seconds = milliseconds(timeout) / 1_000
        self._transport = Maildir(Path(rest)) if scheme == "maildir" else SmtpServer(to, seconds=seconds)

    def __repr__(self) -> str:
        return f"Mail({self._transport.shown!r})"

    def __call__(self, notification: Notification) -> Outcome:
        """Send one notification; an invalid address of the subscriber fails at once."""
        try:
            message = self._message(notification, _address(notification.subscriber))
        except NOT_AN_ADDRESS:
            return Fail("the subscriber is not a mail address", kind="address")
        return self._transport.deliver(message, name=notification.key)

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
        raise ValueError("an address needs a name and a domain")
    return found


LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
MAX_REPLY_CHARACTERS = 200
PERMANENT_CODES = range(500, 600)


class SmtpServer:
    """Sends mails by SMTP, each on a connection of its own. A password is sent by TLS or to this machine only."""

    def __init__(self, url: str, *, seconds: float) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        if not host:
            raise InvalidUrl("invalid URL of a mail server", "write it like smtp://localhost:25")
        self._secure = parts.scheme == "smtps"
        self._host, self._port = host, port or (465 if self._secure else 25)
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._seconds = seconds
        self.shown = f"{parts.scheme}://{self._host}:{self._port}"

    def deliver(self, message: EmailMessage, *, name: str) -> Outcome:
        """Send one mail; a permanently refused recipient fails, everything else is retried."""
        del name
        try:
            with self._connected() as server:
                self._log_in(server)
                server.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            code, reply = next(iter(error.recipients.values()))
            return (Fail if code in PERMANENT_CODES else Retry)(_server_reply(code, reply), kind=f"mail {code}")
        except smtplib.SMTPNotSupportedError:
            return Fail("the mail server only accepts ASCII addresses", kind="mail")
        except smtplib.SMTPResponseException as error:
            return Retry(_server_reply(error.smtp_code, error.smtp_error), kind=f"mail {error.smtp_code}")
        except (smtplib.SMTPException, OSError):
            return Retry("the mail server gave no answer", kind="connection")
        return Done()

    def _connected(self) -> smtplib.SMTP:
        if not self._secure:
            return smtplib.SMTP(self._host, self._port, timeout=self._seconds)
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(self._host, self._port, timeout=self._seconds, context=context)

    def _log_in(self, server: smtplib.SMTP) -> None:
        server.ehlo_or_helo_if_needed()
        secure = self._secure
        if not secure and server.has_extn("starttls"):
            context = ssl.create_default_context()
            if not self._user:
                # Unverified TLS is better than none: many mail servers have self-signed certificates.
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            server.starttls(context=context)
            secure = True
        if self._user:
            if not secure and self._host not in LOOPBACK_HOSTS:
                raise smtplib.SMTPException("refusing to send a password without TLS")
            server.login(self._user, self._password)


def _server_reply(code: int, reply: bytes | str) -> str:
    text = reply.decode(errors="replace") if isinstance(reply, bytes) else reply
    return f"the mail server said {code} {' '.join(text.split())[:MAX_REPLY_CHARACTERS]}"


class Maildir:
    """Writes mails into a folder, one file each. A mail that is written twice is there once, until it is read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.shown = f"maildir:{folder}"
        try:
            for part in ("tmp", "new", "cur"):
                (folder / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot create the maildir {str(folder)!r}: {(error.strerror or 'no access').lower()}"
            raise Invalid(what, "use a writable folder") from None

    def deliver(self, message: EmailMessage, *, name: str) -> Outcome:
        """Write one mail, completely or not at all."""
        file = f"{name}.rowlock"
        try:
            with (self._folder / "tmp" / file).open("wb") as writing:
                writing.write(message.as_bytes(policy=message.policy.clone(linesep="\n")))
                writing.flush()
                os.fsync(writing.fileno())
            (self._folder / "tmp" / file).replace(self._folder / "new" / file)
        except OSError as error:
            return Retry(f"cannot write to the maildir: {(error.strerror or 'no access').lower()}", kind="maildir")
        return Done()
