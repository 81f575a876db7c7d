"""What is installed is small, complete, and says what it is."""

import re
import tomllib
from typing import Any

from tests.house.places import ROOT

# Each of them is larger than all that `rowlock up` needs, or is needed by few.
LARGE = {"numpy", "redis", "zstandard", "matplotlib", "pyarrow"}


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]  # type: ignore[no-any-return]


def packages(extra: str) -> set[str]:
    """The packages that an extra installs, also by way of other extras."""
    found: set[str] = set()
    for wanted in project()["optional-dependencies"][extra]:
        if own := re.match(r"rowlock\[(.*)\]", wanted):
            found |= {package for name in own[1].split(",") for package in packages(name)}
        else:
            found.add(re.split(r"[^\w.-]", wanted)[0])
    return found


def test_setup_installs_nothing_large() -> None:
    assert "$(INSTALL) -e '.[up]'" in (ROOT / "Makefile").read_text()
    assert packages("up") & LARGE == set()
