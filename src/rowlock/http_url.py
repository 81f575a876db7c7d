"""URLs of outgoing HTTP requests. Ambiguous ones are refused; what may be secret is not shown."""

import re
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from rowlock.errors import Invalid, InvalidUrl

PORTS = {"http": 80, "https": 443}
MAX_URL_CHARACTERS = 2_000

_HINT = "write it like https://example.org/work"
# Programs disagree about what these mean in a URL: the host that one checks is not the one that another connects to.
_AMBIGUOUS = re.compile(r"[\x00-\x20\x7f\\]")
_SAFE = "/%:@!$&'()*+,;=~"
_NAME = re.compile(r"[a-zA-Z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff\t]*")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_.])?|[0-9a-f:.]*:[0-9a-f:.]*")


class HttpUrl(msgspec.Struct, frozen=True):
    """A parsed URL that a request can be sent to."""

    scheme: str
    host: str
    """In lower case, without brackets; not resolved yet."""
    port: int
    path: str
    """The path with its query."""

    @property
    def secure(self) -> bool:
        """Whether the connection uses TLS."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and port as in a Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port: requests to one origin share connections."""
        return f"{self.scheme}://{self.authority}"

    @property
    def shown(self) -> str:
        """The URL for logs and messages, without its query, which may hold tokens."""
        path, query, _ = self.path.partition("?")
        return f"{self.origin}{path}{'?…' if query else ''}"

    def beside(self, url: str) -> "HttpUrl":
        """Resolve a URL that may be relative to this one: `/health`."""
        return parse(urljoin(f"{self.origin}{self.path}", url) if url else url)


def parse(url: str) -> HttpUrl:
    """Parse a URL; refuse an invalid one without repeating it, because it may hold a password."""
    if not isinstance(url, str) or not url or len(url) > MAX_URL_CHARACTERS or _AMBIGUOUS.search(url):
        raise InvalidUrl(f"the URL must be 1 to {MAX_URL_CHARACTERS} characters without blanks and backslashes", _HINT)
    scheme = url.partition(":")[0].lower()
    if scheme not in PORTS or not url[len(scheme) :].startswith("://"):
        raise InvalidUrl("the URL must begin with http:// or https://", _HINT)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidUrl("the URL cannot be parsed: its port must be a number", _HINT) from None
    if "@" in parts.netloc:
        raise InvalidUrl("the URL must not hold a user or a password", "send them in an authorization header")
    if "[" in parts.netloc and ":" not in host:
        raise InvalidUrl("the URL must have an IPv6 address within its brackets", _HINT)
    if port == 0:
        raise InvalidUrl("the port of the URL must be 1 to 65535, got 0", _HINT)
    path = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=f'{_SAFE}?')}" if parts.query else "")
    return HttpUrl(scheme, _host(host), port or PORTS[scheme], path)


def _host(host: str) -> str:
    try:
        plain = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        plain = ""
    if not _HOST.fullmatch(plain) or ".." in plain or len(plain) > 253:
        raise InvalidUrl("the URL has an invalid host name", _HINT)
    return plain


def check_header(name: str, value: str) -> None:
    """Refuse an invalid header, without repeating its value, which may be secret."""
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise Invalid(
            f"invalid name or value of the header {name!r}", "a name is letters, digits and -, a value one line"
        )
