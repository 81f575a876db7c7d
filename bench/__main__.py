"""All parts of the bench, shortly: python -m bench [PART…]; for a part's own options: python -m bench.PART --help.

A part is a module of this folder that takes --size; files that begin with an underscore belong to the parts.
"""

import subprocess
import sys
from pathlib import Path

SHORT = "100000"
PARTS = sorted({path.stem for path in Path(__file__).parent.glob("[!_]*.py")} - {"commits"})
"""Not `commits`, which needs another commit to compare with."""


def main() -> int:
    chosen = sys.argv[1:] or PARTS
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        print(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    return max([run(part) for part in chosen], default=0)


def run(part: str) -> int:
    print(f"\n{part}: python -m bench.{part} --size {SHORT}", flush=True)
    return subprocess.run([sys.executable, "-m", f"bench.{part}", "--size", SHORT]).returncode


if __name__ == "__main__":
    sys.exit(main())
