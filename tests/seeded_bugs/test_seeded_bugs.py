"""Seeded bugs: what proves the promises sees known mistakes, each within a minute."""

from pathlib import Path

import pytest
from tests.seeded_bugs.bugs import BUGS, Bug
from tests.seeded_bugs.catching import NotApplied, apply, caught

IN_EVERY_RUN = (
    "a settlement does not look at its token",
    "a gate opens while items are claimed",
    "synchronous is left off after a claim",
)
PARAMETERS = [
    pytest.param(bug, id=bug.name, marks=() if bug.name in IN_EVERY_RUN else pytest.mark.torture) for bug in BUGS
]


@pytest.mark.parametrize("bug", PARAMETERS)
def test_a_known_mistake_is_caught(bug: Bug, tmp_path: Path) -> None:
    is_caught, said = caught(bug, apply(bug, tmp_path))
    assert is_caught, said


def test_there_are_many_known_mistakes_and_each_has_a_name_of_its_own() -> None:
    names = {bug.name for bug in BUGS}
    assert (len(names) >= 25, len(names)) == (True, len(BUGS))
    assert names >= set(IN_EVERY_RUN)


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_a_mistake_can_be_made_in_the_source_as_it_is(bug: Bug) -> None:
    file = Path(__file__).parents[2] / "src/rowlock" / bug.file
    assert (file.read_text().count(bug.old), bug.old != bug.new) == (1, True)


def test_a_mistake_whose_text_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotApplied, match="0 times"):
        apply(Bug("nothing", "items.py", "no such text", ""), tmp_path)
