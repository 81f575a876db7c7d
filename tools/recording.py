"""Record a real session in a terminal as docs/assets/recording.svg, which plays by CSS alone.

A shell runs in a pseudo-terminal; the script types into it, and keeps each screen with the time at which it was seen.
"""

import os
import pty
import re
import select
import sys
import tempfile
import time
from pathlib import Path
from xml.sax.saxutils import escape

TARGET = Path(__file__).parents[1] / "docs" / "assets" / "recording.svg"
COLUMNS, ROWS = 84, 16
CHARACTER_PIXELS, LINE_PIXELS, MARGIN_PIXELS = 8.4, 20, 16
KEYS_AT_ONCE, KEYS_SECONDS, PAUSE_SECONDS, LAST_SECONDS = 4, 0.16, 0.9, 4.0
MIN_FRAME_SECONDS = 0.1
PROMPT = "$ "
SHRINK = """#!/bin/sh
sleep 0.2
case $1 in *13.jpg) echo "not a JPEG file" >&2; exit 65;; esac
"""
# What is typed, and how many seconds later Ctrl-C is.
SESSION = [
    ("seq -f 'photo-%g.jpg' 80 | rowlock add thumbs", None),
    ("rowlock work thumbs -j 4 -- ./shrink {}", 2.2),
    ("rowlock work thumbs -j 4 -- ./shrink {}  # again: it goes on from there", None),
    ("rowlock failures thumbs", None),
]
STYLE = """
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d7dde3; white-space: pre }
.typed { fill: #7fd1e0 } .bar { fill: #8fd694 } .bad { fill: #ffb454 }
@media (prefers-reduced-motion: no-preference) { .film { animation: film %ss step-end infinite } }
"""
_SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\r|\n|\x08|[^\x1b]")


class Screen:
    """The lines of a terminal, as far as our own commands use one: returns, new lines, and erased ends of lines."""

    def __init__(self) -> None:
        self.lines = [""]
        self._column = 0

    def feed(self, text: str) -> None:
        """Take what the terminal was sent."""
        for found in _SEQUENCE.finditer(text):
            if found[0] == "\r":
                self._column = 0
            elif found[0] == "\n":
                self.lines.append("")
                self._column = 0
            elif found[0].startswith("\x1b"):
                if found[2] == "K":
                    self.lines[-1] = self.lines[-1][: self._column]
            else:
                line = self.lines[-1].ljust(self._column)
                self.lines[-1] = line[: self._column] + found[0] + line[self._column + 1 :]
                self._column += 1

    def shown(self) -> tuple[str, ...]:
        """Return the lines that fit."""
        return tuple(line.rstrip()[:COLUMNS] for line in self.lines[-ROWS:])


class Recorder:
    """A shell in a pseudo-terminal, and the frames that were seen of it."""

    def __init__(self, folder: Path) -> None:
        self.frames: list[tuple[float, tuple[str, ...]]] = []
        self._screen, self._began = Screen(), time.monotonic()
        child, self._terminal = pty.fork()
        if child == 0:
            os.chdir(folder)
            here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            os.environ.update(PS1=PROMPT, PATH=here, TERM="xterm", COLUMNS=str(COLUMNS), HOME=str(folder))
            os.execv("/bin/sh", ["sh", "-i"])  # noqa: S606, a shell is what is recorded

    def watch(self, seconds: float, *, for_prompt: bool = False) -> None:
        """Keep frames for a while, or until the shell asks for the next command."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._terminal], [], [], left)[0]:
                continue
            self._screen.feed(os.read(self._terminal, 65536).decode(errors="replace"))
            shown = self._screen.shown()
            self._keep(shown)
            if for_prompt and self._screen.lines[-1] == PROMPT:
                return

    def _keep(self, shown: tuple[str, ...]) -> None:
        now = time.monotonic() - self._began
        if self.frames and now - self.frames[-1][0] < MIN_FRAME_SECONDS:
            self.frames[-1] = (self.frames[-1][0], shown)
        elif not self.frames or shown != self.frames[-1][1]:
            self.frames.append((now, shown))

    def type(self, text: str) -> None:
        """Type a command, a few keys at once, because each step is a frame."""
        for at in range(0, len(text), KEYS_AT_ONCE):
            os.write(self._terminal, text[at : at + KEYS_AT_ONCE].encode())
            self.watch(KEYS_SECONDS)
        os.write(self._terminal, b"\n")

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.write(self._terminal, b"\x03")


def record(folder: Path) -> list[tuple[float, tuple[str, ...]]]:
    """Return the frames of the session."""
    (folder / "shrink").write_text(SHRINK)
    (folder / "shrink").chmod(0o755)
    recorder = Recorder(folder)
    recorder.watch(10, for_prompt=True)
    for command, interrupted_after in SESSION:
        recorder.watch(PAUSE_SECONDS)
        recorder.type(command)
        if interrupted_after:
            recorder.watch(interrupted_after)
            recorder.interrupt()
        recorder.watch(60, for_prompt=True)
    return recorder.frames


def line_markup(line: str, y: float) -> str:
    """Return a line of the terminal, coloured by what it is."""
    kind = (
        "typed"
        if line.startswith(PROMPT)
        else "bar"
        if "━" in line
        else "bad"
        if "see: " in line or ": not" in line
        else ""
    )
    return f'<text class="{kind}" x="{MARGIN_PIXELS}" y="{y:g}">{escape(line)}</text>'


def film(frames: list[tuple[float, tuple[str, ...]]]) -> str:
    """Return the picture: all frames below each other, and a window that steps from one to the next."""
    wide, high = COLUMNS * CHARACTER_PIXELS + 2 * MARGIN_PIXELS, ROWS * LINE_PIXELS + 2 * MARGIN_PIXELS
    first, total = frames[0][0], frames[-1][0] - frames[0][0] + LAST_SECONDS
    steps = [
        f"{(at - first) / total:.2%} {{ transform: translateY({-number * high:g}px) }}"
        for number, (at, _) in enumerate(frames)
    ]
    drawn = [
        line_markup(line, number * high + MARGIN_PIXELS + LINE_PIXELS * (row + 0.75))
        for number, (_, lines) in enumerate(frames)
        for row, line in enumerate(lines)
        if line
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" width="{wide:g}" role="img">',
            "<title>rowlock work: a bar with the rate, interrupted and started again</title>",
            f"<style>{STYLE % round(total, 1)}@keyframes film {{ {' '.join(steps)} }}</style>",
            f'<rect width="{wide:g}" height="{high:g}" rx="10" fill="#12181f"/>',
            f'<g class="film" style="transform: translateY({-(len(frames) - 1) * high:g}px)">',
            *drawn,
            "</g>\n</svg>\n",
        ]
    )


def main() -> None:
    """Write the recording."""
    with tempfile.TemporaryDirectory() as folder:
        TARGET.write_text(film(record(Path(folder))))


if __name__ == "__main__":
    main()
