"""What is asked and answered, and what cannot be: applications, chats, messages."""

import re
import unicodedata
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import msgspec

from rowlock import Invalid, NotFound
from rowlock.errors import InvalidBody, InvalidName, InvalidQuery, TooLarge

NAME = 200
"""Characters of a name."""
BODY = 32_768
"""Characters of a message."""
COUNT = 1_000
"""Things on a page, unless fewer or more are asked for."""
LARGEST_COUNT = 10_000
HIGHEST = 2**63 - 1

_TOKEN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[0-9]{1,19}")


class ChatApplication(msgspec.Struct, frozen=True):
    """Who owns chats."""

    name: str
    token: str
    chats_count: int
    as_of: str
    """When it was counted: everything that was stored by then is in it."""


class Chat(msgspec.Struct, frozen=True):
    """A chat of an application."""

    number: int
    messages_count: int
    as_of: str


class ChatMessage(msgspec.Struct, frozen=True):
    """A message as it is at one of its versions; the first is 0."""

    chat: int
    number: int
    version: int
    body: str

    @property
    def shown(self) -> dict[str, Any]:
        """What a reader sees."""
        return {"number": self.number, "body": self.body}

    @property
    def folded(self) -> str:
        """What a search looks at: the body without its capitals, by the same rule on every database."""
        return folded(self.body)


def folded(text: str) -> str:
    """Text in the form in which it is searched."""
    return unicodedata.normalize("NFKC", text).casefold()


def new_token() -> str:
    """What an application is addressed by."""
    return str(uuid4())


def moment(milliseconds: int) -> str:
    """A moment of the database as people and programs read it."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class ChatInput(msgspec.Struct):
    """What requests bring in their bodies."""

    name: Any = None
    body: Any = None


_decode = msgspec.json.Decoder(ChatInput).decode


def read(body: bytes) -> ChatInput:
    """A request's body, which is a JSON object."""
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidBody("the request is no JSON object", 'send one, such as {"body": "hello"}') from None


def check_name(name: Any) -> str:
    """The name of an application, without blanks around it."""
    found = _text(name)
    if not 0 < len(found) <= NAME:
        raise InvalidName("invalid name entered", f"send a name of 1 to {NAME} characters")
    return found


def check_body(body: Any) -> str:
    """The body of a message, or what is searched for, without blanks around it."""
    found = _text(body)
    if len(found) > BODY:
        raise TooLarge(f"a body of {len(found)} characters is too long", f"{BODY} is the most")
    if not found:
        raise InvalidBody("no valid body", "send a body that is not blank")
    return found


def _text(given: Any) -> str:
    text = given.strip() if isinstance(given, str) else ""
    return "" if "\0" in text else text


def check_token(token: str) -> str:
    """The token of an application; what cannot be one is nobody's."""
    if not _TOKEN.fullmatch(token):
        raise no_such_application()
    return token


def check_number(text: str, what: str) -> int:
    """The number of a chat or a message; one that is too high is simply not there."""
    if not _NUMBER.fullmatch(text):
        raise Invalid(f"invalid {what} number", "numbers are 1, 2, 3 …")
    return min(int(text), HIGHEST)


def check_count(text: str | None) -> int:
    """How many things a page shall hold."""
    if text is None:
        return COUNT
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= LARGEST_COUNT:
        raise InvalidQuery(f"count={text[:50]} cannot be had", f"ask for 1 to {LARGEST_COUNT}")
    return int(text)


def no_such_application() -> NotFound:
    """Nobody has that token."""
    return NotFound("no such token", "an application's token is in the answer that made it")


def no_such_chat() -> NotFound:
    """The token or the number is wrong."""
    return NotFound("application token or chat number incorrect", "make a chat first, and name it by its number")


def no_such_message() -> NotFound:
    """The chat has no such message."""
    return NotFound("chat or message number incorrect", "a message has the number that was answered when it was sent")
