"""The page at `/`: every list with its counts, and how to add and work from here; no scripts."""

from html import escape

from rowlock import lists
from rowlock.errors import RowlockError
from rowlock.http.call import Answer, Call
from rowlock.http.problems import without_address
from rowlock.model import ListInfo

SHOWN = 200

PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>rowlock</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: right; padding: .3rem .6rem; border-bottom: 1px solid #8886 }}
th:first-child, td:first-child {{ text-align: left; overflow-wrap: anywhere }}
pre {{ background: #8882; padding: .8rem; overflow-x: auto }}
</style>
<h1>rowlock</h1>
{lists}
<h2>Add</h2>
<pre>printf 'a.txt\\nb.txt\\n' | curl --data-binary @- {address}/v1/lists/downloads/items</pre>
<h2>Look</h2>
<pre>curl {address}/v1/lists
curl {address}/v1/lists/downloads/items
curl -H 'Accept: application/json' {address}/v1/lists/downloads</pre>
<h2>Work</h2>
<pre>{work}</pre>
<p><a href="{root}/openapi.json">What else can be asked</a> · <a href="{root}/v1/limits">limits</a>
· <a href="{root}/readyz?verbose">health</a></p>
</html>
"""


async def page(call: Call) -> Answer:
    """A page for people: every list with its counts, and how to begin."""
    try:
        found = await call.service.executor.read(lists.page, limit=SHOWN, prefixes=call.principal.lists)
        shown = _table(found)
    except RowlockError as found_wrong:
        error = without_address(found_wrong, call.service.engine)
        shown = f"<p><strong>{escape(error.what)}</strong>: {escape(error.hint)}</p>"
    address = escape(call.address)
    policy = (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
    work = escape(f"rowlock --server {call.address} work downloads -- echo {{}}")
    return Answer(
        PAGE.format(lists=shown, address=address, work=work, root=escape(call.root_path)).encode(), headers=[policy]
    )


def _table(found: list[ListInfo]) -> str:
    if not found:
        return "<p>Nothing to do yet.</p>"
    heads = ("list", "state", "ready", "delayed", "gated", "claimed", "failed", "done")
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in _cells(info))}</tr>\n" for info in found)
    more = f"<p>The first {SHOWN} of more.</p>" if len(found) == SHOWN else ""
    return f"<table>\n<tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>\n{rows}</table>{more}"


def _cells(info: ListInfo) -> list[str]:
    counts = info.counts
    numbers = (counts.ready, counts.delayed, counts.gated, counts.claimed, counts.failed, info.progress.done)
    return [escape(info.name), info.state, *(f"{number:,}" for number in numbers)]
