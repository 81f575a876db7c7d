"""Static files of the dashboard, under names that change with their content, so that browsers keep them for good."""

import hashlib
from pathlib import Path

import msgspec

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
HASH_DIGITS = 10


class Asset(msgspec.Struct, frozen=True):
    """A static file."""

    content: bytes
    media_type: str


def _load() -> tuple[dict[str, Asset], dict[str, str]]:
    assets: dict[str, Asset] = {}
    names: dict[str, str] = {}
    for path in sorted(STATIC.rglob("*")):
        if path.suffix in MEDIA_TYPES:
            content = path.read_bytes()
            name = f"{path.stem}.{hashlib.sha256(content).hexdigest()[:HASH_DIGITS]}{path.suffix}"
            assets[name] = Asset(content, MEDIA_TYPES[path.suffix])
            names[path.name] = name
    return assets, names


ASSETS, NAMES = _load()
"""Files by the names under which they are served, and those names by the names of the files."""
