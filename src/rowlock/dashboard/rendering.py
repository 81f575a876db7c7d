"""Writes views: as HTML by their templates, as JSON, and as CSV. And the static files that pages refer to."""

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import jinja2
import msgspec
from markupsafe import Markup, escape

import rowlock
from rowlock.api.documents import cell
from rowlock.dashboard.charts import chart
from rowlock.dashboard.frame import PageRequest, View, url_path
from rowlock.durations import format_duration
from rowlock.errors import RowlockError
from rowlock.model import State
from rowlock.names import plural
from rowlock.tracing import trace_id

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
HASH_DIGITS = 10
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet take text for a formula."""


class Asset(msgspec.Struct, frozen=True):
    """A static file."""

    content: bytes
    media_type: str


def _load_assets() -> tuple[dict[str, Asset], dict[str, str]]:
    assets: dict[str, Asset] = {}
    names: dict[str, str] = {}
    for path in sorted(STATIC.rglob("*")):
        if path.suffix in MEDIA_TYPES:
            content = path.read_bytes()
            name = f"{path.stem}.{hashlib.sha256(content).hexdigest()[:HASH_DIGITS]}{path.suffix}"
            assets[name] = Asset(content, MEDIA_TYPES[path.suffix])
            names[path.name] = name
    return assets, names


ASSETS, ASSET_NAMES = _load_assets()
"""Static files by the names under which they are served, and those names by the names of the files.

The names change with the content, so that browsers keep the files for good.
"""


def duration(seconds: float | None) -> str:
    """Return a length of time in its two largest units: `2h 5m`."""
    if seconds is None:
        return "–"
    return format_duration(1_000 * int(seconds)) if seconds >= 1 else "0s"


def ago(moment: datetime | None) -> str:
    """Return how long ago a moment was, or how long it is until then."""
    if moment is None:
        return "–"
    seconds = (datetime.now(UTC) - moment).total_seconds()
    return f"{duration(seconds)} ago" if seconds >= 0 else f"in {duration(-seconds)}"


def clock(moment: datetime | None) -> str:
    """Return a moment as people write it, in UTC."""
    return "–" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def number(value: float | None) -> str:
    """Return a number with separators between thousands."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}".removesuffix(".0")


def json_text(value: Any) -> str:
    """Return a value as JSON with indentation."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def capitalized(text: str) -> str:
    """Return a sentence that begins with a capital letter; the rest stays as it is."""
    return text[:1].upper() + text[1:]


def code_spans(text: str) -> Markup:
    """Return HTML of a text in which backticks mark code."""
    parts = escape(text).split("`")
    return Markup().join(Markup("<code>%s</code>") % part if number % 2 else part for number, part in enumerate(parts))


@cache
def _environment(folder: Path | None) -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*([folder] if folder else []), TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"ago": ago, "clock": clock, "duration": duration, "number": number, "path": _quote, "chart": chart}
    made.filters |= {"capitalized": capitalized, "plural": plural, "code_spans": code_spans, "trace_id": trace_id}
    made.filters |= {"json": json_text, "compact_json": lambda value: msgspec.json.encode(value).decode()}
    made.globals |= {"version": rowlock.__version__, "states": list(State), "new_key": lambda: uuid4().hex}
    return made


def _quote(text: str) -> str:
    return quote(text, safe="")


def html(page: PageRequest, view: View, *, navigation: Any) -> bytes:
    """Return a view as HTML."""
    template = _environment(view.folder).get_template(view.template)
    shared = {"page": page, "view": view, "navigation": navigation, "asset": lambda name: asset_url(page.root, name)}
    written = template.render(**view.document, **view.more, **shared)
    return written.encode(errors="replace")


def asset_url(root: str, name: str) -> str:
    """Return the address of a static file."""
    return root + url_path("static", ASSET_NAMES[name])


def json(view: View) -> bytes:
    """Return the document of a view as JSON."""
    return msgspec.json.encode(view.document) + b"\n"


def csv_text(view: View) -> bytes:
    """Return the rows of a view as CSV with a header; fields of fields become columns such as `counts.ready`."""
    rows = [dict(_flat("", msgspec.json.decode(msgspec.json.encode(row)))) for row in view.rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(names)
    writer.writerows([[_csv_cell(row.get(name)) for name in names] for row in rows])
    return written.getvalue().encode()


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), inner)
    else:
        yield prefix or "value", value


def _csv_cell(value: Any) -> str:
    text = cell(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text


def error_view(error: RowlockError) -> View:
    """Return the page that shows an error."""
    document = {"code": error.code, "what": error.what, "hint": error.hint, "status": error.http_status}
    return View(template="error.html", title="Error", document=document, status=error.http_status)
