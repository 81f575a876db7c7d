"""rowlock beside its peers: python -m bench [--quick] [--publish]; or one of the other parts: python -m bench PART ….

    python -m bench --help               options of the comparison
    python -m bench shell --size 3000    one part with its own options, as python -m bench.shell
    python -m bench parts                all parts, shortly

A part is a module of this folder; files that begin with an underscore belong to the parts. README.md names them all.
"""

import importlib
import subprocess
import sys
from pathlib import Path

SHORT = ("--size", "100000")
"""The options of a short run, where a part names no others in a `SHORT` of its own."""
PARTS = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def main() -> int:
    name, *options = sys.argv[1:] or [""]
    if name == "parts":
        return max(run(part, short(part)) for part in PARTS if short(part))
    if name in PARTS:
        return run(name, options)
    if name and not name.startswith("-"):
        print(f"there is no part {name!r}; the parts are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    comparison = importlib.import_module("bench._compare")
    return int(comparison.main(sys.argv[1:]))


def short(part: str) -> list[str]:
    """Return the options of a short run; none for a part that cannot run without being told more."""
    return list(getattr(importlib.import_module(f"bench.{part}"), "SHORT", SHORT))


def run(part: str, options: list[str]) -> int:
    print(f"\n{part}: python -m bench.{part} {' '.join(options)}", flush=True)
    return subprocess.run([sys.executable, "-m", f"bench.{part}", *options]).returncode


if __name__ == "__main__":
    sys.exit(main())
