"""The page of security checks has every row of the standard, and every test that it names exists."""

import re
import tomllib

import yaml
from tests.house.places import DOCS, ROOT

# How many requirements of levels 1 and 2 each section of ASVS 5.0 has; chapters 10 and 17 are left out as a whole.
ROWS_OF_SECTIONS = {
    1: {1: 2, 2: 9, 3: 11, 4: 3, 5: 2},
    2: {1: 3, 2: 3, 3: 4, 4: 1},
    3: {2: 2, 3: 4, 4: 6, 5: 5, 7: 2},
    4: {1: 3, 2: 1, 3: 2, 4: 4},
    5: {1: 1, 2: 3, 3: 2, 4: 3},
    6: {1: 3, 2: 12, 3: 4, 4: 4, 5: 5, 6: 3, 8: 4},
    7: {1: 3, 2: 4, 3: 2, 4: 5, 5: 2, 6: 2},
    8: {1: 2, 2: 3, 3: 1, 4: 1},
    9: {1: 3, 2: 4},
    11: {1: 2, 2: 3, 3: 3, 4: 4, 5: 1, 6: 1},
    12: {1: 3, 2: 2, 3: 4},
    13: {1: 1, 2: 5, 3: 2, 4: 5},
    14: {1: 2, 2: 4, 3: 3},
    15: {1: 3, 2: 3, 3: 7},
    16: {1: 1, 2: 5, 3: 4, 4: 3, 5: 3},
}
WHOLE_CHAPTERS = ["10", "17"]
PAGE = (DOCS / "operate" / "security-checks.md").read_text()
LINES = [line.split("|") for line in PAGE.splitlines() if re.match(r"\| \d", line)]


def test_each_row_of_the_standard_is_on_the_page_once() -> None:
    numbered = [
        f"{chapter}.{section}.{number}"
        for chapter, sections in ROWS_OF_SECTIONS.items()
        for section, rows in sections.items()
        for number in range(1, rows + 1)
    ]
    written = [number.strip() for line in LINES for number in line[1].split(",")]
    assert sorted(written) == sorted([*numbered, *WHOLE_CHAPTERS])


def test_each_test_on_the_page_exists() -> None:
    named = set(re.findall(r"`(\w+/test_\w+)`", PAGE))
    assert len(named) > 40
    assert [name for name in sorted(named) if not (ROOT / "tests" / f"{name}.py").exists()] == []


def test_a_row_without_a_test_says_why() -> None:
    reasons = ("Not applicable", "Not met", "Yours", "By the proxy", "[Applications]", "[Traces")
    assert [line[1] for line in LINES if not line[3].strip() and not line[2].strip().startswith(reasons)] == []


def test_the_workflow_audits_dependencies_and_the_linter_looks_for_dangers() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert "pip_audit" in workflow["jobs"]["audit"]["steps"][-1]["run"]
    assert "S" in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]["select"]
