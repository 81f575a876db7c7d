"""Pages: the link that leads to the next one."""

from typing import Any
from urllib.parse import quote, urlencode

from rowlock.http.call import Call, Header


def link(call: Call, after: str | None, **query: Any) -> list[Header]:
    """The header that names the next page, if there is one."""
    if after is None:
        return []
    asked = {name: value for name, value in {**query, "after": after}.items() if value is not None}
    target = f"{call.scope['raw_path'].decode('latin-1')}?{urlencode(asked, quote_via=quote)}"
    return [(b"link", f'<{target}>; rel="next"'.encode("latin-1"))]
