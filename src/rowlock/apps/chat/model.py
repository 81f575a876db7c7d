"""Applications, chats and messages: their values, and the checks of what users send."""

import re
import unicodedata
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import msgspec

from rowlock import Invalid, NotFound
from rowlock.errors import InvalidBody, InvalidName, TooLarge

MAX_NAME_CHARACTERS = 200
MAX_BODY_CHARACTERS = 32_768
MAX_NUMBER = 2**63 - 1

_TOKEN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[0-9]{1,19}")


class ChatApplication(msgspec.Struct, frozen=True):
    """An owner of chats."""

    name: str
    token: str
    chats_count: int
    as_of: str
    """When the chats were counted: all that were stored before are included."""


class Chat(msgspec.Struct, frozen=True):
    """A chat of an application."""

    number: int
    messages_count: int
    as_of: str


class ChatMessage(msgspec.Struct, frozen=True):
    """A version of a message; the first version is 0."""

    chat: int
    number: int
    version: int
    body: str

    @property
    def shown(self) -> dict[str, Any]:
        """The message as clients see it."""
        return {"number": self.number, "body": self.body}


def folded(text: str) -> str:
    """Return a text in the form in which it is searched; folded in Python, so that all databases agree."""
    return unicodedata.normalize("NFKC", text).casefold()


def new_token() -> str:
    """Return a new token of an application."""
    return str(uuid4())


def moment(milliseconds: int) -> str:
    """Return a time of the database in ISO 8601."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def check_name(name: Any) -> str:
    """Return the name of an application without surrounding blanks, or raise InvalidName."""
    found = _text(name)
    if not 0 < len(found) <= MAX_NAME_CHARACTERS:
        raise InvalidName("invalid name", f"send a name of 1 to {MAX_NAME_CHARACTERS} characters")
    return found


def check_body(body: Any) -> str:
    """Return the body of a message without surrounding blanks, or raise InvalidBody or TooLarge."""
    found = _text(body)
    if len(found) > MAX_BODY_CHARACTERS:
        raise TooLarge(
            f"body must have at most {MAX_BODY_CHARACTERS} characters, got {len(found)}", "send several messages"
        )
    if not found:
        raise InvalidBody("body must not be blank", "send a text")
    return found


def _text(given: Any) -> str:
    text = given.strip() if isinstance(given, str) else ""
    return "" if "\0" in text else text


def check_token(token: str) -> str:
    """Return the token of an application; text of another form is treated as an unknown token."""
    if not _TOKEN.fullmatch(token):
        raise no_such_application()
    return token


def check_number(text: str, what: str) -> int:
    """Return the number of a chat or a message; a number that is too high is treated as unknown."""
    if not _NUMBER.fullmatch(text):
        raise Invalid(f"{what} must be a number, got {text[:50]!r}", "numbers are 1, 2, 3 …")
    return min(int(text), MAX_NUMBER)


def no_such_application() -> NotFound:
    """Return the error for an unknown token."""
    return NotFound("no such token", "an application's token is in the answer that made it")


def no_such_chat() -> NotFound:
    """Return the error for an unknown application or chat."""
    return NotFound("application token or chat number incorrect", "make a chat first, and name it by its number")


def no_such_message() -> NotFound:
    """Return the error for an unknown message."""
    return NotFound("chat or message number incorrect", "a message has the number that was answered when it was sent")
