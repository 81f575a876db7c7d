"""Targets: where an HTTP request goes. What could be misread is refused; what may be secret is not shown."""

import re
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from rowlock.errors import Invalid, InvalidUrl

PORTS = {"http": 80, "https": 443}
MAX_URL_CHARACTERS = 2_000

_HINT = "write it like https://example.org/work"
# Programs disagree about what these mean in an address: what one checks another would not visit.
_AMBIGUOUS = re.compile(r"[\x00-\x20\x7f\\]")
_NAME = re.compile(r"[a-zA-Z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff\t]*")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_.])?|[0-9a-f:.]*:[0-9a-f:.]*")


class HttpUrl(msgspec.Struct, frozen=True):
    """An address that a request can be sent to."""

    scheme: str
    host: str
    """In lower case, without brackets; not yet looked up."""
    port: int
    path: str
    """What is asked for there, with its query."""

    @property
    def secure(self) -> bool:
        """Whether it is spoken to by TLS."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and port as they stand in a request."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """The address for people, without its query: tokens travel there."""
        path, query, _ = self.path.partition("?")
        return f"{self.scheme}://{self.authority}{path}{'?…' if query else ''}"

    def beside(self, url: str) -> "HttpUrl":
        """Another address, given whole or from this one on: `/health`."""
        return parse(urljoin(f"{self.scheme}://{self.authority}{self.path}", url) if url else url)


def parse(url: str) -> HttpUrl:
    """Read an address; refuse what cannot be one, without repeating what may be a password."""
    if not isinstance(url, str) or not url or len(url) > MAX_URL_CHARACTERS or _AMBIGUOUS.search(url):
        raise InvalidUrl("the address of a request is empty, too long, or holds blanks or backslashes", _HINT)
    scheme = url.partition(":")[0].lower()
    if scheme not in PORTS or not url[len(scheme) :].startswith("://"):
        raise InvalidUrl("the address of a request begins with neither http:// nor https://", _HINT)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidUrl("the address of a request cannot be read: is its port a number?", _HINT) from None
    if "@" in parts.netloc:
        raise InvalidUrl("the address of a request holds a user or a password", "give it in an authorization header")
    if "[" in parts.netloc and ":" not in host:
        raise InvalidUrl("the address of a request has in brackets what is no IPv6 address", _HINT)
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~") + (f"?{_query(parts.query)}" if parts.query else "")
    return HttpUrl(scheme, _host(host), PORTS[scheme] if port is None else _port(port), path)


def _query(query: str) -> str:
    return quote(query, safe="/%:@!$&'()*+,;=~?")


def _port(port: int) -> int:
    if port == 0:
        raise InvalidUrl("the address of a request has port 0, where nobody can be", _HINT)
    return port


def _host(host: str) -> str:
    try:
        plain = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        plain = ""
    if not _HOST.fullmatch(plain) or ".." in plain or len(plain) > 253:
        raise InvalidUrl("the address of a request names no host that can be", _HINT)
    return plain


def check_header(name: str, value: str) -> None:
    """Refuse a header that would be more than one, or none; its value is not repeated."""
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise Invalid(f"the header {name!r} cannot be sent", "a name is letters, digits and -, a value one line")
