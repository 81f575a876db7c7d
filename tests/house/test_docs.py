"""What can be used can be read about: every error, setting, variable, command and method has its place in docs/."""

import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import click
import msgspec
import pytest
from tests.house.places import DOCS, MODULES, PAGES, ROOT, SOURCE, SQL, documented, functions, shown, strings

import rowlock
from rowlock import errors
from rowlock.aio.handle import AsyncHandle
from rowlock.cli.help import all_commands, topic_text
from rowlock.cli.invocation import command_help
from rowlock.cli.program import COMMANDS, program

PUBLIC = [getattr(rowlock, name) for name in rowlock.__all__]
# An async handle has the members of the plain one, which are documented there.
CLASSES = [each for each in PUBLIC if inspect.isclass(each) and not issubclass(each, Exception | AsyncHandle)]

DECISION = re.compile(r"\d{4}-.*\.md")
_HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_VARIABLE = re.compile(r"\bROWLOCK_[A-Z_]*[A-Z]\b")


def kinds(kind: type[errors.RowlockError] = errors.RowlockError) -> Iterator[type[errors.RowlockError]]:
    """The error and all that are more exact."""
    yield kind
    for more in kind.__subclasses__():
        yield from kinds(more)


def members(each: type) -> list[str]:
    """What a user can ask of a value: its fields, properties and methods, also those it has from others of ours."""
    fields = getattr(each, "__struct_fields__", ())
    ours = (kind for kind in each.__mro__ if kind.__module__.startswith("rowlock.") or kind is each)
    every = (pair for kind in ours for pair in vars(kind).items())
    own = [name for name, value in every if callable(value) or isinstance(value, property)]
    return [f"{each.__name__}.{name}" for name in dict.fromkeys((*fields, *own)) if not name.startswith("_")]


def has_paragraph(page: str, name: str) -> bool:
    """Whether a heading of the page names it and text stands under that heading."""
    text = documented(page)
    for heading in _HEADING.finditer(text):
        if re.search(rf"`{re.escape(name)}(?![\w-])", heading[0]):
            under = _HEADING.split(text[heading.end() :], maxsplit=1)[0]
            return bool(under.strip())
    return False


def own_members(each: type) -> list[str]:
    """The members of a class but those of a public one that it is made of: they are described there."""
    base = next((kind for kind in each.__mro__[1:] if kind in CLASSES), None)
    known = set() if base is None else {member.partition(".")[2] for member in members(base)}
    return [member for member in members(each) if member.partition(".")[2] not in known]


MEMBERS = [member for each in CLASSES for member in own_members(each)]


def variables() -> list[str]:
    """What the code reads from its environment."""
    return sorted({name for path in MODULES for _, text in strings(path) for name in _VARIABLE.findall(text)})


# Functions: all processes of a run collect all tests, and only one of them runs this.
PARAGRAPHS = {
    "reference/errors.md": lambda: sorted({kind.code for kind in kinds()} - {"error"}),
    "reference/settings.md": lambda: rowlock.Settings.__struct_fields__,
    "reference/configuration.md": variables,
}


@pytest.mark.parametrize("page", PARAGRAPHS)
def test_every_error_setting_and_variable_has_its_paragraph(page: str) -> None:
    assert [name for name in PARAGRAPHS[page]() if not has_paragraph(page, name)] == []


def test_every_command_has_its_paragraph() -> None:
    text = documented("reference/cli.md")
    assert [name for name in sorted(COMMANDS) if not re.search(rf"^#+ .*\b{name}\b", text, re.MULTILINE)] == []


def test_every_public_name_and_member_is_in_the_reference() -> None:
    text = documented("reference/python.md")
    assert [name for name in rowlock.__all__ if f"`{name}" not in text] == []
    assert [member for member in MEMBERS if not re.search(rf"`{re.escape(member)}\b", text)] == []


def test_links_lead_somewhere() -> None:
    links = [(page, link) for page in PAGES for link in _LINK.findall(page.read_text())]
    assert [
        (shown(page), link) for page, link in links if not link.startswith("http") and not (page.parent / link).exists()
    ] == []


def test_every_page_is_in_the_contents() -> None:
    contents = (ROOT / "zensical.toml").read_text()
    pages = [page for page in sorted(DOCS.rglob("*.md")) if not DECISION.fullmatch(page.name)]
    assert [shown(page) for page in pages if f'"{page.relative_to(DOCS)}"' not in contents] == []


def test_every_decision_is_in_their_list() -> None:
    contents = documented("design/decisions/index.md")
    decisions = sorted((DOCS / "design" / "decisions").glob("[0-9]*.md"))
    assert [page.name for page in decisions if f"({page.name})" not in contents] == []


def test_diagrams_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, "tools/diagrams.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run tools/diagrams.py"


def test_the_logo_of_the_docs_is_that_of_the_dashboard() -> None:
    dashboard = SOURCE / "dashboard" / "static" / "logo.svg"
    assert (DOCS / "assets" / "logo.svg").read_text() == dashboard.read_text()


def test_invariants_name_tests_that_exist() -> None:
    named = _TEST.findall(documented("design/invariants.md"))
    assert named
    assert [f"{path}::{name}" for path, name in named if not defines(path, name)] == []


def defines(path: str, name: str) -> bool:
    file = ROOT / path
    return file.exists() and any(each.rpartition(".")[2] == name for each, _ in functions(file))


def test_each_public_error_family_is_exported() -> None:
    assert {kind.__name__ for kind in errors.RowlockError.__subclasses__()} <= set(rowlock.__all__)


def test_the_error_tree_is_drawn_whole() -> None:
    drawn = importlib.import_module("rowlock.errors").__doc__ or ""
    assert [kind.__name__ for kind in kinds() if kind.__name__ not in drawn] == []


def test_a_missing_paragraph_is_seen() -> None:
    assert not has_paragraph("reference/errors.md", "no-such-code")
    assert members(msgspec.defstruct("Seen", ["field"])) == ["Seen.field"]


def test_records_of_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(path.name[:4]) for path in sorted((DOCS / "design" / "decisions").glob("[0-9]*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_walk_shows_the_statement_as_it_is() -> None:
    walk = (DOCS / "design" / "walkthrough.md").read_text()
    statement = (SQL / "items" / "delete.sql").read_text().partition("\n")[2]
    assert f"```sql\n{statement}```\n" in walk


def test_the_walk_shows_the_floors_in_their_order() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        layers = tomllib.load(file)["tool"]["importlinter"]["contracts"][0]["layers"]
    floors = [re.findall(r"\w+", layer) for layer in layers]
    walk = (DOCS / "design" / "walkthrough.md").read_text().partition("```text\napps")[2].partition("```")[0]
    drawn = [line.split()[0] for line in f"apps{walk}".splitlines()]
    assert len(drawn) == len(floors)
    assert [name for name, floor in zip(drawn, floors, strict=True) if name not in floor] == []


COMMAND_CONTEXTS = list(all_commands(click.Context(program, info_name="rowlock", **program.context_settings)))


def test_every_command_has_two_examples() -> None:
    few = [
        each.command_path for each in COMMAND_CONTEXTS if command_help().get(each.command_path, "").count("\n  # ") < 2
    ]
    assert few == [], "add them to src/rowlock/cli/command_help.txt"


def test_no_help_is_about_a_command_that_does_not_exist() -> None:
    assert sorted(set(command_help()) - {each.command_path for each in COMMAND_CONTEXTS}) == []


def test_every_option_is_in_the_reference() -> None:
    text = documented("reference/cli.md")
    options = ((each.command_path, name) for each in COMMAND_CONTEXTS for name in long_options(each.command))
    assert sorted({each for each in options if not re.search(rf"{each[1]}(?![\w-])", text)}) == []


def long_options(command: click.Command) -> list[str]:
    return [name for option in command.params for name in option.opts if name.startswith("--")]


def test_every_variable_is_in_the_topic_about_the_environment() -> None:
    assert [name for name in variables() if name not in topic_text("environment")] == []
