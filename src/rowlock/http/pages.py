"""Pages: things of one kind, and the link that leads to the next of them."""

from typing import Any
from urllib.parse import quote, urlencode

from rowlock.api.text import Page
from rowlock.http.call import Call, Header
from rowlock.http.texts import field

__all__ = ["Page", "link"]


def link(call: Call, after: str | None, *, by: str = "after", **query: Any) -> list[Header]:
    """The header that names the next page, if there is one."""
    if after is None:
        return []
    asked = {name: field(value) for name, value in {**query, by: after}.items() if value is not None}
    target = f"{call.root_path}{call.raw_path.decode('latin-1')}?{urlencode(asked, quote_via=quote)}"
    return [(b"link", f'<{target}>; rel="next"'.encode("latin-1"))]
