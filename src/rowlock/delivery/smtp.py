"""A mail server, spoken to by SMTP. A password travels by TLS, or within this machine."""

import smtplib
import ssl
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from rowlock.errors import InvalidUrl
from rowlock.outcomes import Done, Fail, Outcome, Retry

HERE = ("localhost", "127.0.0.1", "::1")
SAID = 200
REFUSED = range(500, 600)


class SmtpServer:
    """Hands mails to a server, each on a connection of its own."""

    def __init__(self, url: str, *, seconds: float) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        if not host:
            raise InvalidUrl("the address of the mail server cannot be read", "write it like smtp://localhost:25")
        self._secure = parts.scheme == "smtps"
        self._host, self._port = host, port or (465 if self._secure else 25)
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._seconds = seconds
        self.shown = f"{parts.scheme}://{self._host}:{self._port}"

    def take(self, message: EmailMessage, *, name: str) -> Outcome:
        """Send one mail; who is refused for good has failed, anything else is tried again."""
        del name
        try:
            with self._connected() as server:
                server.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            code, said = next(iter(error.recipients.values()))
            return (Fail if code in REFUSED else Retry)(_said(code, said), kind=f"mail {code}")
        except smtplib.SMTPNotSupportedError:
            return Fail("the mail server does not take addresses beyond ASCII", kind="mail")
        except smtplib.SMTPResponseException as error:
            return Retry(_said(error.smtp_code, error.smtp_error), kind=f"mail {error.smtp_code}")
        except (smtplib.SMTPException, OSError):
            return Retry("the mail server gave no answer", kind="connection")
        return Done()

    def _connected(self) -> smtplib.SMTP:
        if self._secure:
            context = ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(self._host, self._port, timeout=self._seconds, context=context)
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=self._seconds)
        try:
            self._enter(server)
        except BaseException:
            server.close()
            raise
        return server

    def _enter(self, server: smtplib.SMTP) -> None:
        server.ehlo_or_helo_if_needed()
        secure = self._secure
        if not secure and server.has_extn("starttls"):
            server.starttls(context=self._context())
            server.ehlo()
            secure = True
        if self._user:
            if not secure and self._host not in HERE:
                raise smtplib.SMTPException("no TLS, no password")
            server.login(self._user, self._password)

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if not self._user:
            # Without a secret to keep, any TLS is better than none: servers often sign for themselves.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


def _said(code: int, said: bytes | str) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return f"the mail server said {code} {' '.join(text.split())[:SAID]}"
