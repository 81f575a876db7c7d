"""Print the requirements of dependency groups, one to a line: for a pip that cannot read groups itself."""

import sys
import tomllib
from pathlib import Path

groups = tomllib.loads(Path("pyproject.toml").read_text())["dependency-groups"]
sys.stdout.write("\n".join(each for name in sys.argv[1:] for each in groups[name]) + "\n")
