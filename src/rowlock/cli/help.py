"""`rowlock help`: topics, the help of commands, and man pages made from both."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from datetime import date
from inspect import cleandoc
from pathlib import Path

import click

import rowlock
from rowlock.cli import output
from rowlock.cli.invocation import Invocation, command, command_help, summary
from rowlock.errors import Invalid
from rowlock.names import closest

TOPICS = Path(__file__).with_name("help_topics")
"""One file for each topic. Its first line is the title; a line that ends with a colon is a heading."""
COMMANDS_SECTION, TOPICS_SECTION = 1, 7
MAN_COLUMNS = 62

_HEADING = re.compile(r"^(?P<text>[A-Z].*):$")


@command("help")
@click.argument("words", metavar="[TOPIC | COMMAND [COMMAND]]", nargs=-1)
@click.option(
    "--man",
    "directory",
    metavar="DIRECTORY",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write a man page for each command and topic.",
)
def help(_: Invocation, *, words: tuple[str, ...], directory: Path | None) -> None:  # noqa: A001
    """Explain a topic or a command, or write man pages.

    Without arguments it lists the topics.
    """
    program = click.get_current_context().find_root()
    if directory is not None:
        if words:
            raise Invalid("--man cannot be combined with a topic or a command", "it writes all man pages")
        pages = _write_man_pages(program, directory)
        click.echo(f"wrote {pages} man pages; read one: man {directory / 'rowlock.1'}", err=True)
    elif not words:
        output.write("".join(f"{name:<14}{_title(name)}\n" for name in topics()))
    elif len(words) == 1 and words[0] in topics():
        output.write(topic_text(words[0]))
    else:
        output.write(_find(program, words).get_help() + "\n")


def topics() -> list[str]:
    """Return the names of all topics."""
    return sorted(path.stem for path in TOPICS.glob("*.txt"))


def topic_text(name: str) -> str:
    """Return the text of a topic."""
    return (TOPICS / f"{name}.txt").read_text()


def _title(name: str) -> str:
    return topic_text(name).partition("\n")[0]


def _find(context: click.Context, words: tuple[str, ...]) -> click.Context:
    """Return the context of the command that the words name; Invalid suggests the closest name."""
    for word in words:
        known = _subcommands(context)
        if word not in known:
            names = [*known, *(topics() if context.parent is None else ())]
            near = closest(word, names)
            hint = f"did you mean {near!r}?" if near else "see: rowlock help, and rowlock --help"
            raise Invalid(f"there is no topic or command {' '.join(words)!r}", hint)
        context = known[word]
    return context


def _subcommands(context: click.Context) -> dict[str, click.Context]:
    group = context.command
    if not isinstance(group, click.Group):
        return {}
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: click.Context(each, context, name) for name, each in commands.items() if each is not None}


def all_commands(context: click.Context) -> Iterator[click.Context]:
    """Yield the context of every command below this one that is not a group."""
    for each in _subcommands(context).values():
        if isinstance(each.command, click.Group):
            yield from all_commands(each)
        else:
            yield each


def _write_man_pages(program: click.Context, directory: Path) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    families = list(_subcommands(program).values())
    pages = {f"{_page_name(each)}.{COMMANDS_SECTION}": _command_page(each) for each in families}
    pages |= {f"rowlock-{name}.{TOPICS_SECTION}": _topic_page(name) for name in topics()}
    pages[f"rowlock.{COMMANDS_SECTION}"] = _program_page(program, families)
    for name, text in pages.items():
        (directory / name).write_text(text)
    return len(pages)


def _page_name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _header(name: str, section: int, title: str) -> list[str]:
    today, version = date.today().isoformat(), f"rowlock {rowlock.__version__}"
    return [f'.TH {name.upper()} {section} "{today}" "{version}" "rowlock"', ".SH NAME", *_wrapped(f"{name} - {title}")]


def _program_page(program: click.Context, commands: list[click.Context]) -> str:
    lines = [*_header("rowlock", COMMANDS_SECTION, summary(program.command)), *_synopsis(program)]
    lines += [".SH COMMANDS", *_definitions((_page_name(each), summary(each.command)) for each in commands)]
    lines += [".SH OPTIONS", *_options(program), ".SH TOPICS"]
    lines += _definitions((f"rowlock-{name}({TOPICS_SECTION})", _title(name)) for name in topics())
    return _page(lines)


def _command_page(context: click.Context) -> str:
    name = _page_name(context)
    lines = [*_header(name, COMMANDS_SECTION, summary(context.command).rstrip(".")), *_synopsis(context)]
    lines += [".SH DESCRIPTION", *_paragraphs(context.command.help or "")]
    if not isinstance(context.command, click.Group):
        lines += [".SH OPTIONS", *_options(context), *_ending(context, ".SH")]
    for each in all_commands(context):
        lines += [f".SH {_roff(each.command_path.upper())}", *_usage(each), *_paragraphs(each.command.help or "")]
        lines += [".SS Options", *_options(each), *_ending(each, ".SS")]
    return _page(lines)


def _topic_page(name: str) -> str:
    title, _, text = topic_text(name).partition("\n")
    return _page([*_header(f"rowlock-{name}", TOPICS_SECTION, title), ".SH DESCRIPTION", *_sections(text, ".SH")])


def _ending(context: click.Context, macro: str) -> list[str]:
    return list(_sections(command_help().get(context.command_path, ""), macro))


def _sections(text: str, macro: str) -> Iterator[str]:
    """Yield the lines of a text with headings; indented lines are shown as they are, others are paragraphs."""
    for block in text.strip("\n").split("\n\n"):
        lines = block.split("\n")
        if heading := _HEADING.match(lines[0]):
            yield f"{macro} {_roff(heading['text'])}"
            lines = lines[1:]
        if lines and lines[0].startswith(" "):
            yield from [".nf", *map(_roff, lines), ".fi"]
        else:
            yield from _paragraphs("\n".join(lines))


def _synopsis(context: click.Context) -> list[str]:
    return [".SH SYNOPSIS", *_usage(context)]


def _usage(context: click.Context) -> list[str]:
    return [".nf", _roff(" ".join([context.command_path, *context.command.collect_usage_pieces(context)])), ".fi"]


def _options(context: click.Context) -> list[str]:
    parameters = context.command.get_params(context)
    records = (each.get_help_record(context) for each in parameters if isinstance(each, click.Option))
    return _definitions(record for record in records if record is not None)


def _definitions(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [line for term, text in pairs for line in (".TP", f".B {_roff(term)}", *_wrapped(text))]


def _paragraphs(text: str) -> list[str]:
    return [line for each in cleandoc(text).split("\n\n") if each.strip() for line in (".PP", *_wrapped(each))]


def _wrapped(text: str) -> list[str]:
    lines = textwrap.wrap(text, MAN_COLUMNS, break_long_words=False, break_on_hyphens=False)
    return [_roff(line) for line in lines]


def _roff(text: str) -> str:
    """Return text as roff that prints it: its backslashes and hyphens, and a dot or quote at the start of a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _page(lines: list[str]) -> str:
    # A paragraph directly below a heading would be an empty one.
    kept = [line for before, line in zip(["", *lines], lines, strict=False) if not _is_redundant(before, line)]
    return "\n".join(kept) + "\n"


def _is_redundant(before: str, line: str) -> bool:
    return line == ".PP" and before.startswith((".SH", ".SS"))
