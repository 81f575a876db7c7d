"""Draw the diagrams of the docs, docs/assets/diagrams/*.svg: boxes on a grid, and arrows between them.

Their colours follow the theme of the page. With --check nothing is written; the exit status tells whether the files are
what they should be.
"""

import sys
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

import msgspec

TARGET = Path(__file__).parents[1] / "docs" / "assets" / "diagrams"
COLUMN, ROW = 40, 30
"""Pixels of one step of the grid."""
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1f2933; text-anchor: middle; dominant-baseline: central }
.small { font-size: 12px; fill: #52606d }
.beside { text-anchor: start }
rect { fill: #fff; stroke: #7b8794; stroke-width: 1.5 }
.main { stroke: #0f5f73; stroke-width: 2.5; fill: #e6f4f7 }
.bad { stroke: #b42318; fill: #fdecea }
.frame { fill: none; stroke-dasharray: 5 4 }
path { fill: none; stroke: #52606d; stroke-width: 1.5; marker-end: url(#tip) }
marker path { fill: #52606d; stroke: none; marker-end: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb } .small { fill: #b8c4cf }
  rect { fill: #1f2933; stroke: #9aa5b1 }
  .main { stroke: #4fb6cc; fill: #123a44 } .bad { stroke: #f97066; fill: #43201d }
  .frame { fill: none } path { stroke: #b8c4cf } marker path { fill: #b8c4cf }
}
"""


class Box(msgspec.Struct, frozen=True):
    """A rectangle on the grid: its left upper corner, its size, its lines of text."""

    x: float
    y: float
    width: float
    height: float
    text: str
    kind: str = ""

    def draw(self) -> str:
        """Return the rectangle and its text; a frame has its text at the top."""
        left, top, wide, high = self.x * COLUMN, self.y * ROW, self.width * COLUMN, self.height * ROW
        head, *rest = self.text.split("\n")
        first = top + 14 if self.kind == "frame" else top + high / 2 - 9 * len(rest)
        lines = [label(left + wide / 2, first, head)]
        lines += [label(left + wide / 2, first + 18 * (1 + at), text, "small") for at, text in enumerate(rest)]
        return (
            f'<rect class="{self.kind}" x="{left:g}" y="{top:g}" width="{wide:g}" height="{high:g}" rx="8"/>\n'
            + "\n".join(lines)
        )


class Arrow(msgspec.Struct, frozen=True):
    """A line along points of the grid, with a text above it, or to the right where it is vertical."""

    points: tuple[tuple[float, float], ...]
    text: str = ""
    at: tuple[float, float] | None = None

    def draw(self) -> str:
        """Return the line and its text."""
        line = " L".join(f"{x * COLUMN:g},{y * ROW:g}" for x, y in self.points)
        (x1, y1), (x2, y2) = self.points[:2]
        x, y = self.at or ((x1 + x2) / 2, (y1 + y2) / 2)
        lines = self.text.split("\n") if self.text else []
        beside = any(before[0] == after[0] == x for before, after in pairwise(self.points))
        left, kind = (x * COLUMN + 7, "small beside") if beside else (x * COLUMN, "small")
        first = y * ROW - (8 * (len(lines) - 1) if beside else 9)
        texts = [label(left, first + 16 * at, each, kind) for at, each in enumerate(lines)]
        return "\n".join([f'<path d="M{line}"/>', *texts])


def label(x: float, y: float, text: str, kind: str = "") -> str:
    """Return a text around a point."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def drawing(title: str, *parts: Box | Arrow) -> str:
    """Return the file of a diagram."""
    boxes = [part for part in parts if isinstance(part, Box)]
    points = [point for part in parts if isinstance(part, Arrow) for point in part.points]
    wide = max([box.x + box.width for box in boxes] + [x for x, _ in points]) * COLUMN + 8
    high = max([box.y + box.height for box in boxes] + [y for _, y in points]) * ROW + 8
    drawn = [part.draw() for part in sorted(parts, key=lambda part: isinstance(part, Arrow))]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 -4 {wide:g} {high:g}" width="{wide:g}" role="img">',
            f"<title>{escape(title)}</title>\n<style>{STYLE}</style>",
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path d="M0 0 8 4 0 8z"/></marker>',
            *drawn,
            "</svg>\n",
        ]
    )


STATES = drawing(
    "The states of an item",
    Box(7, 2, 4, 2, "ready\nmay be claimed", "main"),
    Box(7, 7, 4, 2, "claimed\na session works on it", "main"),
    Box(0.5, 4.5, 4, 2, "delayed\nuntil it is due"),
    Box(13.5, 4.5, 4, 2, "gated\nuntil its gate opens"),
    Box(13.5, 11, 4, 2, "failed\nuntil somebody decides", "bad"),
    Box(7, 12, 4, 2, "gone\nfrom the list"),
    Arrow(((9, 0.5), (9, 2)), "add"),
    Arrow(((8, 4), (8, 7)), "claim"),
    Arrow(((10, 7), (10, 4)), "its worker\ndied"),
    Arrow(((7, 8.5), (2.5, 8.5), (2.5, 6.5)), "Retry", (4.5, 8.5)),
    Arrow(((2.5, 4.5), (2.5, 3), (7, 3)), "it is due", (4.5, 3)),
    Arrow(((11, 8.5), (15.5, 8.5), (15.5, 6.5)), "Move", (13, 8.5)),
    Arrow(((15.5, 4.5), (15.5, 3), (11, 3)), "its gate opens", (13.2, 3)),
    Arrow(((8.5, 9), (8.5, 12)), "Done"),
    Arrow(((10.3, 9), (10.3, 10.2), (15.5, 10.2), (15.5, 11)), "Fail, or the last attempt", (12.7, 10.2)),
    Arrow(((13.5, 12.7), (11, 12.7)), "abandon", (12.25, 12.7)),
    Arrow(((17.5, 12), (18.5, 12), (18.5, 1.2), (10, 1.2), (10, 2)), "retry by hand", (14.5, 1.2)),
)
CLAIM = drawing(
    "Claim and settle",
    Box(0, 0, 4, 2, "worker ann\nsession 1"),
    Box(13.5, 0, 4, 2, "worker bob\nsession 2"),
    Box(0.5, 5, 17, 3.6, "one list, in the order of positions", "frame"),
    *(
        Box(1 + 1.6 * at, 6.3, 1.3, 1.4, text, kind)
        for at, (text, kind) in enumerate(
            [
                ("1", "main"),
                ("2", "main"),
                ("3", "main"),
                ("4", "main"),
                ("5", ""),
                ("6", ""),
                ("7", ""),
                ("8", ""),
                ("9", ""),
                ("10", ""),
            ]
        )
    ),
    Box(0, 12, 8, 2, "one transaction settles the claim\nand commits your rows with it", "main"),
    Box(10, 12, 7.5, 2, "session 2 died: its claim is gone\nits late settlement is refused", "bad"),
    Arrow(((2, 2), (2, 5)), "claims 1 to 4: one row"),
    Arrow(((15.5, 2), (15.5, 3.5), (10, 3.5), (10, 5)), "claims 5 to 8: one row", (12.7, 3.5)),
    Arrow(((4, 8.6), (4, 12)), "Done, Retry, Move or Fail\nfor each item"),
    Arrow(((12, 12), (12, 8.6)), "5 to 8 are ready again"),
)
ARCHITECTURE = drawing(
    "Architecture",
    Box(0, 0, 4, 1.8, "your programs\nEngine, AsyncEngine"),
    Box(4.6, 0, 4, 1.8, "workers\nWorker, rowlock work"),
    Box(9.2, 0, 4, 1.8, "command line\nrowlock"),
    Box(13.8, 0, 4, 1.8, "service\nHTTP, dashboard"),
    Box(0, 4, 17.8, 1.8, "verbs: functions of a transaction\nadd · claim · settle · retry · publish · tick", "main"),
    Box(0, 8, 17.8, 1.8, "statements: one SQL file each\nportable, with variants for a dialect"),
    Box(0, 12, 8.6, 1.8, "SQLite\na file, on one machine"),
    Box(9.2, 12, 8.6, 1.8, "PostgreSQL\na server, for many machines"),
    *(Arrow(((x, 1.8), (x, 4))) for x in (2, 6.6, 11.2, 15.8)),
    Arrow(((8.9, 5.8), (8.9, 8))),
    Arrow(((4.3, 9.8), (4.3, 12))),
    Arrow(((13.5, 9.8), (13.5, 12))),
)
DEPLOYMENT = drawing(
    "Deployment",
    Box(0, 0, 5, 2, "browser, curl\nany language"),
    Box(6.5, 0, 5, 2, "remote workers\nClient, --server"),
    Box(13, 0, 5, 2, "your web application\nadds with using="),
    Box(3, 4, 5, 1.6, "proxy with TLS"),
    Box(1, 8, 4, 2, "rowlock serve\nno state of its own"),
    Box(6, 8, 4, 2, "rowlock serve\nas many as you like"),
    Box(13, 5.5, 5, 2, "workers\nas many as you like"),
    Box(5, 12.5, 9, 2, "PostgreSQL\nall state: items, sessions, tokens, schedules", "main"),
    Arrow(((2.5, 2), (2.5, 3), (4.5, 3), (4.5, 4))),
    Arrow(((9, 2), (9, 3), (6.5, 3), (6.5, 4))),
    Arrow(((4.5, 5.6), (4.5, 6.8), (3, 6.8), (3, 8))),
    Arrow(((6.5, 5.6), (6.5, 6.8), (8, 6.8), (8, 8))),
    Arrow(((3, 10), (3, 11.2), (7, 11.2), (7, 12.5))),
    Arrow(((8, 10), (8, 12.5))),
    Arrow(((14.5, 7.5), (14.5, 11.2), (11.5, 11.2), (11.5, 12.5)), "claim, settle", (14.5, 9.2)),
    Arrow(((18, 1), (18.8, 1), (18.8, 13.5), (14, 13.5)), "rows and items together", (16.4, 13.5)),
)
DIAGRAMS = {"states": STATES, "claim": CLAIM, "architecture": ARCHITECTURE, "deployment": DEPLOYMENT}


def main() -> None:
    """Write the files, or compare them."""
    files = {TARGET / f"{name}.svg": text for name, text in DIAGRAMS.items()}
    if "--check" in sys.argv[1:]:
        sys.exit(any(not path.exists() or path.read_text() != text for path, text in files.items()))
    TARGET.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
