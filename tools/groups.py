"""Print the requirements of a dependency group, one to a line: for a pip that cannot read groups itself."""

import sys
import tomllib
from pathlib import Path

groups = tomllib.loads(Path("pyproject.toml").read_text())["dependency-groups"]
sys.stdout.write("\n".join(groups[sys.argv[1]]) + "\n")
